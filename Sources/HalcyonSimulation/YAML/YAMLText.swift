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
        default:
            if scalar.value < 0x20 || scalar.value == 0x7F {
                "\\x" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            } else {
                String(scalar)
            }
        }
    }
}
