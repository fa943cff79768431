import Testing

@testable import HalcyonEviction

@Suite("What a timed cache notes", .timeLimit(.minutes(20)))
struct CacheTimesTests {
    /// First in, first out, with two habits: it turns entries from 100 on away when there is no room, after one other has
    /// left, and upon a hit of entry 0 it wants one resident gone.
    struct Peculiar: EvictionPolicy {
        var queue: [EntryID] = []
        var surplus = 0
        var hasMadeRoom = false

        var overflows: Bool { surplus > 0 }
        static let mayOverflow = true

        mutating func hit(_ access: Access) { surplus = access.entry == 0 ? 1 : 0 }

        mutating func victim(for access: Access) -> EntryID {
            if surplus == 0, access.entry >= 100, hasMadeRoom { return access.entry }
            hasMadeRoom = surplus == 0
            surplus = 0
            return queue.removeFirst()
        }

        mutating func insert(_ access: Access) {
            hasMadeRoom = false
            queue.append(access.entry)
        }

        mutating func remove(_ entry: EntryID) { queue.removeAll { $0 == entry } }
    }

    private func access(_ entry: EntryID, cost: Int = 1) -> Access { Access(entry: entry, size: cost) }

    @Test("each access once, as a hit or a miss, and each entry that leaves once")
    func counts() {
        let times = CacheTimes()
        let cache = PolicyCache(Peculiar(), context: PolicyContext(capacity: 3, usesUniformSizes: false), times: times)
        func serve(_ access: Access) -> AccessOutcome { times.access { cache.access(access) } }
        func noted() -> [Int] { [times.hits.count, times.misses.count, times.evictions.count] }
        for entry: EntryID in [1, 0, 2] { #expect(serve(access(entry)) == .miss) }
        #expect(noted() == [0, 3, 0])
        // A hit upon which one leaves.
        #expect(serve(access(0)) == .hit)
        #expect(noted() == [1, 3, 1])
        #expect(!cache.contains(1))
        // One leaves, then the newcomer, which takes all three places, is turned away: two choices, one eviction.
        #expect(serve(access(100, cost: 3)) == .refused)
        #expect(noted() == [1, 4, 2])
        #expect(!cache.contains(0))
        // Refused before any choice: larger than the cache.
        #expect(serve(access(3, cost: 4)) == .refused)
        #expect(noted() == [1, 5, 2])
        // Of another size than before: a miss, for which nobody has to leave.
        #expect(serve(access(2, cost: 2)) == .stale)
        #expect(noted() == [1, 6, 2])
        #expect(cache.state.evictions == 2)
        for list in [times.hits, times.misses, times.evictions] { #expect(list.allSatisfy { $0 >= .zero }) }
        times.removeAll()
        #expect(noted() == [0, 0, 0])
    }

    @Test("a timed cache that prefetches reconsiders and expires as it does without a clock")
    func prefetching() {
        func outcomes(_ times: CacheTimes?) -> [Bool] {
            var context = PolicyContext(capacity: 3, lifetime: 1_000_000)
            context.prefetches = true
            let cache = PolicyCache(LRU(NoParameters(), context: context), context: context, times: times)
            func access(_ entry: EntryID, _ index: Int, isPrefetch: Bool = false) -> Access {
                Access(
                    entry: entry, requestNumber: index, time: Int64(index) * 100_000, size: 1, isPrefetch: isPrefetch)
            }
            for entry: EntryID in [0, 1] { _ = cache.access(access(entry, Int(entry))) }
            _ = cache.access(access(2, 2, isPrefetch: true))
            // No longer likely, so that it leaves before the others.
            cache.reconsider(access(2, 3, isPrefetch: true), isLikely: false)
            _ = cache.access(access(3, 3))
            return [cache.contains(0), cache.contains(1), cache.contains(2), cache.entriesExpire]
                + [900_000, 1_100_000].map { cache.contains(0, freshAt: $0) }
        }
        #expect(outcomes(nil) == [true, true, false, true, true, false])
        #expect(outcomes(CacheTimes()) == outcomes(nil))
    }

    @Test("several caches may share the times, and a batch times its choices alone")
    func sharing() {
        let times = CacheTimes()
        let context = PolicyContext(capacity: 2)
        let caches = (0..<2).map { _ in
            PolicyCache(LRU(NoParameters(), context: context), context: context, times: times)
        }
        let entries: [EntryID] = [0, 1, 0, 2, 1]
        for cache in caches {
            let outcomes = entries.map { entry in times.access { cache.access(Access(entry: entry)) } }
            #expect(outcomes == [.miss, .miss, .hit, .miss, .miss])
        }
        #expect([times.hits.count, times.misses.count, times.evictions.count] == [2, 8, 4])
        times.removeAll()
        var outcomes = [AccessOutcome](repeating: .miss, count: entries.count)
        let cache = PolicyCache(LRU(NoParameters(), context: context), context: context, times: times)
        entries.withUnsafeBufferPointer { entries in
            outcomes.withUnsafeMutableBufferPointer { outcomes in
                guard let first = outcomes.baseAddress else { return }
                cache.replay(RequestBatch(firstRequest: 0, entries: entries), outcomes: first)
            }
        }
        #expect(outcomes == [.miss, .miss, .hit, .miss, .miss])
        #expect([times.hits.count, times.misses.count, times.evictions.count] == [0, 0, 2])
    }
}
