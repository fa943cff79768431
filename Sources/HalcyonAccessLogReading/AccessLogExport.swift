import Foundation

/// Writes a log to a CSV file.
package enum AccessLogExport {
    /// Reads the whole log and puts the file in its place when it is complete. Only its owner can read it. Returns the number of
    /// accesses.
    package static func write(logAt path: String, to destination: String) throws(AccessLogError) -> Int {
        let reader = try AccessLogReader(path: path)
        var text = AccessLogText(reader)
        let partial = "\(destination).\(UInt64.random(in: 0...UInt64.max))-partial"
        let file = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw fault(destination) }
        do throws(AccessLogError) {
            defer { close(file) }
            var lines = text.header
            while !lines.isEmpty {
                try write(lines, to: file, destination)
                lines = try text.next()
            }
        } catch {
            unlink(partial)
            throw error
        }
        guard rename(partial, destination) == 0 else {
            let error = fault(destination)
            unlink(partial)
            throw error
        }
        return reader.count
    }

    private static func write(_ bytes: [UInt8], to file: Int32, _ destination: String) throws(AccessLogError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw fault(destination) }
            rest = rest.dropFirst(count)
        }
    }

    private static func fault(_ destination: String) -> AccessLogError {
        AccessLogError(
            destination, errno == ENOSPC ? .diskFull : .unwritable,
            "cannot be written: \(String(cString: strerror(errno)))")
    }
}
