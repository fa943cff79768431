import Foundation
import HalcyonSimulation

extension HypothesisReport {
    /// Returns the report as text: a table and a sentence for each cell.
    ///
    /// - Parameter emphasis: whether to set bold text, as on a terminal.
    public func table(emphasis: Bool = false) -> String {
        var text = ""
        for trace in traces {
            text += text.isEmpty ? "" : "\n"
            text += "\(trace.path): \(trace.requests.grouped) requests, \(trace.objects.grouped) objects"
            text += ", \(trace.users.grouped) users, \(trace.categories.grouped) categories\n"
            for note in trace.notes { text += "  note: \(note)\n" }
            let kernels = results.filter { $0.trace == trace.path }.flatMap { [$0.kernels, $0.prefetch?.kernels] }
            if let note = KernelInfo.note(kernels) { text += "  note: \(note)\n" }
            for result in results where result.trace == trace.path {
                text += "\n" + Self.title(result) + "\n"
                text += Self.table(of: result, emphasis: emphasis)
                text += (emphasis ? "\u{1B}[1m\(result.sentence)\u{1B}[0m" : result.sentence) + "\n"
            }
        }
        return text
    }

    private static func title(_ result: HypothesisResult) -> String {
        let amount =
            result.capacityUnit == .bytes
            ? result.capacity.bytesForPeople : "\(result.capacity.grouped) objects"
        let requested = result.capacityAsked.last == "%" ? " (\(result.capacityAsked))" : ""
        let drawn = result.resampling
        let units =
            drawn.units == ResamplingUnits.Kind.users.rawValue
            ? "\(drawn.count.grouped) users or groups of users"
            : "\(drawn.count.grouped) time blocks, \(drawn.blockLength) adjacent ones drawn together"
        let ahead = result.prefetch.map { ", \($0.policy) prefetches \($0.budget)" } ?? ""
        return "capacity \(amount)\(requested)\(result.mode == .perUser ? " a user" : "")\(ahead), "
            + "\(result.requests.grouped) requests counted; intervals over \(units)"
    }

    private static func table(of result: HypothesisResult, emphasis: Bool) -> String {
        let figures = ["hit ratio", "gap closed", "with categories less this", "interval"]
        var table = TextTable(
            [(title: "policy", alignment: .left)] + figures.map { (title: $0, alignment: TextTable.Alignment.right) })
        let best = result.arms.dropLast().map(\.hitRatio).max()
        for (index, arm) in result.arms.enumerated() {
            let contrast: Contrast? =
                switch index {
                case 0: nil
                case 1: result.withMinusWithout
                case 2: result.withMinusPermuted
                default: result.withMinusBaselines[index - 3].contrast
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

    private static func words(_ interval: Interval) -> String {
        "\(interval.low.signedHundredths) … \(interval.high.signedHundredths)"
    }

    private static func name(_ arm: HypothesisResult.Arm) -> String {
        switch arm.role {
        case "with_categories":
            "\(arm.policy)\(arm.prefetch.map { " + \($0)" } ?? ""), with categories"
        case "without_categories": "the same without categories"
        case "permuted_categories": "the same, permuted categories"
        default: arm.policy
        }
    }
}
