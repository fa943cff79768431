import HalcyonEviction

/// What the replays of one cell say.
struct CellEvidence {
    /// With categories less without.
    let overWithout: Contrast
    /// With categories less the mean over permuted labels.
    let overPermuted: Contrast
    /// With categories less each baseline.
    let overBaselines: [Contrast]
    /// The share of the gap from LRU to the optimum that is closed, with its interval; `nil` where there is no gap.
    let gapClosed: (share: Double, interval: Interval)?
    /// The optimum's hit ratio less LRU's; `nil` where either was not run.
    let gap: Double?
    /// Whether LRU hits as often as the optimum, which leaves nothing to gain unless something is fetched ahead.
    let leavesNoGain: Bool
    let permutation: PermutationTest.Finding
    let hits: CellHits
    let units: ResamplingUnits
    let options: HypothesisOptions
    let blockLength: Int
    let effectiveUnits: Double

    /// Draws and tests. O(resamples × units × policies).
    ///
    /// - Parameters:
    ///   - cells: how many cells are judged together.
    ///   - permutation: what the permutation test found of this one.
    init(
        _ hits: CellHits, units: ResamplingUnits, learner: HypothesisLearner, options: HypothesisOptions, cells: Int,
        permutation: PermutationTest.Finding
    ) {
        let with = Self.mean(hits.withCategories)
        let without = Self.mean(hits.withoutCategories)
        let permuted = Self.mean(hits.permuted.flatMap { $0 })
        let others = [without, permuted] + hits.baselines.map { Self.mean([$0]) }
        let series = others.map { other in zip(with.byUnit, other.byUnit).map { $0 - $1 } }
        let length =
            units.kind == .users ? 1 : series.prefix(2).map { Self.blockLength($0, units.weights) }.max() ?? 1
        let bootstrap = Bootstrap(
            weights: units.weights, blockLength: length, replicates: options.resamples, seed: options.seed)
        let draws = bootstrap.ratios(series)

        let labels = RunNoise.spread(hits.permuted.map { Self.mean($0).hitRatio })
        // Where there is one seed only, the spread over permuted labels stands in: it is that of runs and of labels.
        let oneRun =
            RunNoise.ofRuns(
                ([hits.withCategories, hits.withoutCategories] + hits.permuted).map { $0.map(\.hitRatio) }) ?? labels
        let seeds = oneRun.scaled(by: 1 / Double(max(1, hits.withCategories.count)).squareRoot())
        func contrast(_ index: Int, _ noise: RunNoise) -> Contrast {
            Contrast(
                with.hitRatio - others[index].hitRatio, draws: draws[index], noise: noise, bootstrap: bootstrap,
                confidence: options.confidence, cells: cells)
        }
        overWithout = contrast(0, seeds.scaled(by: 2.0.squareRoot()))
        overPermuted = contrast(1, labels.scaled(by: (1 + 1 / Double(max(1, hits.permuted.count))).squareRoot()))
        overBaselines = hits.baselines.indices.map { contrast($0 + 2, seeds) }

        let lru = learner.baselines.firstIndex { $0.label == "lru" }
        let optimum = learner.baselines.firstIndex { $0.info.traits.contains(.needsFuture) }
        if let lru, let optimum {
            let gap = hits.baselines[optimum].hitRatio - hits.baselines[lru].hitRatio
            self.gap = gap
            gapClosed = Self.gapClosed(
                by: with.hitRatio - hits.baselines[lru].hitRatio, of: gap, overLRU: draws[lru + 2],
                overOptimum: draws[optimum + 2], noise: seeds, bootstrap: bootstrap, confidence: options.confidence)
        } else {
            gap = nil
            gapClosed = nil
        }
        leavesNoGain = gap == 0 && learner.prefetch == nil
        self.permutation = permutation
        self.hits = hits
        self.units = units
        self.options = options
        blockLength = length
        effectiveUnits = bootstrap.effectiveUnits
    }

    /// The smallest gain that the data could have shown, against the harder of the two controls; `nil` where nothing varies.
    var smallestDetectable: Double? { [overWithout, overPermuted].compactMap(\.detectable).max() }

    /// The share of the gap from LRU to the optimum that a hit ratio closes; `nil` where there is no gap.
    func gapClosed(by hitRatio: Double, lru: Double) -> Double? {
        guard let gap, gap > 0 else { return nil }
        return (hitRatio - lru) / gap
    }

    private static func gapClosed(
        by gain: Double, of gap: Double, overLRU: [Double], overOptimum: [Double], noise: RunNoise,
        bootstrap: Bootstrap, confidence: Double
    ) -> (share: Double, interval: Interval)? {
        guard gap > 0 else { return nil }
        let extra = noise.draws(overLRU.count, seed: bootstrap.seed)
        var shares: [Double] = []
        for index in overLRU.indices {
            // The optimum less LRU: what the learner is over LRU, less what it is over the optimum.
            let drawn = overLRU[index] - overOptimum[index]
            if drawn > 0 { shares.append((overLRU[index] + extra[index]) / drawn) }
        }
        guard !shares.isEmpty else { return nil }
        let interval = Interval(
            ofDraws: shares, confidence: confidence, effectiveUnits: bootstrap.effectiveUnits)
        return (gain / gap, interval)
    }

    /// The length that keeps the dependence of a series' ratio over time.
    private static func blockLength(_ series: [Double], _ weights: [Double]) -> Int {
        BlockLength.automatic(zip(series, weights).map { $1 > 0 ? $0 / $1 : 0 })
    }

    /// Runs averaged: hit ratio and hits by unit.
    static func mean(_ runs: [ArmHits]) -> MeanHits {
        let count = Double(max(1, runs.count))
        var byUnit = [Double](repeating: 0, count: runs.first?.byUnit.count ?? 0)
        for run in runs {
            for (unit, hits) in run.byUnit.enumerated() { byUnit[unit] += hits / count }
        }
        return MeanHits(hitRatio: runs.reduce(0) { $0 + $1.hitRatio } / count, byUnit: byUnit)
    }
}

/// The mean of several replays.
struct MeanHits {
    var hitRatio: Double
    var byUnit: [Double]
}
