import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTrace

/// Trains one model on the devices of many users of several traces, to be shipped with an app: each cache sees one user.
///
/// Users are taken part by part and trace by trace, each in a cache of its own that forgets the user before, under the model
/// as it is then. Capacities alternate. It starts again from the first part until the model has taken its steps.
///
/// ```swift
/// let training = try DeviceTraining(traces: [shop, feed], capacities: [CapacityRequest(parsing: "20")])
/// try training.train(steps: 40_000).write(to: "model.safetensors")
/// ```
public struct DeviceTraining: Sendable {
    /// The valid numbers of steps.
    public static let steps = LearnedModel.fewestSteps...10_000_000
    /// The parts into which the users of each trace are divided.
    private static let parts = 4

    private let inputs: [ReplayInput]
    private let jobs: [ReplayJob]
    private let parameters: LearnedParameters
    private let seed: UInt64
    private let users: UserPart?

    /// Creates a training.
    ///
    /// - Parameters:
    ///   - traces: the traces, with a user in each request.
    ///   - parameters: the parameters of the policy. The group `workload` should be on.
    ///   - capacities: the capacities of a cache, in turn.
    ///   - users: the part of the users of each trace to train on. Nil by default: all.
    /// - Throws: ``ReplayError`` if there is no trace or capacity, a request has no user, or a capacity is 0.
    public init(
        traces: [Trace], users: UserPart? = nil, parameters: LearnedParameters = LearnedParameters(),
        capacities: [CapacityRequest], seed: UInt64 = 1
    ) throws(ReplayError) {
        try self.init(
            inputs: traces.map { ReplayInput($0) }, users: users, parameters: parameters, capacities: capacities,
            seed: seed)
    }

    /// Creates a training on traces whose requests are known by user.
    init(
        inputs: [ReplayInput], users: UserPart?, parameters: LearnedParameters, capacities: [CapacityRequest],
        seed: UInt64
    ) throws(ReplayError) {
        guard !inputs.isEmpty, !capacities.isEmpty else {
            throw .usage("A model is trained on at least one trace, in caches of at least one capacity.")
        }
        guard parameters.learns else {
            throw .usage("learned(decider=heuristic) trains no network: leave the decider out, or write network.")
        }
        for trace in inputs.map(\.trace)
        where trace.count == 0 || !trace.hasUsers || trace.users.contains(Trace.noUser) {
            throw .data("Per-user caches need a request, and a user in every request.")
        }
        var parameters = parameters
        parameters.startWithNothing()
        let policy: ConfiguredPolicy
        do { policy = try PolicyEntry(LearnedPolicy.self, defaults: parameters).configured() } catch {
            throw .usage(error.description)
        }
        jobs = capacities.map {
            ReplayJob(
                policy: policy, capacity: $0, mode: .perUser, knowledge: .device, options: ReplayOptions(seed: seed))
        }
        for input in inputs {
            for job in jobs where try job.resolved(for: input).capacity == 0 {
                throw .usage("A cache of \(job.capacity) holds nothing of a trace of \(input.trace.count) requests.")
            }
        }
        (self.inputs, self.parameters, self.seed, self.users) = (inputs, parameters, seed, users)
    }

    /// Trains the model. O(steps), and O(requests) for each time that all users have been replayed. It ends with the part of a
    /// trace in which the last step is taken.
    ///
    /// - Throws: ``ReplayError`` if all users together give too few samples to learn from, or for an invalid number of steps.
    public func train(steps: Int) throws(ReplayError) -> PretrainedModel {
        guard Self.steps.contains(steps) else {
            throw .usage("\(steps) is no number of steps: give \(Self.steps.lowerBound) to \(Self.steps.upperBound).")
        }
        let model = LearnedModel(training: parameters, steps: steps, seed: seed)
        var (turn, before) = (0, 0)
        training: while model.trainingSteps < steps {
            for part in 1...Self.parts {
                for (number, input) in inputs.enumerated() {
                    var job = jobs[(turn + part + number) % jobs.count]
                    job.users = (users ?? UserPart(number: 1, of: 1)).divided(part, of: Self.parts)
                    _ = try job.resolved(for: input).run(over: input, model: model)
                    if model.trainingSteps >= steps { break training }
                }
            }
            turn += 1
            guard model.trainingSteps > before else { break }
            before = model.trainingSteps
        }
        guard model.trainingSteps >= steps, let learned = model.snapshot(parameters, producer: Halcyon.version) else {
            throw .data(
                "The users gave too little to learn from: give more of them, or smaller capacities, so that objects are evicted."
            )
        }
        return learned
    }

    /// Trains the planner of `prefetch`, which prefetches into caches under the policy `learned`, or under `lru` if it plans on lists
    /// alone. Each user's planner goes on from what those before have learned over all users. O(requests).
    ///
    /// - Parameter announcements: what a server sends to each device. Nil by default.
    /// - Throws: ``ReplayError`` if another prefetch policy is given, or all users together give too little to learn from.
    public func trainPlanner(
        _ prefetch: PrefetchOptions, announcements: AnnouncementOptions? = nil
    ) throws(ReplayError) -> PretrainedPlanner {
        try prefetch.verifyPlanner()
        var prefetch = prefetch
        prefetch.trainsDevices = true
        for part in 1...Self.parts {
            for (number, input) in inputs.enumerated() {
                var job = jobs[(part + number) % jobs.count]
                job.users = (users ?? UserPart(number: 1, of: 1)).divided(part, of: Self.parts)
                if prefetch.planner.requests == .off { job.policy = ConfiguredPolicy(LRU.self) }
                job.options.prefetch = prefetch
                job.options.announcements = announcements
                job.comparesWithoutPrefetching = false
                prefetch.pretrained = try job.resolved(for: input).run(over: input).planner ?? prefetch.pretrained
            }
        }
        guard let planner = prefetch.pretrained, planner.isReady else {
            throw .data("The users gave too little to learn from: give more of them.")
        }
        return planner
    }
}
