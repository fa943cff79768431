import HalcyonSimulation
import HalcyonSupport

/// The hit ratio that is compared.
public enum HitMeasure: String, Sendable, Codable, CaseIterable {
    /// Hits by requests.
    case object
    /// Bytes hit by bytes requested.
    case byte

    /// The measure in words.
    var words: String { self == .object ? "hit ratio" : "byte hit ratio" }
}

/// The runs of one side of a pair: cells that differ only in their seed, or in the number of a permutation of labels.
struct ComparedRuns {
    let rows: [ResultRow]
    let measure: HitMeasure

    var first: StoredCell { rows[0].cell }
    /// A text that is equal for the same runs.
    var key: String { rows.map(\.hash).joined(separator: " ") }
    /// Whether the runs draw random numbers.
    var isRandomised: Bool { first.identity.seed != nil }
    /// The hit ratio of each run.
    var ratios: [Double] { rows.map { ratio($0.cell) } }
    /// The mean hit ratio.
    var mean: Double { ratios.reduce(0, +) / Double(rows.count) }
    /// The kind of units.
    var kind: UnitCounts.Kind { first.units.kind }
    /// The counted requests (or bytes) of each unit.
    var weights: [Int] { Self.weights(first, measure) }

    /// The mean hits of each unit.
    var byUnit: [Double] {
        var sums = [Double](repeating: 0, count: weights.count)
        for row in rows {
            let units = row.cell.units
            let hits = measure == .byte ? units.hitSizes ?? units.hits : units.hits
            for (unit, hits) in hits.enumerated() { sums[unit] += Double(hits) }
        }
        return sums.map { $0 / Double(rows.count) }
    }

    static func weights(_ cell: StoredCell, _ measure: HitMeasure) -> [Int] {
        measure == .byte ? cell.units.sizes ?? cell.units.requests : cell.units.requests
    }

    private func ratio(_ cell: StoredCell) -> Double {
        measure == .byte ? cell.byteHitRatio : cell.objectHitRatio
    }

    /// The runs of each permutation of the labels; one group for other labels.
    var permutations: [[Double]] {
        Dictionary(grouping: rows, by: \.cell.identity.labels).sorted { $0.key < $1.key }
            .map { $0.value.map { ratio($0.cell) } }
    }
}

/// Two sides that count the same requests.
struct ComparedPair {
    let a: ComparedRuns
    let b: ComparedRuns
    /// The difference of the mean hit ratios, A minus B.
    let difference: Double
    /// The difference of the mean hits of each unit.
    let series: [Double]
    /// The variance over units. Nil if fewer than two units have requests.
    let units: UnitVariance?
    /// The number of time blocks over which the differences depend on themselves; 1 for users.
    let blockLength: Int
    /// The noise of side A's and of side B's mean.
    let noise: (a: RunNoise, b: RunNoise)
    /// The noise of the difference.
    let jointNoise: RunNoise
    /// Whether a side has a single random run and no spread of seeds is known.
    let lacksNoise: Bool
    /// The name of the trace that the pair counts as. Nil for the trace of its cells.
    let countsAs: String?

    /// Creates a pair. O(units × runs).
    init(_ a: ComparedRuns, _ b: ComparedRuns, countsAs: String? = nil) {
        self.a = a
        self.b = b
        self.countsAs = countsAs
        difference = a.mean - b.mean
        series = zip(a.byUnit, b.byUnit).map { $0 - $1 }
        let weights = a.weights.map(Double.init)
        (units, blockLength) = Self.variance(series, weights, a.kind)
        (noise, jointNoise, lacksNoise) = Self.noise(a, b)
    }

    /// Returns the variance over units of a series, and its block length.
    static func variance(_ series: [Double], _ weights: [Double], _ kind: UnitCounts.Kind) -> (UnitVariance?, Int) {
        let active = weights.count { $0 > 0 }
        guard kind == .timeBlocks else { return (active < 2 ? nil : UnitVariance(independent: weights), 1) }
        let length = BlockLength.automatic(zip(series, weights).map { $1 > 0 ? $0 / $1 : 0 })
        return (active < 2 ? nil : UnitVariance(series: weights, dependence: length), length)
    }

    /// Returns the noise of the means of both sides, and of their difference.
    ///
    /// One run has the spread over seeds, pooled over both sides; a mean over n seeds has 1/√n of it. A mean over n
    /// permutations of labels has 1/√n of the spread over permutations, which includes that over seeds. Runs that are
    /// equal on both sides, seed by seed, have no noise.
    private static func noise(
        _ a: ComparedRuns, _ b: ComparedRuns
    ) -> (sides: (RunNoise, RunNoise), joint: RunNoise, isLacking: Bool) {
        let none = RunNoise.none
        if areEqual(a, b) { return ((none, none), none, false) }
        let seeds = RunNoise.ofRuns(a.permutations + b.permutations)
        func side(_ runs: ComparedRuns) -> (noise: RunNoise, isOfSeeds: Bool) {
            let permutations = runs.permutations
            if permutations.count > 1 {
                let means = permutations.map { $0.reduce(0, +) / Double($0.count) }
                return (RunNoise.spread(means).scaled(by: 1 / Double(means.count).squareRoot()), false)
            }
            guard runs.isRandomised, let seeds else { return (none, true) }
            return (seeds.scaled(by: 1 / Double(runs.rows.count).squareRoot()), true)
        }
        let (left, right) = (side(a), side(b))
        let variances = [left.noise, right.noise].map { $0.deviation * $0.deviation }
        let isLacking = seeds == nil && [(a, left), (b, right)].contains { $0.0.isRandomised && $0.1.isOfSeeds }
        let joint: RunNoise
        if left.isOfSeeds, right.isOfSeeds {
            joint = RunNoise(
                deviation: (variances[0] + variances[1]).squareRoot(), degrees: seeds?.degrees ?? .infinity)
        } else {
            let sum = StandardError(adding: [
                (variance: variances[0], degrees: left.noise.degrees),
                (variance: variances[1], degrees: right.noise.degrees),
            ])
            joint = RunNoise(deviation: sum.deviation, degrees: sum.degrees)
        }
        return ((left.noise, right.noise), joint, isLacking)
    }

    /// Returns whether both sides have the same seeds and, for each seed, the same hits of each unit.
    private static func areEqual(_ a: ComparedRuns, _ b: ComparedRuns) -> Bool {
        guard a.rows.count == b.rows.count else { return false }
        return zip(a.rows, b.rows).allSatisfy { one, other in
            one.cell.identity.seed == other.cell.identity.seed && one.cell.units == other.cell.units
                && one.cell.counts.hits == other.cell.counts.hits
                && one.cell.counts.hitSize == other.cell.counts.hitSize
        }
    }
}
