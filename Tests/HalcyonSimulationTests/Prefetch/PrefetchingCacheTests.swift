import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

/// Fetches object 9 after object 0, and records removed objects.
private final class Script: PrefetchPolicy {
    private(set) var left: [String] = []
    let metadataBytes = 0

    func note(_ access: Access, isHit: Bool) {}
    func evicted(_ object: UInt32, from user: UInt32) { left.append("evicted \(object)") }
    func dropped(_ object: UInt32) { left.append("dropped \(object)") }

    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        if access.object == 0 && !outlook.holds(9) { plan.propose(9) }
    }
}

@Suite("Cache with a prefetch policy", .timeLimit(.minutes(20)))
struct PrefetchingCacheTests {
    /// The removals that a policy receives from a cache with room for two.
    private func left(_ requests: [UInt32], warmup: Int = 0) throws -> [String] {
        let trace = Trace(
            entries: requests, times: TimeColumn(count: requests.count), users: [],
            objectSizes: Array(repeating: 1, count: 64), userCount: 0, sizeUnit: .objects, names: TraceNames())
        var context = PolicyContext(capacity: 2, usesUniformSizes: true)
        context.prefetches = true
        let policy = Script()
        let cache = PrefetchingCache(
            TieredCache(memory: try PolicyCatalogue.standard.policy("lru").makeCache(context), disk: nil), capacity: 2,
            unit: CacheUnit(trace), policy: policy,
            budget: .unlimited, latency: { _, _ in 0 }, objects: ObjectInfo(trace))
        var counts = PrefetchTally(unit: CacheUnit(trace))
        for (position, object) in requests.enumerated() {
            let access = Access(entry: .none, user: 1, object: object)
            let isCounted = position >= warmup
            let outcome = cache.serve(access, isCounted: isCounted, counts: &counts)
            cache.report(access, isHit: outcome.isHit, isCounted: isCounted, counts: &counts)
            cache.prefetch(after: access, isCounted: isCounted, counts: &counts)
        }
        return policy.left
    }

    @Test("A policy is notified of unused prefetches as dropped and of other victims as evicted", arguments: [0, 1])
    func policyReceivesDroppedAndEvictedObjects(warmup: Int) throws {
        let others = Array(UInt32(10)..<50)
        let unused = try left([0] + others, warmup: warmup)
        #expect(unused.count { $0 == "dropped 9" } == 1 && !unused.contains("evicted 9"))
        #expect(unused.first == "evicted 0")
        let used = try left([0, 9] + others, warmup: warmup)
        #expect(used.count { $0 == "evicted 9" } == 1 && !used.contains("dropped 9"))
    }
}
