import HalcyonEviction
import HalcyonLearning
import HalcyonTrace

/// One replay through ``HalcyonLearning/LearnedPolicy`` whose model is looked into afterwards.
///
/// ```swift
/// let replay = try LearnerReplay(trace: trace, capacity: CapacityRequest(parsing: "5%"))
/// try replay.train().model.write(to: "model.safetensors")
/// ```
public struct LearnerReplay: Sendable {
    /// A replay and the model that came out of it.
    public struct Training: Sendable {
        /// What was learnt.
        public let model: PretrainedModel
        /// What the replay counted while learning.
        public let run: RunResult
    }

    /// What is replayed.
    public let trace: Trace
    /// The policy's values.
    public let parameters: LearnedParameters
    /// The capacity as it was asked for.
    public let request: CapacityRequest
    /// The capacity in the unit of costs.
    public let capacity: Int
    /// One cache for all, or one a user with a model that all share.
    public let mode: ReplayMode
    /// The seed of everything random.
    public let seed: UInt64

    /// A replay.
    ///
    /// - Throws: ``ReplayError`` if the trace is empty, has no users where each is to have a cache, or the capacity is
    ///   nothing, or in bytes where objects are counted.
    public init(
        trace: Trace, parameters: LearnedParameters = LearnedParameters(), capacity: CapacityRequest,
        mode: ReplayMode = .shared, seed: UInt64 = 1
    ) throws(ReplayError) {
        guard trace.count > 0 else { throw ReplayError.data("There is no request to replay.") }
        if mode == .perUser, !trace.hasUsers || trace.users.contains(Trace.noUser) {
            throw ReplayError.data("A cache for each user needs a user in every request.")
        }
        self.trace = trace
        self.parameters = parameters
        request = capacity
        self.capacity = try capacity.resolved(unit: trace.sizeUnit, distinct: Int(clamping: trace.distinctSize))
        guard self.capacity > 0 else {
            throw ReplayError.usage("A cache with a capacity of 0 holds nothing to learn from: give a larger one.")
        }
        self.mode = mode
        self.seed = seed
    }

    /// A progress to hand to ``train(progress:)`` and look at meanwhile.
    public func makeProgress() -> ReplayProgress { ReplayProgress(total: trace.count) }

    /// Replays the trace and keeps what was learnt. O(requests).
    ///
    /// - Throws: ``ReplayError`` if the trace gave too little to learn from.
    public func train(progress: ReplayProgress? = nil) throws(ReplayError) -> Training {
        try requireLearning()
        let model = makeModel()
        let run = try serve(model, progress: progress)
        guard let learnt = model.snapshot(parameters, producer: Halcyon.version) else { throw tooShort }
        return Training(model: learnt, run: run)
    }

    /// Refuses parameters with which no network is trained.
    func requireLearning() throws(ReplayError) {
        if !parameters.learns {
            throw .usage("learned(decider=heuristic) trains no network: leave the decider out, or write network.")
        }
    }

    /// A model for the caches of this replay.
    func makeModel() -> LearnedModel {
        LearnedModel.make(
            parameters, context: CacheUnit(trace).context(capacity: capacity, seed: seed),
            forFleet: mode == .perUser)
    }

    /// Replays the trace through caches that share `model`.
    func serve(_ model: LearnedModel, progress: ReplayProgress?) throws(ReplayError) -> RunResult {
        let maker = CacheMaker(traits: LearnedPolicy.info.traits) { model.makeCache(parameters, context: $0) }
        let options = ReplayOptions(seed: seed)
        let measured: Measured
        if mode == .perUser {
            let plan = FleetPlan(trace)
            measured = FleetReplay(trace: trace, plan: plan, options: options, progress: progress)
                .run(inOrderOfTime: maker, capacity: capacity)
        } else {
            measured = SharedReplay(trace: trace, options: options, progress: progress)
                .run(maker, capacity: capacity, future: nil)
        }
        let policy: ConfiguredPolicy
        do { policy = try PolicyEntry(LearnedPolicy.self, defaults: parameters).configured() } catch {
            throw ReplayError.usage(error.description)
        }
        var result = RunResult(policy, trace: trace, mode: mode, options: options, measured)
        result.capacity = capacity
        result.capacityAsked = request.description
        return result
    }

    /// Why there is nothing to keep or to explain.
    var tooShort: ReplayError {
        .data(
            "\(trace.count) requests with a capacity of \(capacity) gave too little to learn from: "
                + "give a longer trace, or a smaller capacity, so that objects must go.")
    }
}
