/// The formats of text that their first lines show beyond doubt.
enum FormatRecognition {
    /// The number of bytes that are looked at.
    static let bytes = 4_096
    private static let mostLines = 64

    /// Returns the format that the first bytes of a text show; `nil` if they show none, or could be of several.
    ///
    /// Fewer than ``bytes`` are the whole text.
    static func format(ofFirst head: ArraySlice<UInt8>) -> TraceFormat? {
        guard !head.contains(0) else { return nil }
        var lines = head.split(separator: 10, omittingEmptySubsequences: false)
        if head.count == bytes { lines.removeLast() }
        let texts = lines.map { line in String(decoding: line.last == 13 ? line.dropLast() : line, as: UTF8.self) }
            .filter { !$0.allSatisfy(\.isWhitespace) }.prefix(mostLines)
        guard !texts.isEmpty else { return nil }
        let commas = texts.map { text in
            text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimming() }
        }
        let blanks = texts.map { $0.split { $0 == " " || $0 == "\t" } }
        if commas.allSatisfy(isMSR) { return .msr }
        if commas.allSatisfy(isSPC) { return .spc }
        if blanks.allSatisfy(isObjectStore) { return .objectStore }
        if blanks.allSatisfy(isAddress) { return .address }
        if isARC(blanks) { return .arc }
        if blanks.count > 1, blanks.allSatisfy({ $0.count == 1 && ($0[0].isWhole || $0[0] == "*") }) { return .lirs }
        return nil
    }

    private static func isMSR(_ fields: [Substring]) -> Bool {
        guard fields.count == 7 else { return false }
        return fields[0].isWhole && ["read", "write"].contains(fields[3].lowercased())
            && fields[4].isWhole && fields[5].isWhole
    }

    private static func isSPC(_ fields: [Substring]) -> Bool {
        guard fields.count >= 5 else { return false }
        return fields.prefix(3).allSatisfy(\.isWhole) && ["r", "w"].contains(fields[3].lowercased())
            && Double(fields[4]) != nil
    }

    private static func isObjectStore(_ fields: [Substring]) -> Bool {
        3...6 ~= fields.count && fields[0].isWhole && fields[1].hasPrefix("REST.")
            && fields.dropFirst(3).allSatisfy(\.isWhole)
    }

    /// Without 0x, a number could be decimal.
    private static func isAddress(_ fields: [Substring]) -> Bool {
        if fields.count == 1 { return fields[0].lowercased().hasPrefix("0x") }
        guard let operation = fields[0].utf8.first, fields[0].utf8.count == 1 else { return false }
        return AddressLayout.isOperation(operation) && fields[1].lowercased().hasPrefix("0x")
    }

    /// At least four lines whose third field is 0, and whose last field counts them or is 0 in all.
    private static func isARC(_ lines: [[Substring]]) -> Bool {
        guard lines.count >= 4, lines.allSatisfy({ $0.count == 4 && $0.allSatisfy(\.isWhole) && $0[2] == "0" }) else {
            return false
        }
        return lines.allSatisfy { $0[3] == "0" } || lines.enumerated().allSatisfy { $1[3] == "\($0)" }
    }
}

extension Substring {
    /// Whether the text is a whole number without a sign.
    fileprivate var isWhole: Bool { !isEmpty && utf8.allSatisfy { $0 &- 48 < 10 } }

    fileprivate func trimming() -> Substring {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        var text = drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }
}
