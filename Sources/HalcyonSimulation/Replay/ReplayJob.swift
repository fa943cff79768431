import HalcyonEviction
import HalcyonTrace

/// One run: all parameters that determine its result, except for the requests.
///
/// ```swift
/// let input = ReplayInput(try Trace.load("shop.csv"))
/// let job = ReplayJob(policy: try PolicyCatalogue.standard.policy("lru"), capacity: try CapacityRequest(parsing: "1%"))
/// let result = try job.run(over: input)
/// ```
///
/// Shared and per-user caches, tiers, prefetching, timings and streams can be combined. `resolved(for:)` lists the
/// exceptions.
public struct ReplayJob: Sendable {
    /// The eviction policy. A tier with a policy of its own ignores it.
    public var policy: ConfiguredPolicy
    /// The name of the run in reports. Nil by default: that of its policies.
    public var name: String?
    /// The capacity of the cache, or of each user's cache; ignored if there are ``tiers``.
    public var capacity: CapacityRequest
    /// The kind of caches: one shared cache, or per-user caches. The default is shared.
    public var mode: ReplayMode
    /// What the learners and the prefetch policies of per-user caches see. By default device knowledge: their own user.
    /// Ignored for a shared cache.
    public var knowledge: Knowledge
    /// The users whose requests are replayed, for per-user caches. Nil by default: all.
    ///
    /// Positions, windows and the warm-up stay those of the whole trace. Results of all parts add up to that of the whole,
    /// so policies that share a model between users, and prefetching by one policy for all, are refused.
    public var users: UserPart?
    /// The users that the models of devices are trained on before the replay. Nil by default: the policy says what a model
    /// begins with.
    package var pretraining: Pretraining?
    /// The two tiers that replace each cache. Nil by default.
    public var tiers: TierOptions?
    /// The warm-up, seed, tables, timings and prefetching.
    public var options: ReplayOptions
    /// Whether a run with prefetching also replays the requests without it, for comparison. True by default.
    public var comparesWithoutPrefetching = true

    /// Creates a job, by default with one shared cache.
    public init(
        policy: ConfiguredPolicy, capacity: CapacityRequest, mode: ReplayMode = .shared,
        knowledge: Knowledge = .device, tiers: TierOptions? = nil, options: ReplayOptions = ReplayOptions()
    ) {
        self.policy = policy
        self.capacity = tiers?.disk ?? capacity
        self.mode = mode
        self.knowledge = knowledge
        self.tiers = tiers
        self.options = options
    }

    /// Kingfisher's image cache as an app has it, in two tiers; see ``TierOptions/kingfisher(disk:)``.
    ///
    /// - Parameters:
    ///   - capacity: the capacity of the disk.
    ///   - tiers: capacities, lifetimes and latencies of the two tiers; by default those of
    ///     ``TierOptions/kingfisher(disk:)``.
    public static func kingfisher(
        capacity: CapacityRequest, mode: ReplayMode = .shared, knowledge: Knowledge = .device,
        tiers given: TierOptions? = nil, options: ReplayOptions = ReplayOptions()
    ) -> ReplayJob {
        var tiers = given ?? .kingfisher(disk: capacity)
        let policies = TierOptions.kingfisher(disk: capacity)
        tiers.memoryPolicy = policies.memoryPolicy
        tiers.diskPolicy = policies.diskPolicy
        var job = ReplayJob(
            policy: ConfiguredPolicy(KingfisherDisk.self), capacity: capacity, mode: mode, knowledge: knowledge,
            tiers: tiers, options: options)
        job.name = "kingfisher"
        return job
    }

    /// The policy of the memory tier. Nil without tiers.
    package var memoryPolicy: ConfiguredPolicy? { tiers.map { $0.memoryPolicy ?? policy } }
    /// The policy of the cache, or of its disk tier.
    package var mainPolicy: ConfiguredPolicy { tiers?.diskPolicy ?? policy }
    /// The different policies of a cache: that of the memory first.
    package var policies: [ConfiguredPolicy] {
        guard let memory = memoryPolicy, memory.label != mainPolicy.label else { return [mainPolicy] }
        return [memory, mainPolicy]
    }
    /// The name of the run: ``name``, or that of its policies, such as `lru` or `lru/s3-fifo` for memory and disk.
    public var label: String { name ?? policies.map(\.label).joined(separator: "/") }
    /// The traits of its policies together.
    package var traits: PolicyTraits { policies.reduce(into: []) { $0.formUnion($1.info.traits) } }
    /// Whether the result depends on ``ReplayOptions/seed``.
    package var isRandomised: Bool {
        traits.contains(.isRandomised) || options.prefetch?.traits.contains(.isRandomised) == true
    }
    /// Whether the result depends on the categories of the requests.
    package var usesCategories: Bool {
        traits.contains(.usesCategories) || options.prefetch?.traits.contains(.usesCategories) == true
    }
    /// The knowledge where it decides the result: for per-user caches with a policy that learns, or with a prefetch
    /// policy that learns from requests. Nil otherwise: a cache under LRU sees its own user with either knowledge.
    package var statedKnowledge: Knowledge? {
        mode == .perUser && (policies.contains(where: \.learns) || prefetchesByRequests) ? knowledge : nil
    }
    /// Whether a prefetch policy learns from requests. Prefetching by keys or by a recording does not.
    private var prefetchesByRequests: Bool {
        options.prefetch.map { !$0.traits.contains(.usesKeys) && !$0.isRecorded } ?? false
    }
    /// Whether each user has a prefetch policy.
    package var hasPrefetchPolicyPerUser: Bool { mode == .perUser && knowledge == .device && prefetchesByRequests }

    /// Returns the jobs of policies × capacities; with tiers, one job per policy.
    package static func grid(
        policies: [ConfiguredPolicy], capacities: [CapacityRequest], options: ReplayOptions = ReplayOptions(),
        mode: ReplayMode = .shared, knowledge: Knowledge = .device, tiers: TierOptions? = nil
    ) -> [ReplayJob] {
        policies.flatMap { policy in
            (tiers.map { [$0.disk] } ?? capacities).map {
                ReplayJob(
                    policy: policy, capacity: $0, mode: mode, knowledge: knowledge, tiers: tiers, options: options)
            }
        }
    }

    /// Runs the job on the current thread. O(requests), plus the time of the policy. A run of less than 50 ms is
    /// repeated, up to five times in 100 ms, for ``RunResult/seconds``.
    ///
    /// - Throws: ``ReplayError`` as `resolved(for:)`.
    public func run(over input: ReplayInput, progress: ReplayProgress? = nil) throws(ReplayError) -> RunResult {
        try resolved(for: input).beginning(with: DeviceModels(for: self, over: input, others: [])).measured(
            over: input, progress: progress
        ).result
    }

    /// Returns the job with its capacities in the unit of the trace.
    ///
    /// - Throws: ``ReplayError`` if the trace is empty or has no users for per-user caches, or has lifetimes and
    ///   there are tiers or prefetching. Also if the warm-up needs times that the trace does not have, or leaves no
    ///   request to count. Also if a capacity or a
    ///   budget is in bytes but objects are counted, or an offline policy is combined with tiers or prefetching. Also
    ///   if the trace exceeds a limit of the job (`ReplayLimits`), or users share what decides for a part of them.
    package func resolved(for input: ReplayInput) throws(ReplayError) -> ResolvedJob {
        let trace = input.trace
        guard trace.count > 0 else { throw ReplayError.data("There is no request to replay.") }
        if mode == .perUser, !trace.hasUsers || trace.users.contains(Trace.noUser) {
            throw ReplayError.data("Per-user caches need a user in every request.")
        }
        if !trace.lifetimes.isEmpty, tiers != nil || options.prefetch != nil {
            throw ReplayError.usage(
                "--use-ttl is for one cache without prefetching: two tiers have lifetimes of their own (--memory-expiration, "
                    + "--disk-expiration).")
        }
        try options.warmup.verify(trace)
        try verifyPolicy()
        try verifyUsers()
        try verifyAnnouncements()
        try verifyPretraining(trace)
        try verifyRestart(hasTimes: !trace.report.noTimes)
        if options.restart != nil, !trace.lifetimes.isEmpty {
            throw .usage("--restart and --use-ttl cannot be combined: leave one of them out.")
        }
        try input.limits.verify(self, requests: trace.count, objects: trace.objectCount)
        try options.prefetch?.verify(unit: trace.sizeUnit)
        try options.prefetch?.verify(trace.recording)
        var job = self
        job.options.prefetch?.adopt(trace.recording)
        // Each device numbers its objects itself.
        if hasPrefetchPolicyPerUser { job.options.prefetch?.useMedianLatency() }
        return try job.resolved(unit: trace.sizeUnit, distinct: Int(clamping: trace.distinctSize))
    }

    /// Returns the job for a stream, whose sizes and length are not known in advance.
    ///
    /// - Throws: ``ReplayError`` for an offline policy, for shares of the distinct objects or of the requests, and
    ///   for a prefetch policy that needs all keys in advance.
    func resolvedForStream() throws(ReplayError) -> ResolvedJob {
        if let policy = policies.first(where: { $0.info.traits.contains(.needsFuture) }) {
            throw ReplayError.usage("\(policy.info.name) needs the whole trace in advance, and a stream has none.")
        }
        if case .share = options.warmup, !options.warmup.isNone {
            throw ReplayError.usage(
                "The warm-up is a share of the requests, whose number is not known in a stream: give a number of requests "
                    + "(60000) or a time (5d).")
        }
        if let prefetch = options.prefetch, prefetch.traits.contains(.usesKeys) {
            throw ReplayError.usage(
                "\(prefetch.policy.name) needs the keys of the whole trace in advance, and a stream has none.")
        }
        if let prefetch = options.prefetch, hasPrefetchPolicyPerUser {
            throw ReplayError.usage(
                "With device knowledge, a \(prefetch.policy.name) for each user serves one user after another, and a stream "
                    + "has them in the order of time: leave --stream out, or give --knowledge server.")
        }
        if options.announcements != nil {
            throw ReplayError.usage(
                "Announcements are what all users requested in the last period, and a stream is read once: leave --stream or "
                    + "--announce out.")
        }
        if pretraining != nil {
            throw ReplayError.usage(
                "Models are trained on whole traces before the replay, and a stream is read once: leave --stream or --pretrain out."
            )
        }
        try verifyPolicy()
        try verifyUsers()
        try verifyAnnouncements()
        if options.restart != nil {
            throw .usage("--restart needs the whole trace in memory: leave out --stream or --restart.")
        }
        return try resolved(unit: .bytes, distinct: nil)
    }

    private func resolved(unit: SizeUnit, distinct: Int?) throws(ReplayError) -> ResolvedJob {
        var job = self
        job.options.prefetch?.adopt(tiers)
        guard let tiers else {
            return ResolvedJob(
                job: job, capacity: try capacity.resolved(unit: unit, distinct: distinct), memoryCapacity: nil)
        }
        try tiers.verify(unit: unit)
        return ResolvedJob(
            job: job, capacity: try tiers.disk.resolved(unit: unit, distinct: distinct),
            memoryCapacity: try tiers.memory.resolved(unit: unit, distinct: distinct))
    }

    /// Refuses a part of the users whose result depends on the other users.
    private func verifyUsers() throws(ReplayError) {
        guard let users else { return }
        if mode != .perUser {
            throw .usage(
                "The requests of all users decide what a shared cache holds, so that part \(users) of the users needs "
                    + "per-user caches: add --per user, or leave --users out.")
        }
        if let prefetch = options.prefetch, !hasPrefetchPolicyPerUser {
            if prefetch.traits.contains(.usesKeys) || prefetch.isRecorded {
                throw .usage(
                    "\(prefetch.policy.name) serves all users in the order of time, and not part \(users) of them: leave "
                        + "prefetching or --users out.")
            }
            throw .usage(
                "\(prefetch.policy.name) prefetches by what it learns from all users, so that part \(users) of the "
                    + "users has other results than the whole: give each user a policy with --knowledge device, or leave "
                    + "prefetching or --users out.")
        }
        if knowledge != .device, let policy = policies.first(where: \.learns) {
            throw .usage(
                "\(policy.info.name) shares its model between users, so that part \(users) of the users has other "
                    + "results than the whole: give each cache a model with --knowledge device, or leave --users out."
            )
        }
    }

    /// Whether the policies of devices hear of objects before these are requested, so that a device numbers the objects itself.
    var namesObjects: Bool {
        hasPrefetchPolicyPerUser && (options.announcements != nil || options.prefetch?.plansOnLists == true)
    }

    /// Refuses announcements that no prefetch policy of a device receives, and a policy that needs them without any.
    private func verifyAnnouncements() throws(ReplayError) {
        if options.announcements != nil, !hasPrefetchPolicyPerUser {
            throw .usage(
                "Announcements are sent to the prefetch policy of each user's device: add --per user and a --prefetch that "
                    + "learns, with device knowledge, or leave --announce out.")
        }
        if options.announcements == nil, let prefetch = options.prefetch, prefetch.traits.contains(.usesAnnouncements) {
            throw .usage(
                "\(prefetch.policy.name) fetches announced objects, and nothing is announced: add --per user and --announce "
                    + "'popular(count=100, every=1h)'.")
        }
    }

    /// Refuses restarts where there is no device whose app is restarted, or nothing says what it would write.
    private func verifyRestart(hasTimes: Bool) throws(ReplayError) {
        guard options.restart != nil else { return }
        if mode != .perUser || knowledge != .device {
            throw .usage("--restart is of the app on each user's device: it needs --per user and device knowledge.")
        }
        if options.prefetch != nil {
            throw .usage(
                "--restart is of what eviction policies learn, and not of prefetch policies: leave --prefetch or --restart out."
            )
        }
        if options.timings { throw .usage("--restart and --timings cannot be combined: leave one of them out.") }
        if let policy = policies.first(where: { $0.info.traits.contains(.needsFuture) }) {
            throw .usage("\(policy.info.name) knows the requests in advance, and not the restarts: leave it out.")
        }
        if !hasTimes { throw .data("The trace has no times, by which --restart knows when a visit ends.") }
    }

    private func verifyPolicy() throws(ReplayError) {
        guard let policy = policies.first(where: { $0.info.traits.contains(.needsFuture) }) else { return }
        if options.prefetch != nil {
            throw ReplayError.usage(
                "\(policy.info.name) knows the requests in advance, but not the prefetches: leave it out.")
        }
        if tiers != nil {
            throw ReplayError.usage("\(policy.info.name) knows the future of one cache and cannot serve two tiers.")
        }
    }
}

/// What the learners and the prefetch policies of per-user caches see.
public enum Knowledge: String, Sendable, Codable, CaseIterable {
    /// Each user's cache has a model and a prefetch policy, which see the requests of this user and what was sent to
    /// the device: a pretrained model, announced objects. A fetch takes the median of the durations that a log measured, whichever its
    /// object.
    case device
    /// One model and one prefetch policy serve all users and learn from the live requests of all, which a server could
    /// and a device cannot.
    case server
}

/// A loaded trace with the data that all replays of it share.
public struct ReplayInput: Sendable {
    /// The requests.
    public private(set) var trace: Trace
    /// The requests by user. Nil without per-user caches.
    let users: UserRequests?
    /// The next use of each request. Nil unless an offline policy serves a shared cache.
    let future: FutureKnowledge?
    let limits: ReplayLimits

    /// Creates the input of these jobs; without jobs, of any job. O(requests).
    public init(_ trace: Trace, for jobs: [ReplayJob]? = nil) { self.init(trace, for: jobs, limits: ReplayLimits()) }

    /// Creates the input of these jobs. What a trace beyond the limits has no positions for is left out; the jobs that
    /// need it are refused.
    package init(_ trace: Trace, for jobs: [ReplayJob]? = nil, limits: ReplayLimits) {
        self.trace = trace
        self.limits = limits
        guard trace.count <= limits.positions else {
            (users, future) = (nil, nil)
            return
        }
        let perUser = jobs?.contains { $0.mode == .perUser } ?? true
        users = perUser && trace.hasUsers && !trace.users.contains(Trace.noUser) ? UserRequests(trace) : nil
        let offline = jobs?.contains { $0.mode == .shared && $0.traits.contains(.needsFuture) } ?? true
        future = offline ? FutureKnowledge(entries: trace.entries, entryCount: trace.objectCount) : nil
    }

    /// Returns the same requests with different categories.
    package func relabelled(_ trace: Trace) -> ReplayInput {
        var input = self
        input.trace = trace
        return input
    }
}

/// A job whose capacities are numbers in the unit of the trace.
package struct ResolvedJob: Sendable {
    package var job: ReplayJob
    /// The capacity of each cache, or of its disk tier.
    package let capacity: Int
    /// The capacity of the memory tier. Nil without tiers.
    let memoryCapacity: Int?
    /// The models that the caches begin with. A job with ``ReplayJob/statedPretraining`` needs them.
    private(set) var models: DeviceModels?

    /// Returns the job with caches that begin with models.
    package func beginning(with models: DeviceModels?) -> ResolvedJob {
        var job = self
        job.models = models
        return job
    }

    /// Whether all caches use one model, so that requests must be served in order of time.
    var sharesModel: Bool { job.mode == .perUser && job.policies.contains(where: \.learns) && job.knowledge != .device }
}
