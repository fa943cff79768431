import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTrace

/// One replay through `LearnedPolicy` whose model is kept or explained afterwards.
///
/// The caches and their model are made as for `replay --policy learned`: hits, decisions and the model are those of
/// that run. See `LearnerReplayTests`.
///
/// ```swift
/// let replay = try LearnerReplay(trace: trace, capacity: CapacityRequest(parsing: "5%"))
/// try replay.train().model.write(to: "model.safetensors")
/// ```
public struct LearnerReplay: Sendable {
    /// The result of a training replay.
    public struct Training<Model: Sendable>: Sendable {
        /// The trained model: of `learned`, or of the planner.
        public let model: Model
        /// The counts of the replay during training.
        public let run: RunResult
    }

    /// The replayed trace.
    public let trace: Trace
    /// The parameters of the policy.
    public let parameters: LearnedParameters
    /// The capacity as requested.
    public let request: CapacityRequest
    /// The capacity, in the unit of sizes.
    public let capacity: Int
    /// The kind of caches: one shared cache, or per-user caches with server knowledge, which share one model.
    public let mode: ReplayMode
    /// The seed of all random choices.
    public let seed: UInt64

    /// Creates a replay.
    ///
    /// - Throws: ``ReplayError`` if the trace is empty, has no users for per-user caches, or the capacity is 0 or in
    ///   bytes although objects are counted.
    public init(
        trace: Trace, parameters: LearnedParameters = LearnedParameters(), capacity: CapacityRequest,
        mode: ReplayMode = .shared, seed: UInt64 = 1
    ) throws(ReplayError) {
        guard trace.count > 0 else { throw ReplayError.data("There is no request to replay.") }
        if mode == .perUser, !trace.hasUsers || trace.users.contains(Trace.noUser) {
            throw ReplayError.data("Per-user caches need a user in every request.")
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

    /// Returns a progress to pass to ``train(progress:)``.
    public func makeProgress() -> ReplayProgress { ReplayProgress(total: trace.count) }

    /// Replays the trace and returns the trained model. O(requests).
    ///
    /// - Throws: ``ReplayError`` if the trace gave too little to learn from.
    public func train(progress: ReplayProgress? = nil) throws(ReplayError) -> Training<PretrainedModel> {
        let (model, outcome) = try run(ReplayOptions(seed: seed), progress: progress)
        guard let learned = model.snapshot(resolved(prefetches: false), producer: Halcyon.version) else {
            throw tooShort
        }
        return Training(model: learned, run: outcome.result)
    }

    /// Replays the trace with prefetching by the planner, under `learned`, and returns the trained planner.
    /// O(requests).
    ///
    /// - Parameter prefetch: the prefetch options.
    /// - Throws: ``ReplayError`` if another prefetch policy is given, or the trace gave too little to learn from.
    package func trainPlanner(
        _ prefetch: PrefetchOptions, progress: ReplayProgress? = nil
    ) throws(ReplayError) -> Training<PretrainedPlanner> {
        try prefetch.verifyPlanner()
        let (_, outcome) = try run(
            ReplayOptions(seed: seed, prefetch: prefetch), needsNetwork: false, progress: progress)
        guard let planner = outcome.planner else {
            throw .data("\(trace.count) requests gave too little to learn from: give a longer trace.")
        }
        return Training(model: planner, run: outcome.result)
    }

    /// Replays the trace and explains the model's predictions. A tenth of the labelled samples is kept, each with the
    /// network of its time, which had not yet learned from the sample.
    ///
    /// - Parameter victim: the number of the eviction to explain, from 1; 0 for none.
    /// - Throws: ``ReplayError`` if the trace gave too little to learn from, or fewer evictions than `victim`.
    package func explain(
        victim: Int = 0, path: String, notes: [String] = [], progress: ReplayProgress? = nil
    ) throws(ReplayError) -> ExplainReport {
        let (model, outcome) = try run(ReplayOptions(seed: seed), progress: progress) {
            $0.observe(victim: victim, seed: seed)
        }
        guard let explanation = model.explanation(resolved(prefetches: false), victim: victim, seed: seed) else {
            throw tooShort
        }
        if victim > 0, explanation.victim == nil {
            throw ReplayError.data("There is no eviction \(victim): there were \(outcome.result.evictions).")
        }
        let (victim, runnerUp) = (explanation.victim?.victim, explanation.victim?.runnerUp)
        let user = mode == .perUser ? victim?.user : nil
        return ExplainReport(
            trace: TraceSummary(trace, path: path, notes: notes), run: outcome.result,
            victimKey: name(victim?.object, trace.names.keys), runnerUpKey: name(runnerUp?.object, trace.names.keys),
            user: name(user, trace.names.users), explanation: explanation)
    }

    private func name(_ number: UInt32?, _ names: StringTable) -> String? {
        number.flatMap { names.count > Int($0) ? names[$0] : nil }
    }

    /// Replays the trace through one cache with a model of its own, or per-user caches with server knowledge.
    ///
    /// - Parameters:
    ///   - needsNetwork: whether to refuse parameters that train no network.
    ///   - prepare: a closure that receives the model before the replay.
    private func run(
        _ options: ReplayOptions, needsNetwork: Bool = true, progress: ReplayProgress?,
        prepare: (LearnedModel) -> Void = { _ in }
    ) throws(ReplayError) -> (LearnedModel, ReplayOutcome) {
        if needsNetwork, !parameters.learns {
            throw .usage("learned(decider=heuristic) trains no network: leave the decider out, or write network.")
        }
        // The caches and the model have the same features, whatever the model is made for.
        let parameters = resolved(prefetches: options.prefetch != nil)
        let policy: ConfiguredPolicy
        do { policy = try PolicyEntry(LearnedPolicy.self, defaults: parameters).configured() } catch {
            throw ReplayError.usage(error.description)
        }
        let job = ReplayJob(policy: policy, capacity: request, mode: mode, knowledge: .server, options: options)
        let input = ReplayInput(trace, for: [job])
        let model =
            mode == .shared
            ? LearnedModel(ofOneCache: parameters, context: context()) : LearnedModel(parameters, seed: seed)
        prepare(model)
        return (model, try job.resolved(for: input).run(over: input, model: model, progress: progress))
    }

    /// The context of the model. Without prefetching the caches receive the lists of the trace.
    private func context(prefetches: Bool = false) -> PolicyContext {
        var context = CacheUnit(trace).context(capacity: capacity, seed: seed)
        context.showsLists = trace.lists != nil && !prefetches
        return context
    }

    private func resolved(prefetches: Bool) -> LearnedParameters {
        parameters.resolved(for: context(prefetches: prefetches))
    }

    /// The error for a trace that gave too little to keep or to explain.
    private var tooShort: ReplayError {
        .data(
            "\(trace.count) requests with a capacity of \(capacity) gave too little to learn from: "
                + "give a longer trace, or a smaller capacity, so that objects must be evicted.")
    }
}
