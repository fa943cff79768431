import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTrace

/// Many policies × many capacities over one trace, loaded once, on all cores.
///
/// ```swift
/// let trace = try Trace.load("shop.csv")
/// let sweep = try Sweep(
///     trace: trace, policies: ["lru", "s3-fifo(small=0.2)"], capacities: ["1%", "10%"])
/// for run in await sweep.run() { print(run.label, run.capacity, run.objectHitRatio) }
/// ```
///
/// Results do not depend on the number of threads.
public struct Sweep: Sendable {
    /// What is replayed.
    public let trace: Trace
    /// The policies, in the order in which results come.
    public let policies: [ConfiguredPolicy]
    /// The capacities, in the order in which results come within a policy.
    public let capacities: [CapacityRequest]
    /// Warm-up, seed, tables.
    public var options: ReplayOptions
    /// One cache for all, or one a user.
    public let mode: ReplayMode
    /// What the caches of a fleet learn together, where their policy learns.
    public var models: FleetModels
    /// Two tiers in place of one cache. Capacities are then ignored.
    public let tiers: TierOptions?

    private let distinct: Int
    private let plan: FleetPlan?

    /// A sweep.
    ///
    /// - Parameters:
    ///   - trace: what is replayed; in ``HalcyonSimulation/ReplayMode/perUser`` every request must have a user, see
    ///     ``HalcyonTrace/Trace/selection(skip:limit:withUserOnly:)``.
    ///   - policies: at least one.
    ///   - capacities: at least one, unless there are tiers.
    /// - Throws: ``HalcyonSimulation/ReplayError`` if the trace is empty, has no users where each is to have a cache, a capacity is in
    ///   bytes where objects are counted (or a budget to prefetch), an offline policy is asked to serve two tiers, or two tiers are to be timed.
    public init(
        trace: Trace, policies: [ConfiguredPolicy], capacities: [CapacityRequest],
        options: ReplayOptions = ReplayOptions(), mode: ReplayMode = .shared, models: FleetModels = .shared,
        tiers: TierOptions? = nil
    ) throws(ReplayError) {
        guard trace.count > 0 else { throw ReplayError.data("There is no request to replay.") }
        if mode == .perUser {
            guard trace.hasUsers, !trace.users.contains(Trace.noUser) else {
                throw ReplayError.data("A cache for each user needs a user in every request.")
            }
        }
        distinct = Int(clamping: trace.distinctSize)
        if let prefetch = options.prefetch {
            try prefetch.verify(unit: trace.sizeUnit)
            if let offline = policies.first(where: { $0.info.traits.contains(.needsFuture) }) {
                throw ReplayError.usage(
                    "\(offline.info.name) knows which requests come, not what is fetched ahead of them: leave it out.")
            }
            if tiers != nil { throw ReplayError.usage("Prefetching is replayed in one cache, not in two tiers.") }
            if options.timings { throw ReplayError.usage("Accesses are timed without prefetching.") }
        }
        if let tiers {
            if let offline = policies.first(where: { $0.info.traits.contains(.needsFuture) }) {
                throw ReplayError.usage(
                    "\(offline.info.name) knows the future of one cache, and cannot serve two tiers.")
            }
            if options.timings { throw ReplayError.usage("Accesses are timed in one cache, not in two tiers.") }
            _ = try tiers.memory.resolved(unit: trace.sizeUnit, distinct: distinct)
            _ = try tiers.disk.resolved(unit: trace.sizeUnit, distinct: distinct)
            self.capacities = [tiers.disk]
        } else {
            for capacity in capacities { _ = try capacity.resolved(unit: trace.sizeUnit, distinct: distinct) }
            self.capacities = capacities
        }
        self.trace = trace
        self.policies = policies
        self.options = options
        self.mode = mode
        self.models = models
        self.tiers = tiers
        plan = mode == .perUser ? FleetPlan(trace) : nil
    }

    /// A sweep over policies and capacities as one writes them.
    ///
    /// - Throws: ``HalcyonEviction/PolicyError`` or ``HalcyonSimulation/ReplayError``.
    public init(
        trace: Trace, policies: [String], capacities: [String], catalogue: PolicyCatalogue = .standard,
        options: ReplayOptions = ReplayOptions()
    ) throws {
        try self.init(
            trace: trace, policies: policies.map { try catalogue.policy($0) },
            capacities: capacities.map { try CapacityRequest(parsing: $0) }, options: options)
    }

    /// The number of runs.
    public var runCount: Int { policies.count * capacities.count }

    /// A progress to hand to ``run(workers:progress:)`` and look at meanwhile.
    public func makeProgress() -> ReplayProgress { ReplayProgress(total: runCount * trace.count) }

    /// Runs everything and returns the results, policies in their order, capacities within.
    ///
    /// - Parameters:
    ///   - workers: how many runs go on at once; by default one a core.
    ///   - progress: told of the requests served.
    public func run(workers: Int? = nil, progress: ReplayProgress? = nil) async -> [RunResult] {
        let future =
            mode == .shared && policies.contains { $0.info.traits.contains(.needsFuture) }
            ? FutureKnowledge(entries: trace.entries, entryCount: trace.objectCount) : nil
        let jobs = policies.flatMap { policy in capacities.map { (policy, $0) } }
        var results = [RunResult?](repeating: nil, count: jobs.count)
        await withTaskGroup(of: (Int, RunResult).self) { group in
            var next = 0
            func start() {
                guard next < jobs.count else { return }
                let (number, job) = (next, jobs[next])
                next += 1
                group.addTask { (number, result(of: job.0, at: job.1, future: future, progress: progress)) }
            }
            for _ in 0..<max(1, workers ?? coreCount) { start() }
            for await (number, result) in group {
                results[number] = result
                start()
            }
        }
        return results.compactMap { $0 }
    }

    /// Runs one policy at one capacity on this thread.
    public func result(of policy: ConfiguredPolicy, at capacity: CapacityRequest) -> RunResult {
        let future =
            mode == .shared && policy.info.traits.contains(.needsFuture)
            ? FutureKnowledge(entries: trace.entries, entryCount: trace.objectCount) : nil
        return result(of: policy, at: capacity, future: future, progress: nil)
    }

    private func result(
        of policy: ConfiguredPolicy, at request: CapacityRequest, future: FutureKnowledge?,
        progress: ReplayProgress?
    ) -> RunResult {
        let capacity = resolved(request)
        let tierCapacities = tiers.map { (resolved($0.memory), resolved($0.disk)) }
        func tiered(_ maker: () -> CacheMaker) -> CacheMaker {
            guard let tiers, let (memory, disk) = tierCapacities else { return maker() }
            return CacheMaker(
                memory: maker(), disk: maker(), tiers: tiers, memoryCapacity: memory, diskCapacity: disk,
                unit: CacheUnit(trace))
        }
        if let prefetch = options.prefetch {
            return prefetched(prefetch, policy, request, progress: progress)
        }
        let measured: Measured
        let timer = options.timings ? RunTimer() : nil
        if let plan {
            let replay = FleetReplay(trace: trace, plan: plan, options: options, progress: progress)
            let fleet = CacheUnit(trace).context(capacity: capacity, seed: options.seed)
            let maker = tiered {
                CacheMaker(sharingModelOf: policy, as: models, fleet: fleet, timer: timer)
                    ?? CacheMaker(policy, timer: timer)
            }
            measured =
                maker.sharesModel
                ? replay.run(inOrderOfTime: maker, capacity: capacity) : replay.run(maker, capacity: capacity)
        } else {
            measured = SharedReplay(trace: trace, options: options, progress: progress)
                .run(tiered { CacheMaker(policy, timer: timer) }, capacity: capacity, future: future)
        }
        var result = RunResult(policy, trace: trace, mode: mode, options: options, measured)
        result.capacity = capacity
        result.capacityAsked = request.description
        result.models = plan != nil && policy.learns ? models : nil
        result.tiers = tierCapacities.flatMap { measured.counts.latency?.result(memoryCapacity: $0, diskCapacity: $1) }
        result.timings = timer?.timings
        return result
    }

    private func prefetched(
        _ prefetch: PrefetchOptions, _ policy: ConfiguredPolicy, _ request: CapacityRequest, progress: ReplayProgress?
    ) -> RunResult {
        let capacity = resolved(request)
        let fleet = CacheUnit(trace).context(capacity: capacity, seed: options.seed)
        let replay = PrefetchReplay(
            trace: trace, options: options, prefetch: prefetch, mode: mode, progress: progress)
        let (measured, came, _) = replay.run(
            {
                let shared = mode == .perUser ? CacheMaker(sharingModelOf: policy, as: models, fleet: fleet) : nil
                return shared ?? CacheMaker(policy)
            }, capacity: capacity)
        var result = RunResult(policy, trace: trace, mode: mode, options: options, measured)
        result.capacity = capacity
        result.capacityAsked = request.description
        result.models = plan != nil && policy.learns ? models : nil
        result.prefetch = came
        return result
    }

    private func resolved(_ request: CapacityRequest) -> Int {
        // The initialiser has resolved every capacity once, so none fails here.
        (try? request.resolved(unit: trace.sizeUnit, distinct: distinct)) ?? 0
    }
}
