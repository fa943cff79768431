import HalcyonSimulation

extension CheckReport {
    /// Returns the report as text: a table of the runs that moved or were missed, the reasons, and a summary.
    ///
    /// - Parameter emphasis: whether to set missed runs in bold, as on a terminal.
    package func text(emphasis: Bool = false) -> String {
        var text = ""
        let shown = noteworthy
        if !shown.isEmpty {
            var table = TextTable(
                columns.map { (title: $0.title, alignment: $0.isFigure ? .right : .left) })
            for run in shown {
                let isMissed = !misses(of: run).isEmpty
                table.add(figures(of: run).map { .init($0, isBold: isMissed) })
            }
            text += table.rendered(emphasis: emphasis) + "\n"
        }
        for (name, sentence) in reasons { text += "\(name): \(sentence)\n" }
        for sentence in notes { text += sentence + "\n" }
        return text + summary + "\n" + "Checked by Halcyon \(BuildInfo.current.sentence).\n"
    }

    /// The names of what could not be run, of other traces and of missed runs, each with a reason.
    private var reasons: [(name: String, sentence: String)] {
        errors.map { ($0.name, "Not run: \($0.sentence)") }
            + (isAccepted ? [] : otherTraces.map { ($0.name, $0.sentence) })
            + runs.filter { otherTrace(of: $0) == nil }.flatMap { run in misses(of: run).map { (run.name, $0) } }
    }

    /// The numbers of runs that were missed, moved and not stored, and of errors.
    package var summary: String {
        let traces = Set(runs.map(\.trace)).count
        var text = "\(runs.count.counted("run")) on \(traces.counted("trace")): "
        text += missed.isEmpty ? "none missed" : "\(missed.count) missed"
        if folder == nil {
            text += ", counts not compared"
        } else {
            text += moved.isEmpty ? ", none moved" : ", \(moved.count) moved"
            let other = runs.count { otherTrace(of: $0) != nil }
            if other > 0 { text += ", \(other) of another trace" }
            if !notStored.isEmpty { text += ", \(notStored.count) not stored" }
        }
        return text + (errors.isEmpty ? "." : "; \(errors.count.counted("error")).")
    }

    /// What holds for the whole check: another result version, results that depend on the processor, leftover cells.
    var notes: [String] {
        let leftover = isAccepted ? nil : leftoverFault ?? leftoverSentence.map { $0 + "." }
        return [versionFault, KernelInfo.note(runs.map(\.systemKernels)), leftover].compactMap { $0 }
    }

    /// The runs to show: moved or missed.
    private var noteworthy: [CheckedRun] { runs.filter { $0.hasMoved || !misses(of: $0).isEmpty } }

    /// The columns of a table. Those for byte floors and latencies are there if a run has one.
    private var columns: [(title: String, isFigure: Bool)] {
        [
            ("trace", false), ("mode", false), ("policy", false), ("capacity", true), ("hits", true), ("stored", true),
            ("moved", true), ("hit ratio", true), ("floor", true),
        ] + (showsBytes ? [("byte hit ratio", true), ("byte floor", true)] : [])
            + (showsLatencies ? [("latency ms", true), ("highest ms", true)] : [])
            + [("baseline", false), ("loss", true), ("highest", true), ("verdict", false)]
    }

    private var showsBytes: Bool { runs.contains { $0.limit?.byteFloor != nil } }
    private var showsLatencies: Bool { runs.contains { $0.limit?.highestLatency != nil } }

    /// Returns the columns of a run in a table.
    private func figures(of run: CheckedRun) -> [String] {
        let change = run.recordedHits.map { run.hits - $0 }
        var cells = [
            run.trace + run.setting, run.mode.words, run.policy, run.capacity, run.hits.grouped,
            run.recordedHits?.grouped ?? "-", change.map { ($0 > 0 ? "+" : "") + $0.grouped } ?? "-",
            run.hitRatio.percent, run.limit?.floor?.percent ?? "-",
        ]
        if showsBytes { cells += [run.byteHitRatio?.percent ?? "-", run.limit?.byteFloor?.percent ?? "-"] }
        if showsLatencies {
            cells += [run.meanLatency?.decimals(3) ?? "-", run.limit?.highestLatency?.decimals(3) ?? "-"]
        }
        return cells + [
            run.limit?.baseline ?? "-", run.loss?.signedHundredths ?? "-",
            run.limit?.highestLoss?.signedHundredths ?? "-", verdict(of: run),
        ]
    }

    private func verdict(of run: CheckedRun) -> String {
        if otherTrace(of: run) != nil { return "OTHER TRACE" }
        if !misses(of: run).isEmpty { return isNotStored(run) ? "NOT STORED" : "MISSED" }
        return run.hasMoved ? "moved" : "reached"
    }
}

extension CheckReport {
    /// The report as GitHub-flavoured Markdown: the reasons of what could not be run or was missed, the runs that
    /// moved or were missed, then all runs in a collapsed section.
    package var markdown: String {
        var text = "## Hit-rate check\n\n\(isPassed ? "✅" : "❌") \(Self.escaped(summary))\n"
        for sentence in notes { text += "\n\(Self.escaped(sentence))\n" }
        if !reasons.isEmpty { text += "\n" }
        for (name, sentence) in reasons { text += "- \(Self.escaped("\(name): \(sentence)"))\n" }
        let shown = noteworthy
        if !shown.isEmpty { text += "\n" + table(of: shown) }
        text += "\n<details><summary>All runs</summary>\n\n" + table(of: runs) + "\n</details>\n"
        return text
    }

    private func table(of runs: [CheckedRun]) -> String {
        var text = row(columns.map(\.title))
        text += row(columns.map { $0.isFigure ? "--:" : "---" })
        for run in runs {
            let isMissed = !misses(of: run).isEmpty
            text += row(figures(of: run).map { isMissed ? "**\(Self.escaped($0))**" : Self.escaped($0) })
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
