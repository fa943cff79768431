import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache

@Suite("Marks of prefetches that were not requested since", .timeLimit(.minutes(20)))
struct PrefetchMarksTests {
    /// What can happen to one key.
    enum Event: CaseIterable {
        case markMemory, markDisk, markBoth, use, take
        case refusedByMemory, refusedByDisk, evictedFromMemory, evictedFromDisk, removedFromMemory, removedFromDisk
    }

    @Test("Marks count as the plain model does after every sequence of four events")
    func marksAgreeWithModel() {
        var differences = 0
        func compare(_ events: [Event]) {
            let marks = PrefetchMarks()
            var (tiers, counts) = (Set<CacheType>(), PrefetchCounts())
            func add(_ new: Set<CacheType>) {
                marks.mark("k", inMemory: new.contains(.memory), fileName: new.contains(.disk) ? "file" : nil)
                if tiers.isEmpty { counts.prefetched += 1 }
                tiers.formUnion(new)
            }
            func leave(_ tier: CacheType, isWaste: Bool) {
                if tiers.remove(tier) != nil, tiers.isEmpty, isWaste { counts.wasted += 1 }
            }
            func remove(_ tier: CacheType, _ reason: RemovalReason) {
                let name = tier == .memory ? "k" : "file"
                marks.removed(tier, [Removal(key: name, cost: 1, categories: [], reason: reason)])
                leave(tier, isWaste: reason != .removed)
            }
            for event in events {
                switch event {
                case .markMemory: add([.memory])
                case .markDisk: add([.disk])
                case .markBoth: add([.memory, .disk])
                case .use:
                    if marks.use("k") == tiers.isEmpty { differences += 1 }
                    if !tiers.isEmpty { counts.used += 1 }
                    tiers = []
                case .take:
                    marks.take("k")
                    tiers = []
                case .refusedByMemory:
                    marks.refused("k", by: .memory)
                    leave(.memory, isWaste: true)
                case .refusedByDisk:
                    marks.refused("k", by: .disk)
                    leave(.disk, isWaste: true)
                case .evictedFromMemory: remove(.memory, .evicted)
                case .evictedFromDisk: remove(.disk, .evicted)
                case .removedFromMemory: remove(.memory, .removed)
                case .removedFromDisk: remove(.disk, .removed)
                }
            }
            if marks.counts != counts || marks.hasAny == tiers.isEmpty { differences += 1 }
        }
        for first in Event.allCases {
            for second in Event.allCases {
                for third in Event.allCases {
                    for fourth in Event.allCases { compare([first, second, third, fourth]) }
                }
            }
        }
        #expect(differences == 0)
    }

    @Test("Beyond 65,536 marks, a new one replaces another")
    func marksAreBounded() {
        let marks = PrefetchMarks()
        for number in 0...PrefetchMarks.bound { marks.mark("k\(number)", inMemory: true, fileName: "f\(number)") }
        let used = (0...PrefetchMarks.bound).count { marks.use("k\($0)") }
        #expect(used == 65_536 && !marks.hasAny)
        #expect(marks.counts == PrefetchCounts(prefetched: 65_537, used: 65_536))
    }

    private func prefetch(
        _ cache: ImageCache<Blob>, _ key: String, cost: Int = 1, toMemory: Bool = true, toDisk: Bool = true
    ) async {
        var options = CacheOptions()
        options.isPrefetch = true
        await store(cache, key, cost: cost, toMemory: toMemory, toDisk: toDisk, options)
    }

    private func store(
        _ cache: ImageCache<Blob>, _ key: String, cost: Int = 1, toMemory: Bool, toDisk: Bool = true,
        _ options: CacheOptions = CacheOptions()
    ) async {
        await withCheckedContinuation { continuation in
            cache.store(
                Blob(cost: cost), original: nil, forKey: EntryKey(key), toMemory: toMemory, toDisk: toDisk,
                options: options
            ) { _ in continuation.resume() }
        }
    }

    @Test("A prefetch that one tier refuses waits in the other; one that both refuse is wasted")
    func refusedPrefetchWaitsInOtherTier() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 10)) { $0.sizeLimit = 4_096 }
        let cache = fixture.cache
        await prefetch(cache, "large", cost: 11)
        #expect(cache.statistics.prefetches == PrefetchCounts(prefetched: 1))
        _ = try await cache.image(forKey: "large")
        #expect(cache.statistics.prefetches == PrefetchCounts(prefetched: 1, used: 1))
        await prefetch(cache, "huge", cost: 5_000)
        #expect(cache.statistics.prefetches == PrefetchCounts(prefetched: 2, used: 1, wasted: 1))
        #expect(fixture.recorder.all.map(\.outcome) == [.prefetched])
    }

    @Test("A prefetch to disk of a value that memory has is used by the next hit in memory")
    func diskPrefetchIsUsedByHitInMemory() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        await store(cache, "a", toMemory: true, toDisk: false)
        await prefetch(cache, "a", toMemory: false)
        #expect(cache.statistics.prefetches == PrefetchCounts(prefetched: 1))
        for _ in 0..<2 { #expect(cache.imageInMemory(forKey: "a") != nil) }
        await cache.clear()
        #expect(cache.statistics.prefetches == PrefetchCounts(prefetched: 1, used: 1))
        #expect(fixture.recorder.all.map(\.outcome) == [.network, .prefetched, .memory])
    }

    @Test("A promoted value is prefetched in both tiers, and used once", arguments: [false, true])
    func promotedValueIsUsedOnce(inLanes: Bool) async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        if inLanes { cache.core.takeAllLanes() }
        for key in ["a", "b", "c"] { await cache.store(Blob(cost: 1), forKey: key) }
        cache.clearMemoryCache()
        for key in ["a", "b", "c"] { await cache.promote(EntryKey(key), serializer: nil, options: CacheOptions()) }
        #expect(cache.statistics.prefetches == PrefetchCounts(prefetched: 3))
        for _ in 0..<2 { #expect(cache.imageInMemory(forKey: "a") != nil) }
        // "b" waits on disk, where a hit uses it. "c" leaves both tiers.
        cache.clearMemoryCache()
        #expect(cache.statistics.prefetches == PrefetchCounts(prefetched: 3, used: 1))
        for key in ["a", "b"] { _ = try await cache.image(forKey: key) }
        await cache.clear()
        #expect(cache.statistics.prefetches == PrefetchCounts(prefetched: 3, used: 2, wasted: 1))
        #expect(
            fixture.recorder.all.dropFirst(3).map(\.outcome) == [.prefetched, .memory, .disk, .prefetched])
    }

    @Test("A request whose load joined that of a prefetch takes the mark, and neither uses nor wastes it")
    func joinedRequestTakesMark() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        await prefetch(cache, "a", toDisk: false)
        await store(cache, "a", toMemory: false)
        #expect(cache.imageInMemory(forKey: "a") != nil)
        await cache.clear()
        #expect(cache.statistics.prefetches == PrefetchCounts(prefetched: 1))
        #expect(fixture.recorder.all.map(\.outcome) == [.network, .memory])
    }
}
