extension TargetReport {
    /// The report as GitHub-flavoured Markdown: what moved or was missed with the sentences why, then all targets
    /// folded away.
    public var markdown: String {
        var text = "## Hit-rate targets\n\n\(isPassed ? "✅" : "❌") \(Self.escaped(summary))\n"
        for sentence in [versionFault, kernelNote].compactMap({ $0 }) { text += "\n\(Self.escaped(sentence))\n" }
        if !missed.isEmpty { text += "\n" }
        for outcome in missed {
            for miss in misses(of: outcome) { text += "- \(Self.escaped("\(outcome.name): \(miss)"))\n" }
        }
        let shown = noteworthy
        if !shown.isEmpty { text += "\n" + table(of: shown) }
        text += "\n<details><summary>All targets</summary>\n\n" + table(of: outcomes) + "\n</details>\n"
        return text
    }

    private func table(of outcomes: [TargetOutcome]) -> String {
        var text = row(Self.columns.map(\.title))
        text += row(Self.columns.map { $0.isFigure ? "--:" : "---" })
        for outcome in outcomes {
            let isMissed = !misses(of: outcome).isEmpty
            text += row(cells(of: outcome).map { isMissed ? "**\(Self.escaped($0))**" : Self.escaped($0) })
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
