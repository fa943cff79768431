import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonCache

@Suite("Image cache: statistics, events and the recorder", .timeLimit(.minutes(20)))
struct StatisticsTests {
    @Test("Statistics give sizes, counts, hits by tier and category, and removals by reason")
    func statisticsCountTiersCategoriesAndRemovals() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 20))
        let cache = fixture.cache
        for number in 0..<3 {
            await cache.store(
                Blob(cost: 10), forKey: "k\(number)", options: CacheOptions(categories: ["c\(number % 2)", "all"]))
        }
        _ = try await cache.image(forKey: "k2", options: CacheOptions(categories: ["c0", "all"]))
        _ = try await cache.image(forKey: "k0", options: CacheOptions(categories: ["c0", "all"]))
        _ = try await cache.image(forKey: "no", options: CacheOptions(categories: ["c1"]))
        let statistics = cache.statistics
        #expect(statistics.lookUps == TierCounts(memory: 1, disk: 1, none: 1))
        #expect(
            statistics.lookUpsByCategory == [
                "c0": TierCounts(memory: 1, disk: 1), "all": TierCounts(memory: 1, disk: 1), "c1": TierCounts(none: 1),
            ])
        #expect(statistics.memory.cost == 20 && statistics.memory.count == 2)
        #expect(statistics.memory.removals == [.evicted: 2])
        #expect(statistics.memory.lookUps == HitCounts(hits: 1, misses: 2))
        #expect(statistics.memory.stores == 4)
        #expect(
            statistics.memory.useByCategory == [
                "c0": CategoryUse(count: 2, cost: 20), "all": CategoryUse(count: 2, cost: 20),
            ])
        #expect(statistics.disk.count == 3)
        #expect(statistics.disk.lookUpsByCategory["c0"] == HitCounts(hits: 1, misses: 0))
        #expect(await cache.diskStorageSize() == statistics.disk.cost)
        #expect(statistics.disk.cost == 3 * 4_096)
    }

    @Test("Look-ups are counted for 16,384 categories; further ones count only in the total")
    func countedCategoriesAreBounded() async throws {
        let hub = CacheEventHub()
        for number in 0..<CacheEventHub.mostCategories + 3 { hub.lookedUp("k", .none, ["c\(number)"]) }
        hub.lookedUp("k", .disk, ["c0", "c0", "c16385"])
        let statistics = hub.statistics
        #expect(CacheEventHub.mostCategories == 16_384 && statistics.lookUpsByCategory.count == 16_384)
        #expect(statistics.lookUps == TierCounts(disk: 1, none: 16_387))
        #expect(statistics.lookUpsByCategory["c0"] == TierCounts(disk: 1, none: 1))
        #expect(statistics.lookUpsByCategory["c16383"] == TierCounts(none: 1))
        #expect(statistics.lookUpsByCategory["c16384"] == nil)
    }

    @Test("Hits of eight tasks are counted once each, by the categories the caller states", arguments: [false, true])
    func concurrentHitsAreCountedOnce(inLanes: Bool) async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 1_000))
        let cache = fixture.cache
        if inLanes { cache.core.takeAllLanes() }
        for number in 0..<50 {
            await cache.store(
                Blob(), forKey: "k\(number)", toDisk: false, options: CacheOptions(categories: ["stored"]))
        }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for step in 0..<400 {
                        var options = CacheOptions(categories: [], user: "u\(task)")
                        // Of four hits one names a category, and one two in both orders.
                        if step % 4 == 1 { options.context.categories = ["stored"] }
                        if step % 4 == 2 { options.context.categories = step % 8 == 2 ? ["a", "b"] : ["b", "a"] }
                        #expect(cache.imageInMemory(forKey: "k\(step % 50)", options: options) != nil)
                    }
                }
            }
        }
        // A look-up in the storage itself is not counted by the cache.
        #expect(cache.memoryStorage.value(forKey: "k0", context: AccessContext(categories: ["a"])) != nil)
        let statistics = cache.statistics
        #expect(statistics.lookUps == TierCounts(memory: 3_200))
        #expect(
            statistics.lookUpsByCategory == [
                "stored": TierCounts(memory: 800), "a": TierCounts(memory: 800), "b": TierCounts(memory: 800),
            ])
        #expect(statistics.memory.lookUps == HitCounts(hits: 3_201, misses: 0))
        #expect(fixture.recorder.all.filter { $0.outcome == .memory }.count == 3_200)
    }

    @Test("Both tiers use the same number for a request, also if only one serves it")
    func bothTiersUseOneRequestNumber() async throws {
        let folder = try TemporaryFolder()
        let cache = ImageCache<Blob>(
            memory: .lasting(cost: 10), disk: .init(name: "numbers", directory: URL(fileURLWithPath: folder.path)),
            memoryPolicy: ConfiguredPolicy(RecordingPolicy.self), diskPolicy: ConfiguredPolicy(RecordingPolicy.self),
            seed: 5_001, serializer: BlobSerializer(), clock: ManualClock(), triggers: [])
        await cache.store(Blob(), forKey: "a")
        _ = try await cache.image(forKey: "a")
        _ = cache.imageInMemory(forKey: "a")
        cache.clearMemoryCache()
        _ = try await cache.image(forKey: "a")
        await cache.store(Blob(cost: 11), forKey: "too large for memory")
        var past = CacheOptions()
        past.memoryCacheExpiration = .expired
        await cache.store(Blob(), forKey: "expired in memory", options: past)
        await cache.store(Blob(), forKey: "b")
        let numbers = RecordingPolicy.calls(seed: 5_001).compactMap { call -> Int? in
            switch call {
            case .hit(let access), .insert(let access): access.requestNumber
            case .remove, .victim: nil
            }
        }
        // The store, two hits in memory, the hit on disk and its promotion, two stores on disk alone, and one in
        // both.
        #expect(numbers == [0, 0, 1, 2, 3, 3, 4, 5, 6, 6])
    }

    @Test("The first look-up after a prefetch to disk is recorded as prefetched, and no other")
    func firstUseOfDiskPrefetchIsRecordedOnce() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        await cache.store(Blob(cost: 3), forKey: "a")
        var ahead = CacheOptions()
        ahead.isPrefetch = true
        await withCheckedContinuation { continuation in
            cache.store(Blob(cost: 3), original: nil, forKey: "a", toMemory: false, toDisk: true, options: ahead) { _ in
                continuation.resume()
            }
        }
        for _ in 0..<2 { #expect(cache.imageInMemory(forKey: "a") != nil) }
        cache.clearMemoryCache()
        for _ in 0..<2 { _ = try await cache.image(forKey: "a") }
        #expect(fixture.recorder.all.map(\.outcome) == [.network, .prefetched, .memory, .disk, .memory])
    }

    @Test("Events arrive as a stream, with removals and their reasons")
    func eventsStreamRemovalsWithReasons() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 10))
        let events = fixture.cache.events()
        await fixture.cache.store(Blob(cost: 10), forKey: "a", options: CacheOptions(categories: ["x"]))
        await fixture.cache.store(Blob(cost: 10), forKey: "b", toDisk: false)
        _ = try await fixture.cache.image(forKey: "b")
        _ = try await fixture.cache.image(forKey: "c")
        var heard: [CacheEvent] = []
        for await event in events {
            heard.append(event)
            if heard.count == 5 { break }
        }
        #expect(
            heard == [
                .store(key: "a", categories: ["x"]), .store(key: "b", categories: []),
                .removal(.memory, Removal(key: "a", cost: 10, categories: ["x"], reason: .evicted)),
                .lookUp(key: "b", .memory, categories: []), .lookUp(key: "c", .none, categories: []),
            ])
    }

    @Test("The recorder gets every access once; a miss when it is stored or given up")
    func recorderGetsEveryAccessOnce() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        let options = CacheOptions(categories: ["x"], user: "u")
        let variant = EntryKey("a", processorIdentifier: "p")
        _ = try await cache.image(forKey: variant, options: options)
        await cache.store(Blob(cost: 7), forKey: variant, options: options)
        _ = try await cache.image(forKey: variant, options: options)
        cache.clearMemoryCache()
        _ = try await cache.image(forKey: variant, options: options)
        _ = try await cache.image(forKey: "b")
        cache.recordMiss(forKey: "b")
        var ahead = CacheOptions()
        ahead.isPrefetch = true
        await cache.store(Blob(cost: 3), forKey: "c", options: ahead)
        for _ in 0..<2 { _ = try await cache.image(forKey: "c") }
        func access(_ key: String, _ cost: Int, _ outcome: RecordedAccess.Outcome, isKnown: Bool = false)
            -> RecordedAccess
        {
            RecordedAccess(
                time: fixture.clock.now, key: key, cost: cost, categories: isKnown ? ["x"] : [],
                user: isKnown ? "u" : nil, outcome: outcome)
        }
        #expect(
            fixture.recorder.all == [
                access("a@p", 7, .network, isKnown: true), access("a@p", 7, .memory, isKnown: true),
                access("a@p", 7, .disk, isKnown: true), access("b", 0, .miss), access("c", 3, .prefetched),
                access("c", 3, .memory),
            ])
    }

    @Test("An access log records the cache's requests")
    func accessLogRecordsRequests() async throws {
        let folder = try TemporaryFolder()
        var configuration = AccessLog.Configuration()
        configuration.bounds = .none
        let log = AccessLog(path: folder.path + "/access.sqlite", configuration)
        let cache = ImageCache<Blob>(
            memory: .lasting(cost: 10), disk: .init(name: "logged", directory: URL(fileURLWithPath: folder.path)),
            serializer: BlobSerializer(), clock: ManualClock(), recorder: log, triggers: [])
        let options = CacheOptions(categories: ["x", "y"], user: "u")
        await cache.store(Blob(cost: 7), forKey: "a", options: options)
        _ = try await cache.image(forKey: "a", options: options)
        cache.recordMiss(forKey: "b")
        try await log.flush()
        let written = try await log.export(to: folder.path + "/out.csv")
        #expect(written == 3)
        let lines = try String(contentsOfFile: folder.path + "/out.csv", encoding: .utf8).split(separator: "\n")
        try #require(lines.count == 4)
        #expect(lines[1].contains("x|y") && lines[1].contains("7") && lines[1].hasSuffix("u"))
        try await log.close()
    }
}
