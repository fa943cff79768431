import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

@testable import HalcyonExperiments

/// Simulated replays: hit ratios by user with a known effect of the categories.
///
/// 80 users of 250 requests each differ in their hit ratio, in a learner's gain from categories, and by chance in
/// every run; runs differ as a whole by seed, and permuted labels by permutation.
struct StubHits {
    var seeds = 6
    var permutations = 19
    /// The gain from categories, in hit ratio.
    var effect: Double
    /// The gain from the features with any labels, also permuted ones.
    var features = 0.0

    private static let users = 80
    private static let requests = 250

    /// A trace with the same number of requests, for the units.
    static let trace = Trace(
        entries: (0..<UInt32(users * requests)).map { $0 % 97 }, times: TimeColumn(count: users * requests),
        users: (0..<UInt32(users * requests)).map { $0 % UInt32(users) }, objectSizes: Array(repeating: 1, count: 97),
        objectCategories: (0..<UInt32(97)).map { $0 % 2 }, categorySets: oneSet, categoryCount: 1, userCount: users)

    private static var oneSet: CategorySets {
        var sets = CategorySets()
        _ = sets.number(of: [0])
        return sets
    }

    static let units = ResamplingUnits(trace, warmup: .none, seed: 1)

    /// The replays of some cells, of one trace drawn by `seed`.
    func cells(_ count: Int, seed: UInt64) -> [CellHits] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in cell(&generator) }
    }

    private func cell(_ generator: inout SeededGenerator) -> CellHits {
        let tastes = (0..<Self.users).map { _ in 0.3 + 0.2 * generator.unit() }
        let gains = (0..<Self.users).map { _ in 2 * generator.unit() }
        func run(_ gain: Double, _ luck: Double, _ generator: inout SeededGenerator) -> ArmHits {
            let whole = luck + 0.002 * (generator.unit() - 0.5)
            let hits = (0..<Self.users).map { user in
                let chance = 0.06 * (generator.unit() - 0.5)
                return Double(Self.requests) * (tastes[user] + gain * gains[user] + whole + chance)
            }
            let total = Self.users * Self.requests
            return ArmHits(hits: Int(hits.reduce(0, +)), requests: total, byUnit: hits)
        }
        func luck(_ generator: inout SeededGenerator) -> Double { 0.003 * (generator.unit() - 0.5) }
        var cell = CellHits()
        let own = luck(&generator)
        cell.withCategories = (0..<seeds).map { _ in run(effect + features, own, &generator) }
        cell.withoutCategories = (0..<seeds).map { _ in run(0, 0, &generator) }
        cell.permuted = [
            (0..<permutations).map { _ in
                let own = luck(&generator)
                return (0..<2).map { _ in run(features, own, &generator) }
            }
        ]
        cell.baselines = [run(-0.05, 0, &generator), run(0.2, 0, &generator)]
        return cell
    }

    /// The evidence from the cells.
    func evidence(_ cells: [CellHits], options: HypothesisOptions) throws -> [CellEvidence] {
        let learner = try HypothesisLearner(baselines: ["lru", "belady"])
        func mean(_ runs: [ArmHits]) -> Double { CellEvidence.mean(runs).hitRatio }
        let findings = options.schedule.findings(
            observed: cells.map { mean($0.withCategories) }, permuted: cells.map { $0.permuted[0].map(mean) })
        return cells.indices.map {
            CellEvidence(
                cells[$0], units: Self.units, learner: learner, options: options, cells: cells.count, optimum: 1,
                permutations: [findings[$0]], schemes: [.uniform])
        }
    }

    /// The result of a cell, with its report's strata.
    static func result(
        _ evidence: CellEvidence, mode: ReplayMode = .perUser, learner: HypothesisLearner
    ) throws -> HypothesisResult {
        let field = try HypothesisField(mode: mode, trace: trace, capacities: [.number(20)])
        let strata = try LabelStrata(.uniform, of: trace)
        return HypothesisResult(
            evidence, field: field, capacity: .number(20), learner: learner, knowledge: .device,
            permutations: [HypothesisResult.Permutation(evidence, scheme: 0, strata: strata, shareChanged: 0.5)])
    }
}
