import Foundation
import Halcyon
import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("Unused prefetches are kept apart in both tiers", .timeLimit(.minutes(20)))
struct WaitingApartTests {
    private func options(isPrefetch: Bool) -> CacheOptions {
        var options = CacheOptions()
        options.isPrefetch = isPrefetch
        return options
    }

    @Test("An unused prefetch is protected for some requests, then it is the first victim")
    func unusedPrefetchIsProtectedThenFirstVictim() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 3)) { $0.sizeLimit = 3 * 4_096 }
        let cache = fixture.cache
        func store(_ key: String, isPrefetch: Bool = false) async {
            await cache.store(Blob(key, cost: 1), forKey: key, options: options(isPrefetch: isPrefetch))
        }
        func held(_ type: CacheType, _ keys: [String]) -> [String] {
            keys.filter {
                type == .memory
                    ? cache.memoryStorage.isCached(forKey: $0) : cache.diskStorage?.isCached(forKey: $0) == true
            }
        }
        await store("a")
        await store("ahead", isPrefetch: true)
        for key in ["b", "c", "d"] { await store(key) }
        for tier in [CacheType.memory, .disk] {
            #expect(held(tier, ["a", "ahead", "b", "c", "d"]) == ["ahead", "c", "d"])
        }
        // "ahead" was stored at the request after "a" and is protected for 15 requests.
        for number in 5..<17 { await store("\(number)") }
        #expect(held(.memory, ["ahead"]) == ["ahead"])
        await store("17")
        await store("18")
        for tier in [CacheType.memory, .disk] {
            #expect(held(tier, ["ahead", "16", "17", "18"]) == ["16", "17", "18"])
        }
    }

    @Test("A prefetch declared unlikely is evicted first from both tiers; a likely one is kept")
    func unlikelyPrefetchIsEvictedFirst() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 3)) { $0.sizeLimit = 3 * 4_096 }
        let cache = fixture.cache
        func held(_ type: CacheType) -> [String] {
            ["a", "early", "late", "b", "c"].filter {
                type == .memory
                    ? cache.memoryStorage.isCached(forKey: $0) : cache.diskStorage?.isCached(forKey: $0) == true
            }
        }
        await cache.store(Blob("a", cost: 1), forKey: "a")
        for key in ["early", "late"] {
            await cache.store(Blob(key, cost: 1), forKey: key, options: options(isPrefetch: true))
        }
        cache.reconsider("late", isLikely: false)
        cache.reconsider("early", isLikely: true)
        cache.reconsider("nowhere", isLikely: false)
        await cache.settleDisk()
        await cache.store(Blob("b", cost: 1), forKey: "b")
        for tier in [CacheType.memory, .disk] { #expect(held(tier) == ["a", "early", "b"]) }
        await cache.store(Blob("c", cost: 1), forKey: "c")
        for tier in [CacheType.memory, .disk] { #expect(held(tier) == ["early", "b", "c"]) }
    }

    @Test("A used prefetch is an ordinary entry from then on")
    func usedPrefetchIsOrdinaryEntry() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 2))
        let cache = fixture.cache
        await cache.store(Blob(cost: 1), forKey: "ahead", toDisk: false, options: options(isPrefetch: true))
        #expect(try await cache.image(forKey: "ahead").cacheType == .memory)
        for key in ["a", "b"] { await cache.store(Blob(cost: 1), forKey: key, toDisk: false) }
        #expect(!cache.memoryStorage.isCached(forKey: "ahead"))
        #expect(fixture.recorder.all.map(\.outcome) == [.prefetched, .network, .network])
    }

    @Test("A prefetch promoted from disk into memory is unused in both tiers")
    func promotedPrefetchIsUnusedInBothTiers() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 2)) { $0.sizeLimit = 2 * 4_096 }
        let cache = fixture.cache
        await cache.store(Blob("ahead", cost: 1), forKey: "ahead", options: options(isPrefetch: true))
        cache.clearMemoryCache()
        await cache.promote("ahead", serializer: nil, options: CacheOptions())
        #expect(cache.memoryStorage.isCached(forKey: "ahead"))
        for key in ["a", "b", "c"] { await cache.store(Blob(key, cost: 1), forKey: key) }
        #expect(cache.memoryStorage.isCached(forKey: "ahead"))
        #expect(cache.diskStorage?.isCached(forKey: "ahead") == true)
    }
}
