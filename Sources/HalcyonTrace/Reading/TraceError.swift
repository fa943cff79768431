/// Why a trace could not be read or written: one sentence that says where, what was found and what is accepted.
public struct TraceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file as it was named by the caller.
    public let file: String
    /// The line, counted from 1, where the fault lies in one.
    public let line: Int?
    /// The byte in that line, counted from 1.
    public let column: Int?
    /// What is wrong and what is accepted, without the place.
    public let message: String
    /// Whether a file could not be written, which says nothing of the trace.
    public let isOfOutput: Bool

    /// A fault in `file`, at a line and column where there is one.
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

/// Found text made fit for a message: what cannot be printed is escaped, what is long is cut.
func quoted(_ bytes: some Sequence<UInt8>) -> String {
    let limit = 60
    let head = Array(bytes.prefix(limit + 1))
    var text = ""
    for scalar in String(decoding: head.prefix(limit), as: UTF8.self).unicodeScalars {
        text += scalar.value < 0x20 || scalar.value == 0x7f ? scalar.escaped(asASCII: true) : String(scalar)
    }
    return "'\(text)\(head.count > limit ? "…" : "")'"
}

/// Found text made fit for a message.
func quoted(_ text: String) -> String { quoted(text.utf8) }
