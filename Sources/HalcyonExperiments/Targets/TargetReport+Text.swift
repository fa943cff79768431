import HalcyonSimulation

extension TargetReport {
    /// Returns the report as text: a table of targets that moved, were missed or are not recorded, the reasons, and a
    /// summary.
    ///
    /// - Parameter emphasis: whether to set missed targets in bold, as on a terminal.
    public func text(emphasis: Bool = false) -> String {
        var text = ""
        let shown = noteworthy
        if !shown.isEmpty {
            var table = TextTable(
                columns.map { (title: $0.title, alignment: $0.isFigure ? .right : .left) })
            for outcome in shown {
                let isMissed = !misses(of: outcome).isEmpty
                table.add(cells(of: outcome).map { .init($0, isBold: isMissed) })
            }
            text += table.rendered(emphasis: emphasis) + "\n"
        }
        for outcome in outcomes {
            for miss in misses(of: outcome) { text += "\(outcome.name): \(miss)\n" }
        }
        for sentence in [kernelNote, versionFault].compactMap({ $0 }) { text += sentence + "\n" }
        return text + summary + "\n" + "Checked by Halcyon \(BuildInfo.current.sentence).\n"
    }

    /// The numbers of targets that were reached, missed and moved.
    public var summary: String {
        let traces = Set(outcomes.map { $0.file ?? $0.trace }).count
        var text = "\(outcomes.count.counted("target")) on \(traces.counted("trace")): "
        text += missed.isEmpty ? "none missed" : "\(missed.count) missed"
        text += moved.isEmpty ? ", none moved" : ", \(moved.count) moved"
        if !unrecorded.isEmpty { text += ", \(unrecorded.count) not recorded yet" }
        if !withoutHits.isEmpty { text += ", \(withoutHits.count) without exact hits" }
        return text + "."
    }

    /// A sentence that names matrix routines whose results depend on the processor; `nil` if none was used.
    var kernelNote: String? { KernelInfo.note(outcomes.map(\.systemKernels)) }

    /// The columns of a table. Those for byte floors and latencies are there if a target has one.
    var columns: [(title: String, isFigure: Bool)] {
        [
            ("trace", false), ("mode", false), ("policy", false), ("capacity", true), ("hits", true),
            ("recorded", true),
            ("moved", true), ("hit ratio", true), ("floor", true),
        ] + (showsBytes ? [("byte hit ratio", true), ("byte floor", true)] : [])
            + (showsLatencies ? [("latency ms", true), ("highest ms", true)] : [])
            + [("baseline", false), ("loss", true), ("highest", true), ("verdict", false)]
    }

    private var showsBytes: Bool { outcomes.contains { $0.target.byteFloor != nil } }
    private var showsLatencies: Bool { outcomes.contains { $0.target.highestLatency != nil } }

    /// Returns the columns of an outcome in a table.
    func cells(of outcome: TargetOutcome) -> [String] {
        let target = outcome.target
        var cells = [
            outcome.trace, outcome.mode.words, target.policy, outcome.capacity, outcome.hits.grouped,
            target.hits?.grouped ?? "-", outcome.change.map { ($0 > 0 ? "+" : "") + $0.grouped } ?? "-",
            outcome.hitRatio.percent, target.floor?.percent ?? "-",
        ]
        if showsBytes { cells += [outcome.byteHitRatio?.percent ?? "-", target.byteFloor?.percent ?? "-"] }
        if showsLatencies {
            cells += [outcome.meanLatency?.decimals(3) ?? "-", target.highestLatency?.decimals(3) ?? "-"]
        }
        return cells + [
            target.baseline ?? "-",
            outcome.loss?.signedHundredths ?? "-", target.highestLoss?.signedHundredths ?? "-", verdict(of: outcome),
        ]
    }

    private func verdict(of outcome: TargetOutcome) -> String {
        if !misses(of: outcome).isEmpty { return "MISSED" }
        if outcome.hasMoved { return "moved" }
        return outcome.target.hasLimit ? "reached" : "not recorded"
    }
}

extension TargetOutcome {
    /// The name of the target: `../Traces/shop.csv, shared: lru at 1%`.
    public var name: String { "\(trace), \(mode.words): \(target.policy) at \(capacity)" }

    /// The capacity in tables and messages: those of the tiers are `1%/10%`, memory first.
    var capacity: String { tierCapacity ?? target.capacity }
}

extension ReplayMode {
    /// The mode as text.
    var words: String { self == .shared ? "shared" : "per user" }
}

extension TargetReport {
    /// The report as GitHub-flavoured Markdown: the targets that moved or were missed, the reasons, then all targets
    /// in a collapsed section.
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
        var text = row(columns.map(\.title))
        text += row(columns.map { $0.isFigure ? "--:" : "---" })
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
