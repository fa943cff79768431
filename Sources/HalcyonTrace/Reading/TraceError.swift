import HalcyonSupport

/// The reason why a trace could not be read or written: one sentence with the place, what was found and what is
/// accepted.
public struct TraceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The path that the caller gave.
    public let file: String
    /// The line of the fault, counted from 1, if it is in a line.
    public let line: Int?
    /// The byte of the fault in its line, counted from 1.
    public let column: Int?
    /// The fault and what is accepted, without the place.
    public let message: String
    /// Whether a file could not be written, so the trace is not at fault.
    public let isOfOutput: Bool

    /// Creates an error in `file`, optionally at a line and column.
    public init(file: String, line: Int? = nil, column: Int? = nil, message: String, isOfOutput: Bool = false) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.isOfOutput = isOfOutput
    }

    /// `file:line:column: message`.
    public var description: String {
        if file.isEmpty { return message }
        var place = file
        if let line { place += ":\(line)" }
        if let column { place += ":\(column)" }
        return "\(place): \(message)"
    }
}

/// Returns text in quotes for a message. Unprintable characters are escaped, and text of more than 60 bytes is cut.
func quoted(_ bytes: some Sequence<UInt8>) -> String {
    let limit = 60
    let head = Array(bytes.prefix(limit + 1))
    let text = String(decoding: head.prefix(limit), as: UTF8.self).escapingControls()
    return "'\(text)\(head.count > limit ? "…" : "")'"
}

/// Returns text in quotes for a message.
func quoted(_ text: String) -> String { quoted(text.utf8) }
