import Foundation
import HalcyonEviction
import HalcyonLearning

/// The result of `replay explain`, which `--format json` encodes.
///
/// The schema is an interface. Fields are added; a changed or removed field needs a new number in ``schema``.
package struct ExplainReport: Sendable, Codable {
    /// The version of this structure.
    package var schema = "halcyon.explain/4"
    /// The version of Halcyon that made the report.
    package var halcyonVersion = Halcyon.version
    /// The result version of the build that made the report. Builds with the same number give the same counts for the
    /// same trace and parameters.
    package var resultVersion = Halcyon.resultVersion
    /// The identifier of the executable; see `BuildInfo/identifier`.
    package var buildId = BuildInfo.current.identifier
    /// The replayed trace.
    package var trace: TraceSummary
    /// The counts of the replay.
    package var run: RunResult
    /// The key of the explained victim.
    package var victimKey: String?
    /// The key of the runner-up: the entry that would have been evicted instead.
    package var runnerUpKey: String?
    /// The user of the victim's cache. Nil in shared mode.
    package var user: String?
    /// The explanation of the model's predictions.
    package var explanation: ModelExplanation

    /// Returns the report as a table.
    package func table() -> String {
        var text = "\(trace.path): \(run.label) at \(run.capacityAsked), \(run.objectHitRatio.percent) of "
        text += "\(run.requests.counted("request")) hit\n"
        for note in trace.notes { text += "  note: \(note)\n" }
        if let note = run.kernelNote { text += "  note: \(note)\n" }
        text += "\n\(explanation.samples.counted("sample")), "
        text += "\(explanation.positiveShare.percent) requested again; "
        text += "loss \(explanation.loss.decimals(4)), area under the ROC curve \(explanation.area.decimals(4))\n"
        text += "Each sample is predicted by the network as it was when the sample's label became known. The final "
        text +=
            "network, which has learned from these and later samples: loss \(explanation.lookAhead.loss.decimals(4)), "
        text += "area \(explanation.lookAhead.area.decimals(4)) (looks ahead)\n\n"
        text += groupTable() + "\n" + calibrationTable()
        if let victim = explanation.victim { text += "\n" + victimText(victim) }
        return text
    }

    private func groupTable() -> String {
        var table = TextTable(
            left: ["group permuted"], right: ["loss increase", "95 % interval", "area drop", "95 % interval"])
        for group in explanation.groups.sorted(by: { $0.lossIncrease.value > $1.lossIncrease.value }) {
            table.add([
                group.name, group.lossIncrease.value.decimals(4), interval(group.lossIncrease),
                group.areaDrop.value.decimals(4), interval(group.areaDrop),
            ])
        }
        return table.rendered()
    }

    private func interval(_ estimate: ModelExplanation.Estimate) -> String {
        "\(estimate.low.decimals(4)) … \(estimate.high.decimals(4))"
    }

    private func calibrationTable() -> String {
        var table = TextTable(left: ["probability"], right: ["samples", "mean predicted", "requested again"])
        for bin in explanation.calibration {
            table.add([
                "\(bin.from.decimals(1)) … \(bin.to.decimals(1))", bin.count.grouped,
                bin.count > 0 ? bin.predicted.percent : "-", bin.count > 0 ? bin.observed.percent : "-",
            ])
        }
        return table.rendered()
    }

    private func victimText(_ victim: VictimExplanation) -> String {
        var text = "Eviction \(victim.number), at request \(victim.request.grouped) of "
        text += user.map { "the cache of \($0)" } ?? "its cache"
        text += ", decided by \(victim.expert) among \(victim.candidates.counted("resident"))"
        if let victimKey { text += ": \(victimKey)" }
        if let runnerUpKey { text += "\nRunner-up: \(runnerUpKey)" }
        text += "\n"
        var table = TextTable([
            ("", .left), ("victim", .right), ("runner-up", .right), ("victim's features", .left),
        ])
        let other = victim.runnerUp
        func add(_ name: String, _ left: String, _ right: String?, _ rest: String = "") {
            table.add([name, left, right ?? "-", rest])
        }
        add("object", "\(victim.victim.object)", other.map { "\($0.object)\($0.isNewObject ? " (new)" : "")" })
        add("scored at request", victim.victim.scoredAt.grouped, other?.scoredAt.grouped)
        add("score", victim.victim.score.decimals(3), other?.score.decimals(3))
        add("probability", victim.victim.probability.percent, other?.probability.percent)
        for (group, names) in ModelExplanation.featuresByGroup {
            let features = names.compactMap { name in victim.victim.features[name].map { "\(name) \($0)" } }
            if features.isEmpty { continue }
            func share(_ candidate: VictimExplanation.Candidate) -> String {
                candidate.contributions.first { $0.group == group }.map { signed($0.score) } ?? "-"
            }
            add(group, share(victim.victim), other.map(share), features.joined(separator: ", "))
        }
        return text + table.rendered()
    }

    private func signed(_ value: Double) -> String { (value < 0 ? "" : "+") + value.decimals(3) }
}
