/// Why a line is no request.
struct LineFault: Error {
    /// The byte in the line, counted from 1; `nil` where the whole line is meant.
    var column: Int?
    /// What was found and what is accepted.
    var message: String
    /// Whether it may not be left out as a bad line.
    var stopsAlways = false

    static func tooFew(_ count: Int, of wanted: Int, _ line: UnsafeMutablePointer<UInt8>) -> LineFault {
        let found = quotedLine(line)
        return LineFault(
            message: "\(found) has \(count) field\(count == 1 ? "" : "s") where the header has \(wanted)")
    }

    static func tooMany(_ wanted: Int, _ line: UnsafeMutablePointer<UInt8>) -> LineFault {
        LineFault(
            message: "\(quotedLine(line)) has more than the \(wanted) field\(wanted == 1 ? "" : "s") of the header")
    }

    static func tooLong(_ start: some Sequence<UInt8>) -> LineFault {
        // As many bytes as a cut line still has, wherever its chunk ends.
        LineFault(
            message:
                "the line that starts with \(quoted(start.prefix(61))) is longer than \(ChunkReader.longestLine) bytes, "
                + "the most accepted")
    }

    private static func quotedLine(_ line: UnsafeMutablePointer<UInt8>) -> String {
        var length = 0
        while length < 61, line[length] != 10, line[length] != 13 { length += 1 }
        return quoted(UnsafeBufferPointer(start: line, count: length))
    }
}
