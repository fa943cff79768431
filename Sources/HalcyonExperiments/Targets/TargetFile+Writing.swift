import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation

extension TargetFile {
    /// The file in its canonical form: the same content gives the same bytes.
    ///
    /// Comments on lines of their own stay above their section, group, target or recording. Comments at the end of a
    /// line are dropped.
    public var text: String {
        var text = lines(comments["schema"], indent: "") + "schema: \(Self.schema)\n"
        text += lines(comments["result_version"], indent: "")
        if let resultVersion { text += "result_version: \(resultVersion)\n" }
        text += lines(comments["margins"], indent: "") + "margins: {"
        text += margins.map { "\(YAMLText.scalar($0.policy)): \($0.margin)" }.joined(separator: ", ") + "}\n"
        text += lines(comments["groups"], indent: "") + "groups:\n"
        text += groups.map(text(of:)).joined(separator: "\n")
        text += lines(comments["history"], indent: "")
        text += history.isEmpty ? "history: []\n" : "history:\n"
        for entry in history {
            text += lines(entry.comments, indent: "  ")
            text += "  - {date: \(YAMLText.scalar(entry.date)), halcyon: \(YAMLText.scalar(entry.halcyonVersion)), "
            text += "targets: \(entry.targets), reason: \(YAMLText.scalar(entry.reason))}\n"
        }
        return text + lines(comments["end"], indent: "")
    }

    /// Returns the text, verified by reading it again before it replaces the file.
    ///
    /// - Parameters:
    ///   - file: the name of the file, for messages.
    ///   - catalogue: the accepted policies.
    /// - Throws: `ReplayError.data(_:)` if the text cannot be read, or has a different content
    ///   then.
    public func verifiedText(file: String, catalogue: PolicyCatalogue = .standard) throws(ReplayError) -> String {
        let text = text
        let reread = try TargetFile(parsing: text, file: "\(file), as it would be written", catalogue: catalogue)
        guard reread.text == text else {
            throw .data("\(file): what would be written reads differently; name policies and traces more plainly.")
        }
        return text
    }

    private func text(of group: TargetGroup) -> String {
        var text = lines(group.comments, indent: "  ")
        text += "  - trace: \(YAMLText.scalar(group.trace))\n    mode: \(group.mode.rawValue)\n"
        if group.sizes != "first" { text += "    sizes: \(YAMLText.scalar(group.sizes))\n" }
        if let columns = group.columns { text += "    columns: \(YAMLText.scalar(columns))\n" }
        if let limit = group.limit { text += "    limit: \(limit)\n" }
        if group.warmup > 0 { text += "    warmup: \(group.warmup)\n" }
        if group.seed != 1 { text += "    seed: \(group.seed)\n" }
        if let prefetch = group.prefetch {
            text += "    prefetch: \(YAMLText.scalar(prefetch.policy.description))\n"
            text += "    prefetch_budget: \(YAMLText.scalar(prefetch.budget.description))\n"
        }
        text += "    targets:\n"
        for target in group.targets {
            var fields = ["policy: \(YAMLText.scalar(target.policy))", "capacity: \(YAMLText.scalar(target.capacity))"]
            if let hits = target.hits { fields.append("hits: \(hits)") }
            if let floor = target.floor { fields.append("floor: \(floor.decimals(6))") }
            if let baseline = target.baseline { fields.append("baseline: \(YAMLText.scalar(baseline))") }
            if let loss = target.highestLoss { fields.append("highest_loss: \(loss.decimals(6))") }
            text += lines(target.comments, indent: "      ")
            text += "      - {" + fields.joined(separator: ", ") + "}\n"
        }
        return text
    }

    private func lines(_ comments: [String]?, indent: String) -> String {
        (comments ?? []).map { indent + $0 + "\n" }.joined()
    }
}
