import Foundation
import HalcyonSimulation

extension HypothesisReport {
    /// Returns the report as text: a table and a sentence for each cell.
    ///
    /// - Parameter emphasis: whether to set bold text, as on a terminal.
    package func table(emphasis: Bool = false) -> String {
        var text = ""
        for trace in traces {
            text += text.isEmpty ? "" : "\n"
            text += "\(trace.path): \(trace.requests.grouped) requests, \(trace.objects.grouped) objects"
            text += ", \(trace.users.grouped) users, \(trace.categories.grouped) categories\n"
            for note in trace.notes { text += "  note: \(note)\n" }
            let kernels = results.filter { $0.trace == trace.path }.flatMap { [$0.kernels, $0.prefetch?.kernels] }
            if let note = KernelInfo.note(kernels) { text += "  note: \(note)\n" }
            func emphasized(_ sentence: String) -> String {
                (emphasis ? "\u{1B}[1m\(sentence)\u{1B}[0m" : sentence) + "\n"
            }
            for result in results where result.trace == trace.path {
                text += "\n" + title(result) + "\n"
                text += Self.table(of: result, emphasis: emphasis)
                if let reference = result.gapReference {
                    let isMark = trace.sizesVary ? "; sizes vary, so it is a mark and not the optimum" : ""
                    text += "gap closed: from lru to \(reference)\(isMark)\n"
                }
                text += Self.runs(result)
                text += emphasized(result.sentence)
            }
            for verdict in verdicts where verdict.trace == trace.path { text += "\n" + emphasized(verdict.sentence) }
        }
        return text
    }

    private func title(_ result: HypothesisResult) -> String {
        let isShare = result.capacityAsked.last == "%"
        let bytes = isShare ? result.capacity.bytesForPeople : result.capacity.exactBytesForPeople
        let amount = result.capacityUnit == .bytes ? bytes : "\(result.capacity.grouped) objects"
        let requested = isShare ? " (\(result.capacityAsked))" : ""
        let drawn = result.resampling
        let units =
            drawn.units == ResamplingUnits.Kind.users.rawValue
            ? "\(drawn.count.grouped) users or groups of users"
            : "\(drawn.count.grouped) time blocks, worth \(Int(drawn.effectiveCount)) independent ones"
        let ahead =
            result.prefetch.map { prefetch in
                ", \(prefetch.policy) prefetches \(prefetch.budget)"
                    + (prefetch.announcements.map { ", announced \($0)" } ?? "")
            } ?? ""
        var user = result.knowledge.map { " a user, \($0.rawValue) knowledge" } ?? ""
        if let pretrain = result.pretrain { user += ", models trained on \(pretrain)" }
        return "capacity \(amount)\(requested)\(user)\(ahead), "
            + "\(result.requests.grouped) requests counted; intervals over \(units)"
    }

    private static func table(of result: HypothesisResult, emphasis: Bool) -> String {
        let figures = ["hit ratio", "gap closed", "with categories less this", "interval"]
        var table = TextTable(left: ["policy"], right: figures)
        let ways = result.permutations.count
        let best = result.arms.dropLast().map(\.hitRatio).max()
        for (index, arm) in result.arms.enumerated() {
            let contrast: Contrast? =
                switch index {
                case 0: nil
                case 1: result.withMinusWithout
                case 2..<2 + ways: result.permutations[index - 2].contrast
                default: result.withMinusBaselines[index - 2 - ways].contrast
                }
            table.add([
                .init(name(arm)), .init(arm.hitRatio.percent, isBold: arm.hitRatio == best),
                .init(arm.gapClosed?.percent ?? "-"), .init(contrast?.difference.signedHundredths ?? ""),
                .init(
                    contrast.map { words($0.interval) } ?? ""),
            ])
        }
        return table.rendered(emphasis: emphasis)
    }

    /// The number of runs of each arm, and how the labels were permuted.
    private static func runs(_ result: HypothesisResult) -> String {
        let seeds = result.arms[0].hitRatios.count.counted("seed")
        var text = "runs: \(seeds) with and \(result.arms[1].hitRatios.count) without categories\n"
        for way in result.permutations {
            text += "labels \(way.permute.words): \(way.permutations.counted("permutation")) of "
            text += "\(way.seeds.counted("seed")), p = \(way.adjustedPValue.decimals(3)); "
            if way.permute != .uniform {
                text += "\(way.strata.grouped) strata of at least \(way.smallestStratum.counted("object")); "
            }
            text += "\(way.shareChanged.percent) of the objects change labels\n"
        }
        return text
    }

    private static func words(_ interval: Interval) -> String {
        "\(interval.low.signedHundredths) … \(interval.high.signedHundredths)"
    }

    private static func name(_ arm: HypothesisResult.Arm) -> String {
        switch arm.role {
        case "with_categories":
            "\(arm.policy)\(arm.prefetch.map { " + \($0)" } ?? ""), with categories"
        case "without_categories": "the same without categories"
        case "permuted_categories": "the same, \(arm.permute?.words ?? "permuted")"
        default: arm.policy
        }
    }
}
