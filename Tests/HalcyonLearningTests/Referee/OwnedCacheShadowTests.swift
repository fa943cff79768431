import HalcyonEviction
import HalcyonSupport
import Testing

@testable import HalcyonLearning

/// A live cache under a policy, with accesses on which no policy is better than another: all objects are equally
/// likely.
private struct OwnedCache {
    let cache: AnyCache
    var victims: [EntryID] = []
    private var generator = SplitMix64(seed: 3)
    private var requests = 0

    init(_ policy: String = "learned", capacity: Int) throws {
        let context = PolicyContext(capacity: capacity, usesUniformSizes: false)
        cache = try PolicyCatalogue.standard.policy(policy).makeCache(context)
    }

    /// Requests random objects of sizes 1 to 9.
    mutating func request(_ count: Int, of objects: Int = 2_000) {
        for _ in 0..<count {
            let entry = EntryID(generator.next(below: objects))
            requests += 1
            let time = Int64(requests) * 1_000_000
            _ = cache.access(Access(entry: entry, requestNumber: requests, time: time, size: 1 + Int(entry) % 9))
        }
    }

    private var now: Access { Access(entry: .none, requestNumber: requests) }

    mutating func limit(count: Int) { cache.limit(capacity: 1 << 20, count: count, at: now, victims: &victims) }
    mutating func trim(to size: Int) { cache.trim(to: size, count: .max, at: now, victims: &victims) }

    /// The number of overrides by shadows.
    var follows: Double? { cache.metrics.first { $0.name == "shadow_follows" }?.value }
}

/// Evictions and refusals by the owner of a cache do not count for the shadows.
@Suite("Shadows in a cache whose owner evicts", .timeLimit(.minutes(20)))
struct OwnedCacheShadowTests {
    @Test("After the owner lowers the entry limit, no shadow is followed")
    func loweredCountLimitFollowsNoShadow() throws {
        var owned = try OwnedCache(capacity: 1 << 20)
        owned.limit(count: 1_000)
        owned.request(20_000)
        #expect(owned.cache.count == 1_000)
        owned.limit(count: 100)
        owned.request(20_000)
        #expect(owned.cache.count == 100 && owned.follows == 0)
    }

    @Test("While the owner repeatedly evicts half of the bytes, no shadow is followed")
    func repeatedTrimmingFollowsNoShadow() throws {
        var owned = try OwnedCache(capacity: 8_000)
        var evicted = 0
        for _ in 0..<40 {
            // All of them fit, so that LRU would miss only objects that the owner evicts.
            owned.request(4_000, of: 1_000)
            let count = owned.cache.count
            owned.trim(to: owned.cache.used / 2)
            evicted += count - owned.cache.count
        }
        #expect(evicted > 5_000 && owned.follows == 0)
    }

    @Test(
        "While an admission filter refuses objects, no shadow is followed",
        arguments: ["admit=size,admit-below=5", "admit=bloom"])
    func refusalsByAFilterFollowNoShadow(filter: String) throws {
        var owned = try OwnedCache("learned(\(filter))", capacity: 4_000)
        owned.request(40_000)
        #expect(owned.cache.count > 100 && owned.follows == 0)
    }
}
