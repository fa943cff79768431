import HalcyonEviction

/// The statistics of the replays of one cell.
struct CellEvidence {
    /// The learner with categories minus the learner without.
    let overWithout: Contrast
    /// The learner with categories minus its mean over permuted labels, for each way to permute them.
    let overPermuted: [Contrast]
    /// The learner with categories minus each baseline.
    let overBaselines: [Contrast]
    /// The share of the gap from LRU to the optimum that is closed, with its interval. Nil without a gap, and with prefetching, which
    /// the optimum of eviction does not bound.
    let gapClosed: GapShare?
    /// The optimum's hit ratio minus LRU's. Nil if either was not run.
    let gap: Double?
    /// The offline policy at the upper end of the gap. Nil without a gap.
    let gapReference: String?
    /// Whether LRU has the hit ratio of the optimum, which rules out any gain without prefetching.
    let leavesNoGain: Bool
    /// The result of the permutation test, for each way to permute labels.
    let permutations: [PermutationTest.Finding]
    let hits: CellHits
    let units: ResamplingUnits
    let options: HypothesisOptions
    /// The number of time blocks over which the differences depend on themselves; 1 for users.
    let blockLength: Int
    let effectiveUnits: Double

    /// Estimates the differences. O(units × policies).
    ///
    /// - Parameters:
    ///   - cells: the number of cells that are tested together.
    ///   - optimum: the index of the baseline at the upper end of the gap; `nil` if there is none.
    ///   - permutations: the results of the permutation tests of this cell.
    ///   - schemes: the ways to permute labels, without properties that are equal for all objects.
    init(
        _ hits: CellHits, units: ResamplingUnits, learner: HypothesisLearner, options: HypothesisOptions, cells: Int,
        optimum: Int?, permutations: [PermutationTest.Finding], schemes: [PermutationScheme]
    ) {
        let with = Self.mean(hits.withCategories)
        let without = Self.mean(hits.withoutCategories)
        let permuted = hits.permuted.map { Self.mean($0.flatMap { $0 }) }
        func series(_ other: MeanHits) -> [Double] { zip(with.byUnit, other.byUnit).map { $0 - $1 } }
        let length =
            units.kind == .users
            ? 1 : ([without] + permuted).map { Self.dependence(series($0), units.weights) }.max() ?? 1
        let variance =
            units.kind == .users
            ? UnitVariance(independent: units.weights) : UnitVariance(series: units.weights, dependence: length)

        let labels = hits.permuted.map { RunNoise.spread($0.map { Self.mean($0).hitRatio }) }
        // With one seed only, the spread over permuted labels replaces it: that includes the spread of runs and of
        // labels.
        let arms = [hits.withCategories, hits.withoutCategories] + hits.permuted.flatMap { $0 }
        let oneRun = RunNoise.ofRuns(arms.map { $0.map(\.hitRatio) }) ?? labels.first ?? .none
        let seeds = oneRun.scaled(by: 1 / Double(max(1, hits.withCategories.count)).squareRoot())
        func contrast(_ other: MeanHits, _ noise: RunNoise) -> Contrast {
            Contrast(
                with.hitRatio - other.hitRatio, series: series(other), units: variance, noise: noise,
                confidence: options.confidence, cells: cells)
        }
        overWithout = contrast(without, seeds.scaled(by: 2.0.squareRoot()))
        overPermuted = permuted.indices.map { scheme in
            let count = Double(max(1, hits.permuted[scheme].count))
            return contrast(permuted[scheme], labels[scheme].scaled(by: (1 + 1 / count).squareRoot()))
        }
        overBaselines = hits.baselines.map { contrast(Self.mean([$0]), seeds) }

        let lru = learner.baselines.firstIndex { $0.label == "lru" }
        if learner.prefetch == nil, let lru, let optimum {
            let (low, high) = (hits.baselines[lru], hits.baselines[optimum])
            gap = high.hitRatio - low.hitRatio
            gapReference = learner.baselines[optimum].label
            gapClosed = GapShare(
                gain: with.hitRatio - low.hitRatio, gap: high.hitRatio - low.hitRatio,
                gains: zip(with.byUnit, low.byUnit).map { $0 - $1 },
                gaps: zip(high.byUnit, low.byUnit).map { $0 - $1 }, units: variance, noise: seeds,
                confidence: options.confidence)
        } else {
            gap = nil
            gapReference = nil
            gapClosed = nil
        }
        leavesNoGain = gap == 0 && learner.prefetch == nil
        self.permutations = permutations
        self.schemes = schemes
        self.hits = hits
        self.units = units
        self.options = options
        blockLength = length
        effectiveUnits = variance.effectiveUnits
    }

    /// The ways to permute labels, the one that decides first.
    let schemes: [PermutationScheme]

    /// The contrasts that the verdict is based on: over the learner without categories, and over the first way to
    /// permute labels.
    var decisive: [Contrast] { [overWithout] + overPermuted.prefix(1) }

    /// Whether the permutation test is significant over all cells of the trace.
    var isSignificant: Bool { (permutations.first?.adjusted ?? 1) <= options.level + 1e-9 }

    /// The smallest gain that the data would show, over the stricter of the two controls. Nil if nothing varies.
    var smallestDetectable: Double? { decisive.compactMap(\.detectable).max() }

    /// Whether more permutations could show a gain: both intervals are above zero, the test is not significant, and it
    /// can still become so.
    var needsPermutations: Bool {
        guard let finding = permutations.first, !isSignificant else { return false }
        return decisive.allSatisfy { HypothesisVerdict.isAboveZero($0.familyInterval) }
            && options.schedule.mayBecomeSignificant(
                larger: finding.larger, drawn: hits.permuted.first?.count ?? 0)
    }

    /// Returns the share of the gap from LRU to the optimum that a hit ratio closes; `nil` without a gap.
    func gapClosed(by hitRatio: Double, lru: Double) -> Double? {
        guard let gap, gap > 0 else { return nil }
        return (hitRatio - lru) / gap
    }

    /// Returns the number of blocks over which a series' ratio depends on itself.
    private static func dependence(_ series: [Double], _ weights: [Double]) -> Int {
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
