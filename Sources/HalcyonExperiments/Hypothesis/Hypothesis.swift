import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// A test of whether categories raise a learner's hit ratio. The learner is compared with the same learner without
/// categories, and with itself under permuted labels.
///
/// ```swift
/// let trace = try Trace.load("shop.csv")
/// let hypothesis = try Hypothesis(
///     fields: [HypothesisField(mode: .shared, trace: trace)], learner: HypothesisLearner())
/// for result in await hypothesis.run() { print(result.sentence) }
/// ```
///
/// All fields use one trace, and the verdicts hold for all its cells together. `Experiments/hypothesis.md` states the
/// method, its assumptions and its limits. Results do not depend on the number of threads.
public struct Hypothesis: Sendable {
    /// The trace, in each mode.
    public let fields: [HypothesisField]
    /// The learner and its controls.
    public let learner: HypothesisLearner
    /// The options of the test.
    public let options: HypothesisOptions

    private let runners: [FieldRunner]
    private let jobs: [HypothesisJob]

    /// Creates a test. O(requests).
    ///
    /// - Throws: `ReplayError` if an option is out of range, the warm-up leaves too few requests,
    ///   or a prefetch budget is in bytes where objects are counted.
    public init(
        fields: [HypothesisField], learner: HypothesisLearner, options: HypothesisOptions = HypothesisOptions()
    ) throws(ReplayError) {
        try options.validate()
        for field in fields {
            try learner.prefetch?.withCategories.verify(unit: field.trace.sizeUnit)
            let warmup = ReplayOptions(warmup: options.warmup).warmupRequests(of: field.trace.count)
            if field.trace.count - warmup < ResamplingUnits.timeBlockCount {
                throw .data(
                    "Only \(field.trace.count - warmup) requests are counted after the warm-up, and "
                        + "at least \(ResamplingUnits.timeBlockCount) are needed.")
            }
        }
        self.fields = fields
        self.learner = learner
        self.options = options
        runners = fields.map { FieldRunner($0, learner: learner, options: options) }
        jobs = fields.indices.flatMap { field in
            fields[field].capacities.indices.flatMap { capacity in
                Self.arms(learner, options).map { HypothesisJob(field: field, capacity: capacity, arm: $0) }
            }
        }
    }

    /// The number of replays.
    public var runCount: Int { jobs.count }

    /// Returns a progress for ``run(workers:progress:)``.
    public func makeProgress() -> ReplayProgress {
        ReplayProgress(total: jobs.reduce(0) { $0 + fields[$1.field].trace.count })
    }

    /// Runs all replays and returns a result for each field and capacity.
    ///
    /// - Parameters:
    ///   - workers: the number of parallel replays; by default one per core.
    ///   - progress: receives the number of requests served.
    public func run(workers: Int? = nil, progress: ReplayProgress? = nil) async -> [HypothesisResult] {
        let hits = await concurrentMap(jobs, workers: workers) { [runners] job in
            runners[job.field].run(job, progress: progress)
        }
        return analysed(hits)
    }

    private static func arms(_ learner: HypothesisLearner, _ options: HypothesisOptions) -> [HypothesisJob.Arm] {
        let seeds = 0..<options.seeds
        let permutedSeeds = seeds.prefix(options.permutedSeeds)
        return seeds.map { .withCategories(seed: $0) } + seeds.map { .withoutCategories(seed: $0) }
            + (0..<options.permutations).flatMap { number in permutedSeeds.map { .permuted(number: number, seed: $0) } }
            + learner.baselines.indices.map { .baseline($0) }
    }

    private func analysed(_ hits: [ArmHits]) -> [HypothesisResult] {
        let cells = fields.indices.flatMap { field in fields[field].capacities.map { (field, $0) } }
        let runsPerCell = jobs.count / max(1, cells.count)
        let gathered = cells.indices.map { number in
            gather(jobs[number * runsPerCell..<(number + 1) * runsPerCell], hits)
        }
        let findings = PermutationTest.findings(
            observed: gathered.map { mean($0.withCategories) }, permuted: gathered.map { $0.permuted.map(mean) })
        return cells.indices.map { number in
            let (field, capacity) = cells[number]
            let evidence = CellEvidence(
                gathered[number], units: runners[field].units, learner: learner, options: options,
                cells: cells.count, permutation: findings[number])
            return HypothesisResult(evidence, field: fields[field], capacity: capacity, learner: learner)
        }
    }

    private func gather(_ slice: ArraySlice<HypothesisJob>, _ hits: [ArmHits]) -> CellHits {
        var cell = CellHits()
        cell.permuted = Array(repeating: [], count: options.permutations)
        for number in slice.indices {
            switch slice[number].arm {
            case .withCategories: cell.withCategories.append(hits[number])
            case .withoutCategories: cell.withoutCategories.append(hits[number])
            case .permuted(let permutation, _): cell.permuted[permutation].append(hits[number])
            case .baseline: cell.baselines.append(hits[number])
            }
        }
        return cell
    }

    private func mean(_ runs: [ArmHits]) -> Double {
        runs.reduce(0) { $0 + $1.hitRatio } / Double(max(1, runs.count))
    }
}
