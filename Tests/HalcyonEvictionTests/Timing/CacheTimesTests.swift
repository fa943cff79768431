import Testing

@testable import HalcyonEviction

@Suite("Times of accesses and evictions", .timeLimit(.minutes(20)))
struct CacheTimesTests {
    /// FIFO with two peculiarities: without room it refuses entries from 100 on after one eviction, and a hit of entry
    /// 0 evicts one resident.
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

    @Test("Each access is timed once, as a hit or a miss, and each eviction once")
    func accessesAndEvictionsAreTimedOnce() {
        let times = CacheTimes()
        let cache = AnyCache(Peculiar(), context: PolicyContext(capacity: 3, usesUniformSizes: false), times: times)
        func serve(_ access: Access) -> AccessOutcome { times.access { cache.access(access) } }
        func noted() -> [Int] { [times.hits.count, times.misses.count, times.evictions.count] }
        for entry: EntryID in [1, 0, 2] { #expect(serve(access(entry)) == .miss) }
        #expect(noted() == [0, 3, 0])
        // A hit that evicts an entry.
        #expect(serve(access(0)) == .hit)
        #expect(noted() == [1, 3, 1])
        #expect(!cache.contains(1))
        // One entry is evicted, then the new object, which needs all three places, is refused: two choices, one
        // eviction.
        #expect(serve(access(100, cost: 3)) == .refused)
        #expect(noted() == [1, 4, 2])
        #expect(!cache.contains(0))
        // Refused before any choice: larger than the cache.
        #expect(serve(access(3, cost: 4)) == .refused)
        #expect(noted() == [1, 5, 2])
        // Another size than before: a miss without an eviction.
        #expect(serve(access(2, cost: 2)) == .stale)
        #expect(noted() == [1, 6, 2])
        #expect(cache.state.evictions == 2)
        for list in [times.hits, times.misses, times.evictions] { #expect(list.allSatisfy { $0 >= .zero }) }
        times.removeAll()
        #expect(noted() == [0, 0, 0])
    }

    @Test("A timed cache that prefetches decides as it does without timing")
    func timingDoesNotChangeAPrefetchingCache() {
        func outcomes(_ times: CacheTimes?) -> [Bool] {
            var context = PolicyContext(capacity: 3, lifetime: 1_000_000)
            context.prefetches = true
            let cache = AnyCache(LRU(NoParameters(), context: context), context: context, times: times)
            func access(_ entry: EntryID, _ index: Int, isPrefetch: Bool = false) -> Access {
                Access(
                    entry: entry, requestNumber: index, time: Int64(index) * 100_000, size: 1, isPrefetch: isPrefetch)
            }
            for entry: EntryID in [0, 1] { _ = cache.access(access(entry, Int(entry))) }
            _ = cache.access(access(2, 2, isPrefetch: true))
            // No longer likely, so that it is evicted first.
            cache.reconsider(access(2, 3, isPrefetch: true), isLikely: false)
            _ = cache.access(access(3, 3))
            return [cache.contains(0), cache.contains(1), cache.contains(2), cache.entriesExpire]
                + [900_000, 1_100_000].map { cache.contains(0, freshAt: $0) }
        }
        #expect(outcomes(nil) == [true, true, false, true, true, false])
        #expect(outcomes(CacheTimes()) == outcomes(nil))
    }

    @Test("Caches can share their times, and a batch times evictions only")
    func cachesShareTimesAndABatchTimesEvictionsOnly() {
        let times = CacheTimes()
        let context = PolicyContext(capacity: 2)
        let caches = (0..<2).map { _ in
            AnyCache(LRU(NoParameters(), context: context), context: context, times: times)
        }
        let entries: [EntryID] = [0, 1, 0, 2, 1]
        for cache in caches {
            let outcomes = entries.map { entry in times.access { cache.access(Access(entry: entry)) } }
            #expect(outcomes == [.miss, .miss, .hit, .miss, .miss])
        }
        #expect([times.hits.count, times.misses.count, times.evictions.count] == [2, 8, 4])
        times.removeAll()
        var outcomes = [AccessOutcome](repeating: .miss, count: entries.count)
        let cache = AnyCache(LRU(NoParameters(), context: context), context: context, times: times)
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
