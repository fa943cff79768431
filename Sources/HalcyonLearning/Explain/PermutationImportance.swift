import HalcyonEviction

/// What groups of features are worth to a network on samples in order of time.
///
/// Intervals are by bootstrap over blocks of consecutive samples, because neighbours in time are alike: single samples
/// would make them look surer than they are.
struct PermutationImportance {
    static let blocks = 64
    static let resamples = 200
    static let repeats = 2

    let rows: [[Float]]
    let labels: [Bool]
    let seed: UInt64

    /// The worth of each group. O(groups × (samples × weights + resamples × samples)).
    func groups(_ groups: [FeatureGroups.Named], by judgement: inout Judgement) -> [ModelExplanation.Group] {
        var generator = SplitMix64(seed: seed)
        let base = judgement.logits(rows)
        let baseLosses = losses(base)
        let baseRanks = RankedScores(base, labels: labels)
        let weights = (0..<PermutationImportance.resamples).map { _ in resample(&generator) }
        let whole = [Double](repeating: 1, count: rows.count)
        let baseAreas = ([whole] + weights).map { baseRanks.area(weight: $0) }
        let orders = (0..<PermutationImportance.repeats).map { _ in permutation(&generator) }
        return groups.map { group in
            var increases = [Double](repeating: 0, count: rows.count)
            var drops = [Double](repeating: 0, count: baseAreas.count)
            for order in orders {
                let logits = judgement.logits(dealt(group, in: order))
                for (index, loss) in losses(logits).enumerated() {
                    increases[index] += (loss - baseLosses[index]) / Double(orders.count)
                }
                let ranks = RankedScores(logits, labels: labels)
                for (index, weight) in ([whole] + weights).enumerated() {
                    drops[index] += (baseAreas[index] - ranks.area(weight: weight)) / Double(orders.count)
                }
            }
            let means = ([whole] + weights).map { weight in
                zip(weight, increases).reduce(0) { $0 + $1.0 * $1.1 } / max(weight.reduce(0, +), 1)
            }
            return ModelExplanation.Group(
                name: group.name, lossIncrease: PermutationImportance.estimate(means),
                areaDrop: PermutationImportance.estimate(drops))
        }
    }

    /// The first figure with the percentiles of those that follow.
    static func estimate(_ figures: [Double]) -> ModelExplanation.Estimate {
        let sorted = figures.dropFirst().sorted()
        guard let value = figures.first, !sorted.isEmpty else {
            return ModelExplanation.Estimate(value: figures.first ?? 0, low: 0, high: 0)
        }
        func percentile(_ share: Double) -> Double { sorted[Int((share * Double(sorted.count - 1)).rounded())] }
        return ModelExplanation.Estimate(value: value, low: percentile(0.025), high: percentile(0.975))
    }

    private func losses(_ logits: [Float]) -> [Double] {
        logits.indices.map { Judgement.loss(logit: logits[$0], isPositive: labels[$0]) }
    }

    /// How often each sample counts where as many blocks as there are have been drawn with replacement.
    private func resample(_ generator: inout SplitMix64) -> [Double] {
        let blocks = min(PermutationImportance.blocks, rows.count)
        var counts = [Double](repeating: 0, count: blocks)
        for _ in 0..<blocks { counts[generator.next(below: blocks)] += 1 }
        return rows.indices.map { counts[$0 * blocks / rows.count] }
    }

    /// A random order of the samples (Fisher and Yates). The standard library's `shuffle` may draw otherwise in another version.
    private func permutation(_ generator: inout SplitMix64) -> [Int] {
        var order = Array(rows.indices)
        for last in order.indices.dropFirst().reversed() { order.swapAt(last, generator.next(below: last + 1)) }
        return order
    }

    /// The samples with the features of a group taken from others.
    private func dealt(_ group: FeatureGroups.Named, in order: [Int]) -> [[Float]] {
        rows.indices.map { index in
            var row = rows[index]
            for feature in group.features where feature.place < row.count {
                row[feature.place] = rows[order[index]][feature.place]
            }
            return row
        }
    }
}
