/// The comments of a YAML file that stand on lines of their own, by the line of what follows them.
struct YAMLComments {
    /// The comments after everything else.
    private(set) var last: [String] = []
    private var byLine: [Int: [String]] = [:]

    /// The comments in `text`. O(length).
    init(_ text: String) {
        var pending: [String] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = String(line).trimmingPrefix { $0 == " " || $0 == "\t" }
            if content.first == "#" {
                pending.append(String(content).trimmingCarriageReturn)
            } else if content.contains(where: { !$0.isWhitespace }) {
                if !pending.isEmpty { byLine[number + 1] = pending }
                pending = []
            }
        }
        last = pending
    }

    /// The comments right above a value.
    func above(_ value: YAMLValue) -> [String] { byLine[value.line] ?? [] }
}

extension String {
    fileprivate var trimmingCarriageReturn: String { last == "\r" ? String(dropLast()) : self }
}
