import CProcessor
import HalcyonEviction
import HalcyonEvictionTestSupport
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonLearning
@testable import HalcyonPrefetch
@testable import HalcyonSimulation

/// A small replay whose decisions are digested.
enum DecisionCase: String, CaseIterable, Sendable {
    /// One cache, uniform sizes.
    case shared
    /// One cache, variable sizes.
    case sized
    /// One cache, a network whose rows fill no register, as many candidates as there may be.
    case odd
    /// A cache for each user with one model.
    case perUser = "per-user"
    /// The planner in one cache under `lru`.
    case planner
    /// The planner in a cache for each user under `learned`.
    case plannerPerUser = "planner-per-user"
    /// LeCaR and CACHEUS, whose weights are made from exponentials.
    case lecar, cacheus

    private static let requests = 9_000

    /// The line of the table: the name, the hits, the digest of the decisions, the digest of the weights.
    ///
    /// - Parameters:
    ///   - level: the instruction set of the kernels; `nil` for the one in force.
    ///   - hostControl: the floating-point environment of the calling thread.
    func line(level: String?, hostControl: UInt64? = nil) throws -> String {
        let trace = try trace
        var parameters = LearnedParameters()
        parameters.kernelLevel = level
        var digests = Digests()
        let before = halcyon_float_enter()
        if let hostControl { halcyon_float_leave(hostControl) }
        switch self {
        case .odd:
            (parameters.hidden, parameters.candidates) = (21, 128)
            fallthrough
        case .shared, .sized, .perUser:
            serve(trace, parameters, &digests)
        case .planner, .plannerPerUser:
            try serve(trace, parameters, prefetching: &digests)
        case .lecar, .cacheus:
            let record = PolicyRecord()
            let cache = try PolicyCatalogue.standard.policy(rawValue)
                .makeCache(context(trace), decorator: PolicyChecker(record))
            for index in 0..<trace.count { _ = cache.access(access(index, of: trace)) }
            digests.add(record)
        }
        let after = halcyon_float_enter()
        halcyon_float_leave(before)
        // The lowest six bits are the exceptions that occurred.
        if let hostControl { #expect(after & ~0x3F == hostControl & ~0x3F, "the host's environment is not restored") }
        return "\(rawValue) \(digests.hits) \(digests.decisions.text) \(digests.weights.text)"
    }

    private struct Digests {
        var hits = 0
        var decisions = BitDigest()
        var weights = BitDigest()

        /// Adds all events of a policy.
        mutating func add(_ record: PolicyRecord) {
            for event in record.events {
                switch event {
                case .hit(let entry):
                    hits += 1
                    add(0, entry)
                case .refusal(let entry): add(1, entry)
                case .eviction(let entry): add(2, entry)
                case .insertion(let entry): add(3, entry)
                case .removal(let entry): add(4, entry)
                }
            }
        }

        mutating func add(_ kind: UInt32, _ entry: EntryID) {
            decisions.add(kind)
            decisions.add(UInt32(entry))
        }

        mutating func add(weights values: [Float]) { for value in values { weights.add(value) } }
    }

    private var trace: Trace {
        get throws {
            var model = self == .sized ? BrowsingModel.feed : .shop
            model.requests = Self.requests
            model.users = 40
            return try model.generate(seed: 3)
        }
    }

    private func context(_ trace: Trace, seed: UInt64 = 1) -> PolicyContext {
        let isSized = trace.sizeUnit == .bytes
        let capacity = isSized ? Int(trace.distinctSize / 50) : isPerUser ? 20 : 150
        return PolicyContext(capacity: capacity, usesUniformSizes: !isSized, seed: seed)
    }

    private var isPerUser: Bool { self == .perUser || self == .plannerPerUser }

    private func access(_ index: Int, of trace: Trace) -> Access {
        Access(
            entry: EntryID(trace.entries[index]), requestNumber: index, time: trace.times[index],
            size: Int(trace.size(ofRequest: index)), categories: trace.categorySet(ofRequest: index),
            user: trace.user(ofRequest: index))
    }

    /// Serves the trace by the learner.
    private func serve(_ trace: Trace, _ parameters: LearnedParameters, _ digests: inout Digests) {
        let model = LearnedModel(parameters, seed: context(trace).seed)
        let records = (0..<(isPerUser ? trace.userCount : 1)).map { _ in PolicyRecord() }
        let caches = records.enumerated().map { number, record in
            let context = context(trace, seed: 1 + UInt64(number))
            var policy = LearnedPolicy(parameters, context: context, model: model)
            policy.ownsModel = !isPerUser
            return PolicyChecker(record).makeCache(around: policy, context: context)
        }
        var isDefined: Set<CategorySetID> = []
        for index in 0..<trace.count {
            let access = access(index, of: trace)
            let cache = caches[isPerUser ? Int(access.user) : 0]
            if isDefined.insert(access.categories).inserted {
                cache.define(
                    categorySet: access.categories, members: Array(trace.categorySets[access.categories]))
            }
            _ = cache.access(access)
            if index % 1_000 == 999 { digests.add(weights: model.learner.pointee.trainer.network.weights) }
        }
        for record in records {
            digests.add(record)
            #expect(record.breaches.isEmpty)
        }
    }

    /// Serves the trace with the planner's fetches.
    private func serve(_ trace: Trace, _ parameters: LearnedParameters, prefetching digests: inout Digests) throws {
        var values = PlannerParameters()
        values.kernelLevel = parameters.kernelLevel
        let planner = PrefetchPlanner(
            values, context: PrefetchContext(seed: 1, objects: trace.objectCount, cachesPerUser: isPerUser))
        let model = LearnedModel(parameters, seed: context(trace).seed)
        let seen = ObjectInfo(trace)
        let budget = try PrefetchBudget(parsing: "2/request")
        let caches = (0..<(isPerUser ? trace.userCount : 1)).map { number in
            var context = context(trace, seed: 1 + UInt64(number))
            context.prefetches = true
            let run =
                isPerUser
                ? model.makeCache(parameters, context: context) : ConfiguredPolicy(LRU.self).makeCache(context)
            let cache = PrefetchingCache(
                TieredCache(memory: run, disk: nil), capacity: context.capacity, unit: CacheUnit(trace),
                policy: planner, budget: budget, latency: { _, _ in 0 }, objects: seen)
            return (run, cache)
        }
        var counts = PrefetchTally(unit: CacheUnit(trace))
        var isDefined: Set<CategorySetID> = []
        for index in 0..<trace.count {
            var access = access(index, of: trace)
            (access.object, access.entry) = (trace.entries[index], .none)
            let (run, cache) = caches[isPerUser ? Int(access.user) : 0]
            if isDefined.insert(access.categories).inserted {
                run.define(
                    categorySet: access.categories, members: Array(trace.categorySets[access.categories]))
                planner.define(categorySet: access.categories, members: Array(trace.categorySets[access.categories]))
            }
            let outcome = cache.serve(access, isCounted: true, counts: &counts)
            cache.report(access, isHit: outcome.isHit, isCounted: true, counts: &counts)
            seen.note(access)
            cache.prefetch(after: access, isCounted: true, counts: &counts)
            let plan = cache.driver.plan
            if outcome.isHit { digests.hits += 1 }
            digests.add(outcome.isHit ? 0 : 1, access.object)
            for proposal in plan.proposals { digests.add(5, proposal.object) }
            for verdict in plan.reconsiderations { digests.add(verdict.isLikely ? 6 : 7, verdict.object) }
            if index % 1_000 == 999 {
                digests.add(weights: planner.snapshot(producer: "")?.requests?.weights ?? [])
                if isPerUser { digests.add(weights: model.learner.pointee.trainer.network.weights) }
            }
        }
        digests.add(8, UInt32(counts.used))
    }
}
