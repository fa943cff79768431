import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// One replay that the test is made of.
struct HypothesisJob: Sendable {
    /// What is replayed.
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

/// What one field needs for its runs, made once.
struct HypothesisBench: Sendable {
    let field: HypothesisField
    let units: ResamplingUnits
    let learner: HypothesisLearner
    let options: HypothesisOptions
    private let future: FutureKnowledge?

    init(_ field: HypothesisField, learner: HypothesisLearner, options: HypothesisOptions) {
        self.field = field
        self.learner = learner
        self.options = options
        units = ResamplingUnits(field.trace, warmup: options.warmup, seed: options.seed)
        let needsFuture = learner.baselines.contains { $0.info.traits.contains(.needsFuture) }
        future =
            field.mode == .shared && needsFuture
            ? FutureKnowledge(entries: field.trace.entries, entryCount: field.trace.objectCount) : nil
    }

    /// Runs one arm and returns its hits and requests over all and its hits by unit.
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
        let capacity = field.resolved(field.capacities[job.capacity])
        replayOptions.prefetch = prefetch
        let counts = replay(trace, policy, capacity, replayOptions, progress).counts
        return ArmHits(hits: counts.total.hits, requests: counts.total.requests, byUnit: units.hits(counts))
    }

    private func replay(
        _ trace: Trace, _ policy: ConfiguredPolicy, _ capacity: Int, _ options: ReplayOptions,
        _ progress: ReplayProgress?
    ) -> Measured {
        let fleet = CacheUnit(trace).context(capacity: capacity, seed: options.seed)
        if let prefetch = options.prefetch {
            let mode = field.mode
            let shared =
                mode == .perUser ? CacheMaker(sharingModelOf: policy, as: self.options.models, fleet: fleet) : nil
            return PrefetchReplay(trace: trace, options: options, prefetch: prefetch, mode: mode, progress: progress)
                .run(once: shared ?? CacheMaker(policy), capacity: capacity)
        }
        guard let plan = field.plan else {
            return SharedReplay(trace: trace, options: options, progress: progress)
                .run(CacheMaker(policy), capacity: capacity, future: future)
        }
        let replay = FleetReplay(trace: trace, plan: plan, options: options, progress: progress)
        if let maker = CacheMaker(sharingModelOf: policy, as: self.options.models, fleet: fleet) {
            return replay.run(inOrderOfTime: maker, capacity: capacity)
        }
        return replay.run(CacheMaker(policy), capacity: capacity)
    }
}

/// What one replay hit.
struct ArmHits: Sendable {
    var hits: Int
    var requests: Int
    var byUnit: [Double]

    var hitRatio: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }
}

/// All replays of one cell: one mode and capacity of one trace.
struct CellHits: Sendable {
    /// By seed.
    var withCategories: [ArmHits] = []
    /// By seed.
    var withoutCategories: [ArmHits] = []
    /// By permutation, then by seed.
    var permuted: [[ArmHits]] = []
    /// By baseline.
    var baselines: [ArmHits] = []
}
