import HalcyonAccessLogReading
import Synchronization

/// A byte source that converts an access log to the lines of `AccessLogText` without their header.
final class AccessLogSource: ByteSource {
    private var text: AccessLogText
    private let path: String
    private let notes: SourceNotes
    private var lines: [UInt8] = []
    private var given = 0

    /// The columns of the lines.
    var roles: [CSVRole] {
        [.time, .key, .size, .category, .user] + (text.hasLists ? [.event, .list] : [])
    }

    /// Opens a log. Throws an error if it cannot be read or is compressed.
    init(path: String, _ options: TraceLoadOptions, _ notes: SourceNotes) throws(TraceError) {
        if (options.compression ?? Compression(path: path)) != .none {
            throw TraceError(
                file: path, message: "is compressed; access logs are read uncompressed, so decompress it first")
        }
        let limit = options.sort ? nil : options.limit.map { $0.addingReportingOverflow(max(options.skip, 0)) }
        do throws(AccessLogError) {
            let reader = try AccessLogReader(
                path: path, limit: limit.map { $0.overflow ? .max : $0.partialValue })
            text = AccessLogText(reader, holdsTimes: !options.sort)
        } catch {
            throw TraceError(error)
        }
        self.path = path
        self.notes = notes
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int {
        if given == lines.count {
            do throws(AccessLogError) {
                lines = try text.next()
            } catch {
                throw TraceError(error)
            }
            given = 0
            notes.heldTimes.store(text.heldTimes, ordering: .relaxed)
        }
        let count = min(buffer.count, lines.count - given)
        buffer.copyBytes(from: lines[given..<(given + count)])
        given += count
        return count
    }
}

extension TraceError {
    /// Creates the error for a log that could not be read.
    init(_ error: AccessLogError) { self.init(file: error.path, message: error.message) }
}
