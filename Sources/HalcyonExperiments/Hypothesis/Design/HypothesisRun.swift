import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// One replay of the test.
struct HypothesisJob: Sendable {
    /// The policy and labels of the replay.
    enum Arm: Sendable, Equatable {
        case withCategories(seed: Int)
        case withoutCategories(seed: Int)
        case permuted(number: Int, seed: Int)
        case baseline(Int)
    }

    let field: Int
    let capacity: Int
    let arm: Arm
}

/// The runner of one field's replays, with the data that they share.
struct FieldRunner: Sendable {
    let field: HypothesisField
    let units: ResamplingUnits
    let learner: HypothesisLearner
    let options: HypothesisOptions
    private let input: ReplayInput

    init(_ field: HypothesisField, learner: HypothesisLearner, options: HypothesisOptions) {
        self.field = field
        self.learner = learner
        self.options = options
        units = ResamplingUnits(field.trace, warmup: options.warmup, seed: options.seed)
        input = ReplayInput(
            field.trace,
            for: learner.baselines.map { ReplayJob(policy: $0, capacity: .number(1), mode: field.mode) }
                + [ReplayJob(policy: learner.withCategories, capacity: .number(1), mode: field.mode)])
    }

    /// Runs one arm. Returns its hits and requests, in total and by unit.
    func run(_ job: HypothesisJob, progress: ReplayProgress?) -> ArmHits {
        var trace = field.trace
        let policy: ConfiguredPolicy
        var prefetch: PrefetchOptions?
        var seed = 0
        switch job.arm {
        case .withCategories(let number):
            policy = learner.withCategories
            prefetch = learner.prefetch?.withCategories
            seed = number
        case .withoutCategories(let number):
            policy = learner.withoutCategories
            prefetch = learner.prefetch?.withoutCategories
            seed = number
        case .permuted(let permutation, let number):
            policy = learner.withCategories
            prefetch = learner.prefetch?.withCategories
            seed = number
            trace = LabelPermutation(objects: trace.objectCount, seed: options.seed, number: permutation)
                .applied(to: trace)
        case .baseline(let number):
            policy = learner.baselines[number]
        }
        var replayOptions = units.replayOptions
        replayOptions.seed = options.seed &+ UInt64(seed)
        replayOptions.prefetch = prefetch
        var replay = ReplayJob(
            policy: policy, capacity: field.capacities[job.capacity], mode: field.mode, models: options.models,
            options: replayOptions)
        replay.comparesWithoutPrefetching = false
        // The initialiser of the field has resolved every capacity once, so no resolution fails here.
        guard let resolved = try? replay.resolved(for: input) else { preconditionFailure("a job that was verified") }
        let counts = resolved.run(over: input.relabelled(trace), progress: progress).recorder
        return ArmHits(hits: counts.total.hits, requests: counts.total.requests, byUnit: units.hits(counts))
    }
}

/// The hits of one replay.
struct ArmHits: Sendable {
    var hits: Int
    var requests: Int
    var byUnit: [Double]

    var hitRatio: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }
}

/// All replays of one cell: one mode and capacity of one trace.
struct CellHits: Sendable {
    /// The runs with categories, by seed.
    var withCategories: [ArmHits] = []
    /// The runs without categories, by seed.
    var withoutCategories: [ArmHits] = []
    /// The runs under permuted labels, by permutation, then by seed.
    var permuted: [[ArmHits]] = []
    /// The runs of the baselines.
    var baselines: [ArmHits] = []
}
