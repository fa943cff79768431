/// Writes texts as YAML scalars.
enum YAMLText {
    /// `text` plain where every YAML parser reads it so, within braces too; otherwise in double quotes.
    static func scalar(_ text: String) -> String {
        isPlain(text) ? text : "\"" + text.unicodeScalars.map(escaped).joined() + "\""
    }

    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.utf8.first, isLetterOrDigit(first) || first == UInt8(ascii: ".") else { return false }
        return text.utf8.allSatisfy { isLetterOrDigit($0) || "._-/%()=+".utf8.contains($0) }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\"": "\\\""
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\t": "\\t"
        default: standsAsItIs(scalar.value) ? String(scalar) : numbered(scalar.value)
        }
    }

    /// Whether every parser takes the character as it is. Control characters and byte order marks are let in by none, some begin
    /// a new line, and the last two numbers of each plane are no characters.
    private static func standsAsItIs(_ value: UInt32) -> Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029, 0xFEFF: false
        default: value & 0xFFFE != 0xFFFE
        }
    }

    private static func numbered(_ value: UInt32) -> String {
        let (letter, length) = value < 0x100 ? ("x", 2) : value < 0x10000 ? ("u", 4) : ("U", 8)
        let digits = String(value, radix: 16)
        return "\\" + letter + String(repeating: "0", count: length - digits.count) + digits
    }
}
