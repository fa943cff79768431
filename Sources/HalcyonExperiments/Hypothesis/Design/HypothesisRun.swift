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
    /// The strata of the other traces that models are trained on, for each way to permute labels, by name.
    private let otherStrata: [[String: LabelStrata]]
    private let input: ReplayInput

    init(
        _ field: HypothesisField, learner: HypothesisLearner, options: HypothesisOptions
    ) throws(ReplayError) {
        var strata: [LabelStrata] = []
        for scheme in options.permute { strata.append(try LabelStrata(scheme, of: field.trace)) }
        self.strata = strata
        otherStrata = try options.permute.map { scheme throws(ReplayError) in
            var strata: [String: LabelStrata] = [:]
            for (name, trace) in learner.others {
                guard trace.hasCategories else {
                    throw .data(
                        "\(name) has no categories, which the models of this test are trained with: name another trace."
                    )
                }
                strata[name] = try LabelStrata(scheme, of: trace)
            }
            return strata
        }
        self.field = field
        self.learner = learner
        self.options = options
        units = ResamplingUnits(field.trace, warmup: .share(options.warmup), seed: options.seed)
        input = Self.input(field.trace, field, learner)
        for capacity in field.capacities.indices {
            let arms = [HypothesisJob.Arm.withCategories(seed: 0)] + learner.baselines.indices.map { .baseline($0) }
            for arm in arms {
                _ = try replay(HypothesisJob(field: 0, capacity: capacity, arm: arm), ReplayOptions()).resolved(
                    for: input)
            }
        }
    }

    /// Runs one arm. Returns its hits and requests, in total and by unit.
    ///
    /// - Throws: `ReplayError` if the users give too little to train a model on.
    func run(_ job: HypothesisJob, progress: ReplayProgress?) throws(ReplayError) -> ArmHits {
        let input = input.relabelled(labelled(field.trace, job.arm) { strata[$0] })
        let counts = try recorder(
            job, units.replayOptions, over: input, models: models(job, over: input), progress: progress)
        return ArmHits(hits: counts.total.hits, requests: counts.total.requests, byUnit: units.hits(counts))
    }

    /// Returns a trace with the labels of an arm.
    ///
    /// - Parameter strata: the strata of the trace for a way to permute labels.
    private func labelled(
        _ trace: Trace, _ arm: HypothesisJob.Arm, strata: (_ scheme: Int) -> LabelStrata?
    ) -> Trace {
        switch arm {
        case .withCategories, .baseline: return trace
        case .withoutCategories: return trace.withOneCategory()
        case .permuted(let scheme, let number, _):
            guard let strata = strata(scheme) else { return trace }
            return LabelPermutation(
                within: strata, objects: trace.allObjectCount, seed: options.seed, number: number
            ).applied(to: trace)
        }
    }

    /// Trains the models of an arm with its labels; `nil` if it has none.
    func models(_ job: HypothesisJob, over input: ReplayInput) throws(ReplayError) -> DeviceModels? {
        let others = (learner.pretraining?.traceNames ?? []).compactMap { name in
            learner.others[name].map { labelled($0, job.arm) { otherStrata[$0][name] } }
        }
        return try DeviceModels(for: replay(job, ReplayOptions()), over: input, others: others)
    }

    /// Trains the models of an arm with the labels of the trace, for measurements of speed.
    func train(_ job: HypothesisJob) { _ = try? models(job, over: input) }

    /// Returns a permutation of the labels.
    ///
    /// - Parameter scheme: the number of the way to permute them.
    func permutation(_ number: Int, scheme: Int) -> LabelPermutation {
        LabelPermutation(
            within: strata[scheme], objects: field.trace.allObjectCount, seed: options.seed, number: number)
    }

    /// Returns the first requests, and their share of all, for measurements of speed.
    func sample(limit: Int) -> (input: ReplayInput, share: Double) {
        let trace = field.trace.selection(limit: limit).trace
        return (Self.input(trace, field, learner), Double(trace.count) / Double(field.trace.count))
    }

    /// Runs one arm over other requests, without models of other users, for measurements of speed.
    func run(_ job: HypothesisJob, over input: ReplayInput) {
        _ = recorder(job, ReplayOptions(), over: input, models: nil, progress: nil)
    }

    private func recorder(
        _ job: HypothesisJob, _ options: ReplayOptions, over input: ReplayInput, models: DeviceModels?,
        progress: ReplayProgress?
    ) -> Recorder {
        var replay = replay(job, options)
        if models == nil { replay.pretraining = nil }
        // The initialiser has resolved every job once, so no resolution fails here.
        guard let resolved = try? replay.resolved(for: input) else { preconditionFailure("a job that was verified") }
        return resolved.beginning(with: models).run(over: input, progress: progress).recorder
    }

    /// Returns the replay of an arm.
    private func replay(_ job: HypothesisJob, _ options: ReplayOptions) -> ReplayJob {
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
        if field.mode == .perUser {
            replay.pretraining = learner.pretraining
            if prefetch != nil { replay.options.announcements = learner.prefetch?.announcements }
        }
        return replay
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
