/// A reader that splits a byte source into chunks of whole lines or records, for threads to parse.
///
/// The caller passes a buffer that is reused, so reading does not allocate.
struct ChunkReader {
    /// The positions where a chunk can end.
    enum Framing {
        /// After a line feed; a last line without one gets one.
        case lines
        /// At a multiple of this number of bytes.
        case records(Int)
    }

    /// The content of the buffer.
    struct Chunk {
        let count: Int
        /// Whether the buffer holds only the start of a line above the limit; the rest of the line was skipped.
        let isOversized: Bool
    }

    /// The length limit of a line, in bytes.
    static let longestLine = 1 << 20

    /// The records of a source whose header counts them.
    struct RecordExtent {
        /// The number of bytes before the first record.
        let start: Int
        /// The number of records; `nil` if unknown.
        let count: Int?
    }

    let path: String
    var framing = Framing.lines
    /// The extent of the records, if the source has a header.
    var extent: RecordExtent?
    /// The number of bytes in the chunks returned so far.
    private var given = 0
    private let source: any ByteSource
    private let target: Int
    private var carry: [UInt8] = []
    private var ended = false
    private var failure: TraceError?

    /// Creates a reader of chunks of about `target` bytes.
    init(source: any ByteSource, path: String, target: Int) {
        self.source = source
        self.path = path
        self.target = max(target, 1)
    }

    /// Returns the next `count` bytes without consuming them; fewer at the end.
    mutating func peek(_ count: Int) throws(TraceError) -> ArraySlice<UInt8> {
        var block = [UInt8](repeating: 0, count: max(count - carry.count, 0))
        while carry.count < count, !ended {
            let read = fill(&block, from: 0)
            carry.append(contentsOf: block.prefix(read))
        }
        if let failure, carry.count < count { throw failure }
        return carry.prefix(count)
    }

    /// Consumes `count` bytes that ``peek(_:)`` has returned.
    mutating func drop(_ count: Int) { carry.removeFirst(count) }

    /// Consumes the next line and returns it without its line break; `nil` at the end of the source.
    mutating func takeLine() throws(TraceError) -> [UInt8]? {
        guard let (line, bytes) = try nextLine() else { return nil }
        drop(bytes)
        return line
    }

    /// Consumes empty lines and returns the next line without consuming it, and the number of empty lines; an empty
    /// line at the end of the source.
    mutating func peekLine() throws(TraceError) -> (line: [UInt8], emptyLines: Int) {
        var emptyLines = 0
        while let (line, bytes) = try nextLine() {
            if !line.isEmpty { return (line, emptyLines) }
            drop(bytes)
            emptyLines += 1
        }
        return ([], emptyLines)
    }

    /// Returns the next line without its line break, and the number of its bytes; `nil` at the end of the source.
    private mutating func nextLine() throws(TraceError) -> (line: [UInt8], bytes: Int)? {
        var size = 1 << 12
        while true {
            let head = try peek(size)
            if let end = head.firstIndex(of: 10) {
                var line = Array(head[..<end])
                if line.last == 13 { line.removeLast() }
                return (line, end - head.startIndex + 1)
            }
            if head.count < size { return head.isEmpty ? nil : (Array(head), head.count) }
            guard size <= ChunkReader.longestLine else {
                throw TraceError(
                    file: path, line: 1,
                    message:
                        "the line \(quoted(line: head)) is longer than the limit of \(ChunkReader.longestLine) bytes")
            }
            size *= 2
        }
    }

    private func quoted(line: ArraySlice<UInt8>) -> String { HalcyonTrace.quoted(line) }

    /// Reads into `buffer[from...]` and returns the number of bytes; stores an error for later.
    private mutating func fill(_ buffer: inout [UInt8], from start: Int) -> Int {
        if ended || start == buffer.count { return 0 }
        do throws(TraceError) {
            let source = source
            let count = try buffer.withUnsafeMutableBufferPointer { bytes throws(TraceError) in
                try source.read(
                    into: UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: bytes[start...])))
            }
            if count == 0 { ended = true }
            return count
        } catch {
            failure = error
            ended = true
            return 0
        }
    }

    /// Reads the next chunk into `buffer`, which grows if necessary; returns `nil` at the end.
    mutating func next(into buffer: inout [UInt8]) throws(TraceError) -> Chunk? {
        if buffer.count < target { buffer = [UInt8](repeating: 0, count: target) }
        if buffer.count < carry.count + 1 { buffer = [UInt8](repeating: 0, count: carry.count * 2) }
        var filled = carry.count
        buffer.replaceSubrange(0..<filled, with: carry)
        carry.removeAll(keepingCapacity: true)
        while true {
            while filled < buffer.count, !ended { filled += fill(&buffer, from: filled) }
            if let count = wholePart(of: buffer, filled) {
                carry.append(contentsOf: buffer[count..<filled])
                given += count
                return Chunk(count: count, isOversized: false)
            }
            if ended { return try last(&buffer, filled) }
            if case .lines = framing, filled > ChunkReader.longestLine {
                try discardLine()
                return Chunk(count: 64, isOversized: true)
            }
            buffer.append(contentsOf: repeatElement(0, count: buffer.count))
        }
    }

    /// Returns the number of bytes up to the last end of a line or record; `nil` if there is none.
    private func wholePart(of buffer: [UInt8], _ filled: Int) -> Int? {
        switch framing {
        case .lines:
            return buffer.withUnsafeBufferPointer { bytes in
                var index = filled
                while index > 0 {
                    if bytes[index - 1] == 10 { return index }
                    index -= 1
                }
                return nil
            }
        case .records(let size):
            return filled < size ? nil : filled - filled % size
        }
    }

    /// Returns the rest of the source after its end was reached.
    private func last(_ buffer: inout [UInt8], _ filled: Int) throws(TraceError) -> Chunk? {
        if let failure { throw failure }
        if case .records(let size) = framing, let count = extent?.count, (given + filled) / size < count {
            throw TraceError(
                file: path,
                message:
                    "ends at byte \((extent?.start ?? 0) + given + filled), after \((given + filled) / size) records, "
                    + "where its header counts \(count): the file is truncated")
        }
        if filled == 0 { return nil }
        if case .records(let size) = framing {
            let place = extent.map { ", at byte \($0.start + given)," } ?? ""
            throw TraceError(
                file: path,
                message:
                    "the last record\(place) has \(filled) of \(size) bytes: the file is truncated or of another format"
            )
        }
        if filled == buffer.count { buffer.append(10) } else { buffer[filled] = 10 }
        return Chunk(count: filled + 1, isOversized: false)
    }

    /// Skips to the start of the next line.
    private mutating func discardLine() throws(TraceError) {
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while !ended {
            let count = fill(&block, from: 0)
            if let end = block.prefix(count).firstIndex(of: 10) {
                carry.append(contentsOf: block[(end + 1)..<count])
                return
            }
        }
        if let failure { throw failure }
    }
}
