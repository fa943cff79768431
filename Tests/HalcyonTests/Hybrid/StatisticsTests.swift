import Foundation
import HalcyonAccessLog
import HalcyonTestSupport
import Testing

@testable import Halcyon

@Suite("Image cache: statistics, events and the recorder", .timeLimit(.minutes(10)))
struct StatisticsTests {
    @Test("row 35: costs, counts, hits by tier and category, departures by reason can be read at any time")
    func statistics() async throws {
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
        #expect(statistics.memory.departures == [.evicted: 2])
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

    @Test("row 35: events come as a stream, with what left and why")
    func events() async throws {
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
                .departure(.memory, Departure(key: "a", cost: 10, categories: ["x"], reason: .evicted)),
                .lookUp(key: "b", .memory, categories: []), .lookUp(key: "c", .none, categories: []),
            ])
    }

    @Test("The recorder hears of every access once, a miss when it is stored or given up")
    func recorder() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        let options = CacheOptions(categories: ["x"], user: "u", processorIdentifier: "p")
        _ = try await cache.image(forKey: "a", options: options)
        await cache.store(Blob(cost: 7), forKey: "a", options: options)
        _ = try await cache.image(forKey: "a", options: options)
        cache.clearMemoryCache()
        _ = try await cache.image(forKey: "a", options: options)
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

    @Test("An access log records what the cache was asked for")
    func accessLog() async throws {
        let folder = try TemporaryFolder()
        var configuration = AccessLog.Configuration()
        configuration.bounds = .none
        let log = AccessLog(path: folder.path + "/access.sqlite", configuration)
        let cache = ImageCache<Blob>(
            memory: .lasting(cost: 10), disk: .init(name: "logged", directory: URL(fileURLWithPath: folder.path)),
            serializer: BlobSerializer(), clock: ManualClock(), recorder: log)
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
