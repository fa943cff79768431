import HalcyonEviction

/// The permutation importance of groups of features to a network that learns, on samples in order of time.
///
/// It is prequential: each sample is scored by the network as it was when the sample's label became known, with the
/// features as they are and permuted. Features are exchanged among samples of one block of time only. Otherwise a network
/// of one time would be given features of another, which may be distributed differently.
///
/// Intervals are by bootstrap over blocks of consecutive samples. Neighbours in time are alike, so that a bootstrap over
/// single samples would give intervals that are too narrow.
struct PermutationImportance {
    /// The most blocks of the bootstrap.
    static let blocks = 64
    /// The fewest samples of a block within which features are permuted.
    static let fewestPermuted = 64
    static let resamples = 200
    static let repeats = 2

    let rows: [[Float]]
    let labels: [Bool]
    /// The network of each sample.
    let networks: [ObservedSamples.Network]
    let seed: UInt64

    /// Returns the importance of each group. O(groups × (samples × weights + resamples × samples)).
    func groups(_ groups: [FeatureGroups.Named], by evaluator: inout NetworkEvaluator) -> [ModelExplanation.Group] {
        var generator = SplitMix64(seed: seed)
        let base = evaluator.logits(rows, by: networks)
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
                let logits = evaluator.logits(permuted(group, in: order), by: networks)
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

    /// Returns the first figure with the percentiles of the others.
    static func estimate(_ figures: [Double]) -> ModelExplanation.Estimate {
        let sorted = figures.dropFirst().sorted()
        guard let value = figures.first, !sorted.isEmpty else {
            return ModelExplanation.Estimate(value: figures.first ?? 0, low: 0, high: 0)
        }
        func percentile(_ share: Double) -> Double { sorted[Int((share * Double(sorted.count - 1)).rounded())] }
        return ModelExplanation.Estimate(value: value, low: percentile(0.025), high: percentile(0.975))
    }

    private func losses(_ logits: [Float]) -> [Double] {
        logits.indices.map { NetworkEvaluator.loss(logit: logits[$0], isPositive: labels[$0]) }
    }

    /// Returns the weight of each sample in one bootstrap: the number of draws of its block.
    private func resample(_ generator: inout SplitMix64) -> [Double] {
        let blocks = min(PermutationImportance.blocks, rows.count)
        var counts = [Double](repeating: 0, count: blocks)
        for _ in 0..<blocks { counts[generator.next(below: blocks)] += 1 }
        return rows.indices.map { counts[$0 * blocks / rows.count] }
    }

    /// The blocks within which features are permuted: ranges of samples.
    var permutedBlocks: [Range<Int>] {
        let blocks = max(1, min(PermutationImportance.blocks, rows.count / PermutationImportance.fewestPermuted))
        return (0..<blocks).map { rows.count * $0 / blocks..<rows.count * ($0 + 1) / blocks }
    }

    /// Returns a random order of the samples of each block (Fisher and Yates). The standard library's `shuffle` may change
    /// with its version.
    private func permutation(_ generator: inout SplitMix64) -> [Int] {
        var order = Array(rows.indices)
        for block in permutedBlocks {
            for last in block.dropFirst().reversed() {
                order.swapAt(last, block.lowerBound + generator.next(below: last - block.lowerBound + 1))
            }
        }
        return order
    }

    /// Returns the samples with the features of a group taken from other samples.
    private func permuted(_ group: FeatureGroups.Named, in order: [Int]) -> [[Float]] {
        rows.indices.map { index in
            var row = rows[index]
            for feature in group.features where feature.place < row.count {
                row[feature.place] = rows[order[index]][feature.place]
            }
            return row
        }
    }
}

/// The area under the ROC curve of scores: the ratio of pairs of a positive and a negative sample that are in order. Ties
/// count half (Mann and Whitney, 1947).
struct RankedScores {
    private let order: [Int]
    /// Whether the score at a place of ``order`` equals the score at the place before it.
    private let isTied: [Bool]
    private let labels: [Bool]

    /// O(n log n).
    init(_ scores: [Float], labels: [Bool]) {
        let order = scores.indices.sorted { (scores[$0], $0) < (scores[$1], $1) }
        self.order = order
        isTied = order.indices.map { $0 > 0 && scores[order[$0]] == scores[order[$0 - 1]] }
        self.labels = labels
    }

    /// Returns the area with weighted samples; 0.5 if all have the same label. O(n).
    func area(weight: [Double]) -> Double {
        var (below, tied, tiedPositives, area, positives) = (0.0, 0.0, 0.0, 0.0, 0.0)
        for place in order.indices {
            if !isTied[place] {
                area += tiedPositives * (below + tied / 2)
                below += tied
                (tied, tiedPositives) = (0, 0)
            }
            let sample = order[place]
            if labels[sample] {
                tiedPositives += weight[sample]
                positives += weight[sample]
            } else {
                tied += weight[sample]
            }
        }
        area += tiedPositives * (below + tied / 2)
        below += tied
        return below > 0 && positives > 0 ? area / (below * positives) : 0.5
    }
}
