import HalcyonEviction

/// The statistics of the replays of one cell.
struct CellEvidence {
    /// The learner with categories minus the learner without.
    let overWithout: Contrast
    /// The learner with categories minus its mean over permuted labels.
    let overPermuted: Contrast
    /// The learner with categories minus each baseline.
    let overBaselines: [Contrast]
    /// The share of the gap from LRU to the optimum that is closed, with its interval. Nil without a gap.
    let gapClosed: (share: Double, interval: Interval)?
    /// The optimum's hit ratio minus LRU's. Nil if either was not run.
    let gap: Double?
    /// Whether LRU has the hit ratio of the optimum, which rules out any gain without prefetching.
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
    ///   - cells: the number of cells that are tested together.
    ///   - permutation: the result of the permutation test of this cell.
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
        // With one seed only, the spread over permuted labels replaces it: that includes the spread of runs and of
        // labels.
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

    /// The smallest gain that the data would show, over the stricter of the two controls. Nil if nothing varies.
    var smallestDetectable: Double? { [overWithout, overPermuted].compactMap(\.detectable).max() }

    /// Returns the share of the gap from LRU to the optimum that a hit ratio closes; `nil` without a gap.
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
            // The optimum minus LRU: the learner's gain over LRU, minus its gain over the optimum.
            let drawn = overLRU[index] - overOptimum[index]
            if drawn > 0 { shares.append((overLRU[index] + extra[index]) / drawn) }
        }
        guard !shares.isEmpty else { return nil }
        let interval = Interval(
            ofDraws: shares, confidence: confidence, effectiveUnits: bootstrap.effectiveUnits)
        return (gain / gap, interval)
    }

    /// Returns the block length that keeps the dependence over time of a series' ratio.
    private static func blockLength(_ series: [Double], _ weights: [Double]) -> Int {
        BlockLength.automatic(zip(series, weights).map { $1 > 0 ? $0 / $1 : 0 })
    }

    /// Returns the mean of runs: hit ratio and hits by unit.
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
