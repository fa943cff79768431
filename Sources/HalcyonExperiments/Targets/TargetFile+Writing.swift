import HalcyonBoosting
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
    public func verifiedText(file: String, catalogue: PolicyCatalogue = .laboratory) throws(ReplayError) -> String {
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
        if group.models != .shared { text += "    models: \(group.models.rawValue)\n" }
        if let tiers = group.tiers { text += "    tiers: \(TargetText.tiers(tiers))\n" }
        let source = group.source
        if source.sizes != "first" { text += "    sizes: \(YAMLText.scalar(source.sizes))\n" }
        if let columns = source.columns { text += "    columns: \(YAMLText.scalar(columns))\n" }
        if let limit = source.limit { text += "    limit: \(limit)\n" }
        if source.skip > 0 { text += "    skip: \(source.skip)\n" }
        if source.sort { text += "    sort: true\n" }
        if group.warmup > 0 { text += "    warmup: \(group.warmup)\n" }
        if group.seeds.count > 1 {
            text += "    seeds: \(TargetText.seeds(group.seeds))\n"
        } else if let seed = group.seeds.first, seed != 1 {
            text += "    seed: \(seed)\n"
        }
        if let prefetch = group.prefetch {
            text += "    prefetch: \(YAMLText.scalar(prefetch.policy.description))\n"
            text += "    prefetch_budget: \(YAMLText.scalar(prefetch.budget.description))\n"
            if case .fixed(let latency) = prefetch.latency {
                text += "    prefetch_latency: \(TargetText.duration(latency))\n"
            }
        }
        text += "    targets:\n"
        for target in group.targets {
            var fields = ["policy: \(YAMLText.scalar(target.policy))"]
            if group.tiers == nil { fields.append("capacity: \(YAMLText.scalar(target.capacity))") }
            if let hits = target.hits { fields.append("hits: \(hits)") }
            if let floor = target.floor { fields.append("floor: \(floor.decimals(6))") }
            if let floor = target.byteFloor { fields.append("byte_floor: \(floor.decimals(6))") }
            if let latency = target.highestLatency { fields.append("highest_latency_ms: \(latency.decimals(6))") }
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

/// Parts of the canonical form.
enum TargetText {
    /// Returns two tiers as a YAML mapping. What has its default is left out.
    static func tiers(_ tiers: TierOptions) -> String {
        var fields = ["memory: \(YAMLText.scalar("\(tiers.memory)"))", "disk: \(YAMLText.scalar("\(tiers.disk)"))"]
        if let policy = tiers.memoryPolicy { fields.append("memory_policy: \(YAMLText.scalar(policy.label))") }
        if let policy = tiers.diskPolicy { fields.append("disk_policy: \(YAMLText.scalar(policy.label))") }
        if let lifetime = tiers.memoryLifetime { fields.append("memory_lifetime: \(duration(lifetime))") }
        if let lifetime = tiers.diskLifetime { fields.append("disk_lifetime: \(duration(lifetime))") }
        if tiers.latency != LatencyModel() { fields.append("latency: \(YAMLText.scalar(tiers.latency.text))") }
        if tiers.decodedSizeRatio != 1 { fields.append("decoded_size_ratio: \(tiers.decodedSizeRatio)") }
        return "{" + fields.joined(separator: ", ") + "}"
    }

    /// Returns seeds: the count of those from 1, otherwise a list.
    static func seeds(_ seeds: [UInt64]) -> String {
        seeds == seeds.indices.map { UInt64($0) + 1 }
            ? "\(seeds.count)" : "[" + seeds.map { "\($0)" }.joined(separator: ", ") + "]"
    }

    /// Returns a number of microseconds in days, seconds or milliseconds: the largest that is a whole number.
    static func duration(_ microseconds: Int64) -> String {
        for (unit, length) in [("d", 86_400_000_000), ("s", 1_000_000), ("ms", 1_000)] as [(String, Int64)]
        where microseconds > 0 && microseconds % length == 0 {
            return "\(microseconds / length)\(unit)"
        }
        return microseconds == 0 ? "0" : "\(Double(microseconds) / 1_000)ms"
    }
}
