extension TargetReport {
    /// The report as GitHub-flavoured Markdown: what moved or was missed, then all targets folded away.
    public var markdown: String {
        var text = "## Hit-rate targets\n\n\(missed.isEmpty ? "✅" : "❌") \(Self.escaped(summary))\n"
        let told = outcomes.filter { $0.hasMoved || !$0.misses.isEmpty || !$0.target.isBounded }
        if !told.isEmpty { text += "\n" + table(of: told) }
        text += "\n<details><summary>All targets</summary>\n\n" + table(of: outcomes) + "\n</details>\n"
        return text
    }

    private func table(of outcomes: [TargetOutcome]) -> String {
        var text = row(Self.columns.map(\.title))
        text += row(Self.columns.map { $0.isFigure ? "--:" : "---" })
        for outcome in outcomes {
            text += row(outcome.cells.map { outcome.misses.isEmpty ? Self.escaped($0) : "**\(Self.escaped($0))**" })
        }
        return text
    }

    private func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |\n" }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            if "|*_<>&`[]\\".contains(character) { escaped.append("\\") }
            escaped.append(character == "\n" ? " " : character)
        }
    }
}
