import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// One replay of the test.
struct HypothesisJob: Sendable {
    /// The policy and labels of the replay.
    enum Arm: Sendable, Equatable {
        case withCategories(seed: Int)
        case withoutCategories(seed: Int)
        case permuted(scheme: Int, number: Int, seed: Int)
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
    /// The strata of each way to permute labels.
    let strata: [LabelStrata]
    private let input: ReplayInput
    private let unlabelled: Trace

    init(
        _ field: HypothesisField, learner: HypothesisLearner, options: HypothesisOptions
    ) throws(ReplayError) {
        var strata: [LabelStrata] = []
        for scheme in options.permute { strata.append(try LabelStrata(scheme, of: field.trace)) }
        self.strata = strata
        unlabelled = field.trace.withOneCategory()
        self.field = field
        self.learner = learner
        self.options = options
        units = ResamplingUnits(field.trace, warmup: .share(options.warmup), seed: options.seed)
        input = Self.input(field.trace, field, learner)
    }

    /// Runs one arm. Returns its hits and requests, in total and by unit.
    func run(_ job: HypothesisJob, progress: ReplayProgress?) -> ArmHits {
        var trace = field.trace
        switch job.arm {
        case .withCategories, .baseline: break
        case .withoutCategories: trace = unlabelled
        case .permuted(let scheme, let number, _):
            trace = permutation(number, scheme: scheme).applied(to: trace)
        }
        let counts = recorder(job, units.replayOptions, over: input.relabelled(trace), progress: progress)
        return ArmHits(hits: counts.total.hits, requests: counts.total.requests, byUnit: units.hits(counts))
    }

    /// Returns a permutation of the labels.
    ///
    /// - Parameter scheme: the number of the way to permute them.
    func permutation(_ number: Int, scheme: Int) -> LabelPermutation {
        LabelPermutation(
            within: strata[scheme], objects: field.trace.objectCount, seed: options.seed, number: number)
    }

    /// Returns the first requests, and their share of all, for measurements of speed.
    func sample(limit: Int) -> (input: ReplayInput, share: Double) {
        let trace = field.trace.selection(limit: limit).trace
        return (Self.input(trace, field, learner), Double(trace.count) / Double(field.trace.count))
    }

    /// Runs one arm over other requests, for measurements of speed.
    func run(_ job: HypothesisJob, over input: ReplayInput) {
        _ = recorder(job, ReplayOptions(), over: input, progress: nil)
    }

    private func recorder(
        _ job: HypothesisJob, _ options: ReplayOptions, over input: ReplayInput, progress: ReplayProgress?
    ) -> Recorder {
        let (policy, prefetch, seed): (ConfiguredPolicy, PrefetchOptions?, Int) =
            switch job.arm {
            case .withCategories(let seed), .permuted(_, _, let seed):
                (learner.withCategories, learner.prefetch?.withCategories, seed)
            case .withoutCategories(let seed):
                (learner.withoutCategories, learner.prefetch?.withoutCategories, seed)
            case .baseline(let number): (learner.baselines[number], nil, 0)
            }
        var options = options
        options.seed = self.options.seed &+ UInt64(seed)
        options.prefetch = prefetch
        var replay = ReplayJob(
            policy: policy, capacity: field.capacities[job.capacity], mode: field.mode,
            knowledge: self.options.knowledge,
            options: options)
        replay.comparesWithoutPrefetching = false
        // The initialiser of the field has resolved every capacity once, so no resolution fails here.
        guard let resolved = try? replay.resolved(for: input) else { preconditionFailure("a job that was verified") }
        return resolved.run(over: input, progress: progress).recorder
    }

    private static func input(
        _ trace: Trace, _ field: HypothesisField, _ learner: HypothesisLearner
    ) -> ReplayInput {
        ReplayInput(
            trace,
            for: (learner.baselines + [learner.withCategories]).map {
                ReplayJob(policy: $0, capacity: .number(1), mode: field.mode)
            })
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
    /// The runs under permuted labels: by scheme, by permutation, by seed.
    var permuted: [[[ArmHits]]] = []
    /// The runs of the baselines.
    var baselines: [ArmHits] = []

    /// Adds the hits of one replay. Replays are added in the order of seeds and permutations.
    mutating func add(_ hits: ArmHits, of arm: HypothesisJob.Arm) {
        switch arm {
        case .withCategories: withCategories.append(hits)
        case .withoutCategories: withoutCategories.append(hits)
        case .baseline: baselines.append(hits)
        case .permuted(let scheme, let number, _):
            if number == permuted[scheme].count { permuted[scheme].append([]) }
            permuted[scheme][number].append(hits)
        }
    }
}
