import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonObservability

/// A manager over a cache in a temporary folder, with images from data.
struct Fixture {
    let folder: TemporaryFolder
    let cache: ImageCache<Bitmap>
    let manager: HalcyonManager

    init(memoryEntries: Int = 10) throws {
        folder = try TemporaryFolder()
        var disk = DiskStorageConfig(name: "observed", directory: URL(fileURLWithPath: folder.path))
        disk.cleanInterval = .zero
        cache = ImageCache(
            memory: .init(totalCostLimit: memoryEntries * 8 * 8 * 4, cleanInterval: .zero), disk: disk,
            serializer: BitmapSerializer(), triggers: [])
        var options = ImageOptions()
        options.waitForCache = true
        // A downloader of its own: the default one counts the transfers of tests that run at the same time.
        manager = HalcyonManager(cache: cache, downloader: ImageDownloader(name: "fixture"), defaultOptions: options)
    }

    static func resource(_ key: String, _ categories: String...) throws -> Resource {
        let bitmap = try #require(Bitmap(width: 8, height: 8, color: PixelColor(red: 9, green: 200, blue: 40)))
        return Resource(
            .data(try ImageEncoder.png().encode(bitmap), cacheKey: key), categories: categories, user: "secret-user")
    }
}

@Suite("Metrics of a cache and a manager", .timeLimit(.minutes(20)))
struct CacheMetricsTests {
    @Test("A scripted run has exact values, and a second collection adds nothing")
    func scriptedRunHasExactValues() async throws {
        let fixture = try Fixture(memoryEntries: 2)
        let factory = RecordingFactory()
        let clock = Atomic<Int64>(0)
        let metrics = CacheMetrics(fixture.manager, name: "test", categoryLimit: 20, factory: factory) {
            clock.wrappingAdd(1_000, ordering: .relaxed).newValue
        }
        let (a, b, c) = (
            try Fixture.resource("a", "x"), try Fixture.resource("b", "y"), try Fixture.resource("c", "x", "y")
        )
        for resource in [a, a, b, c, a] { _ = try await fixture.manager.image(for: resource) }
        _ = await ImagePrefetcher(resources: [try Fixture.resource("d")], manager: fixture.manager, toMemory: true)
            .run()
        _ = try await fixture.manager.image(for: try Fixture.resource("d"))
        let broken = Resource(.data(Data("no image".utf8), cacheKey: "e"))
        await #expect(throws: ImageError.self) { try await fixture.manager.image(for: broken) }
        metrics.collect()
        // Decodes are counted for the process, in which other tests decode.
        func ownValues() -> [String: Int64] { factory.values.filter { !$0.key.hasPrefix("halcyon_decodes") } }
        let values = ownValues()
        #expect(
            values.filter { $0.key.hasPrefix("halcyon_cache_lookups") } == [
                "halcyon_cache_lookups_total{result=memory}": 2, "halcyon_cache_lookups_total{result=disk}": 1,
                "halcyon_cache_lookups_total{result=miss}": 4,
            ])
        #expect(
            values.filter { $0.key.hasPrefix("halcyon_cache_category") } == [
                "halcyon_cache_category_lookups_total{category=x,result=memory}": 1,
                "halcyon_cache_category_lookups_total{category=x,result=disk}": 1,
                "halcyon_cache_category_lookups_total{category=x,result=miss}": 2,
                "halcyon_cache_category_lookups_total{category=y,result=miss}": 2,
            ])
        #expect(values["halcyon_cache_entries{tier=memory}"] == 2 && values["halcyon_cache_entries{tier=disk}"] == 4)
        #expect(values["halcyon_cache_bytes{tier=memory}"] == 512)
        #expect(values["halcyon_cache_stores_total{tier=disk}"] == 4)
        #expect(values["halcyon_cache_removals_total{reason=evicted,tier=memory}"] == 3)
        #expect(values["halcyon_cache_disk_open"] == 1)
        #expect(values["halcyon_prefetched_total"] == 1 && values["halcyon_prefetches_used_total"] == 1)
        #expect(values["halcyon_prefetches_wasted_total"] == nil)
        #expect(
            factory.durations == [
                "halcyon_load_duration_seconds{kind=request,outcome=provider}": [1_000, 1_000, 1_000],
                "halcyon_load_duration_seconds{kind=request,outcome=disk}": [1_000],
                "halcyon_load_duration_seconds{kind=prefetch,outcome=provider}": [1_000],
                "halcyon_load_duration_seconds{kind=request,outcome=failed}": [1_000],
            ])
        metrics.collect()
        #expect(ownValues() == values)
        #expect(!factory.names.contains { $0.contains("secret") })
    }

    @Test("The first categories up to the limit keep their labels; the others share one")
    func categoryLabelsAreBounded() async throws {
        let fixture = try Fixture()
        let factory = RecordingFactory()
        let metrics = CacheMetrics(fixture.cache, name: "test", categoryLimit: 2, factory: factory)
        func miss(_ category: String, times: Int) async throws {
            for _ in 0..<times {
                _ = try await fixture.cache.image(forKey: "none", options: CacheOptions(categories: [category]))
            }
        }
        try await miss("often", times: 3)
        try await miss("other", times: 1)
        metrics.collect()
        for number in 0..<50 { try await miss("c\(number)", times: 1) }
        try await miss("c7", times: 9)
        metrics.collect()
        try await miss("often", times: 1)
        metrics.collect()
        let label = "halcyon_cache_category_lookups_total"
        #expect(
            factory.values.filter { $0.key.hasPrefix(label) } == [
                "\(label){category=often,result=miss}": 4, "\(label){category=c7,result=miss}": 10,
                "\(label){category=other,result=miss}": 50,
            ])
    }

    @Test("A prefetched image that is cleared from all tiers before its use is wasted once")
    func clearedPrefetchIsWastedOnce() async throws {
        let fixture = try Fixture()
        let resources = [try Fixture.resource("a"), try Fixture.resource("b")]
        _ = await ImagePrefetcher(resources: resources, manager: fixture.manager, toMemory: true).run()
        fixture.cache.clearMemoryCache()
        #expect(fixture.cache.statistics.prefetches == PrefetchCounts(prefetched: 2))
        _ = try await fixture.manager.image(for: resources[0])
        await fixture.cache.clear()
        let counts = fixture.cache.statistics.prefetches
        #expect(counts == PrefetchCounts(prefetched: 2, used: 1, wasted: 1))
        #expect(counts.precision == 0.5)
        let factory = RecordingFactory()
        CacheMetrics(fixture.cache, name: "test", factory: factory).collect()
        #expect(
            factory.values.filter { $0.key.hasPrefix("halcyon_prefetch") } == [
                "halcyon_prefetched_total": 2, "halcyon_prefetches_used_total": 1, "halcyon_prefetches_wasted_total": 1,
            ])
    }

    @Test("Repeated collection begins at once and collects once more on cancellation")
    func repeatedCollectionEndsWithOneMore() async throws {
        let fixture = try Fixture()
        let factory = RecordingFactory()
        let metrics = CacheMetrics(fixture.cache, name: "test", factory: factory)
        let running = Task { try await metrics.run(every: .seconds(3_600)) }
        await waitUntil { factory.values["halcyon_cache_disk_open"] == 1 }
        _ = try await fixture.cache.image(forKey: "none")
        let misses = "halcyon_cache_lookups_total{result=miss}"
        #expect(factory.values[misses] == nil)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(factory.values[misses] == 1)
    }

    @Test("Released metrics observe no load")
    func releasedMetricsObserveNoLoad() async throws {
        let fixture = try Fixture()
        let factory = RecordingFactory()
        var metrics: CacheMetrics? = CacheMetrics(fixture.manager, name: "test", factory: factory)
        metrics?.collect()
        metrics = nil
        _ = try await fixture.manager.image(for: try Fixture.resource("a"))
        #expect(factory.durations.isEmpty)
    }

    @Test("The description of statistics lists ratios by tier, contents and removals")
    func descriptionListsRatiosContentsAndRemovals() {
        var statistics = CacheStatistics()
        #expect(statistics.description.hasPrefix("look-ups: 0; memory –, disk –, misses –\n"))
        statistics.lookUps = TierCounts(memory: 712, disk: 188, none: 100)
        (statistics.memory.cost, statistics.memory.count, statistics.memory.stores) = (4_194_304, 64, 212)
        statistics.memory.removals = [.evicted: 148]
        (statistics.disk.cost, statistics.disk.count, statistics.disk.stores) = (9_437_184, 160, 100)
        statistics.disk.removals = [.expired: 1, .evicted: 3]
        #expect(
            statistics.description == """
                look-ups: 1,000; memory 71.2 %, disk 18.8 %, misses 10.0 %
                memory: 4,194,304 bytes, 64 entries; 212 stores, 0 refused; removed: 148 evicted
                disk: 9,437,184 bytes, 160 entries; 100 stores, 0 refused; removed: 3 evicted, 1 expired
                """)
        statistics.prefetches = PrefetchCounts(prefetched: 5, used: 2, wasted: 1)
        statistics.diskFailures = 1
        #expect(statistics.description.hasSuffix("\nprefetches: 5; 2 used, 1 wasted\nfailures: 1"))
    }
}
