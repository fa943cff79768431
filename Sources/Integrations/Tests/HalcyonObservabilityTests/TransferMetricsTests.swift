import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonObservability
@testable import HalcyonPipeline

@Suite("Metrics of transfers, decoding and failures", .timeLimit(.minutes(20)))
struct TransferMetricsTests {
    /// A processor that waits until a gate opens.
    private struct Waiting: ImageProcessor {
        let gate: DispatchSemaphore
        let identifier = "waiting"

        func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap {
            gate.wait()
            return try DefaultImageProcessor().process(item, decoder: decoder)
        }
    }

    private let folder: TemporaryFolder
    private let cache: ImageCache<Bitmap>
    private let downloader: ImageDownloader
    private let manager: HalcyonManager
    private let factory = RecordingFactory()
    private let metrics: CacheMetrics
    private let picture: Data

    init() throws {
        folder = try TemporaryFolder()
        cache = ImageCache(
            memory: .init(totalCostLimit: 1 << 16, cleanInterval: .zero),
            disk: DiskStorageConfig(name: "observed", directory: URL(fileURLWithPath: folder.path)),
            serializer: BitmapSerializer(), triggers: [])
        var configuration = ImageDownloader.Configuration()
        configuration.request = { url in
            var request = TransportRequest(url)
            (request.proxy, request.timeouts.connect, request.timeouts.idle) = (.none, .seconds(300), .seconds(300))
            return request
        }
        downloader = ImageDownloader(name: "test", configuration: configuration)
        manager = HalcyonManager(cache: cache, downloader: downloader, decodeLimiter: DecodeLimiter(limit: 1))
        metrics = CacheMetrics(manager, name: "test", factory: factory)
        let bitmap = try #require(Bitmap(width: 8, height: 8, color: PixelColor(red: 9, green: 200, blue: 40)))
        picture = try ImageEncoder.png().encode(bitmap)
    }

    /// The values of the metrics with a prefix that are not 0, without the prefix.
    private func values(_ prefix: String) -> [String: Int64] {
        metrics.collect()
        let named = factory.values.filter { $0.key.hasPrefix(prefix) }
        return Dictionary(uniqueKeysWithValues: named.map { (String($0.key.dropFirst(prefix.count)), $0.value) })
    }

    @Test("Transfers are counted by outcome, with their bytes, those in flight and their waiters")
    func transfersAreCountedByOutcome() async throws {
        let gate = DispatchSemaphore(value: 0)
        let slowVisits = Mutex(0)
        let server = try HostileServer { [picture] visit in
            if visit.path.hasPrefix("/slow") {
                slowVisits.withLock { $0 += 1 }
                gate.wait()
            }
            let isThere = visit.path != "/absent"
            visit.answer(isThere ? Array(picture) : [], status: isThere ? "200 OK" : "404 Not Found")
        }
        _ = try await manager.image(for: server.url("/a"))
        await #expect(throws: NetworkError.self) { try await manager.image(for: server.url("/absent")) }
        #expect(values("halcyon_transfers_total") == ["{outcome=succeeded}": 1, "{outcome=failed}": 1])
        #expect(values("halcyon_received_bytes_total") == ["": Int64(picture.count)])

        let joined = (0..<2).map { _ in Task { try await manager.image(for: server.url("/slow/a")) } }
        let cancelled = Task { try await manager.image(for: server.url("/slow/b")) }
        // A load that is cancelled before its transfer has begun counts for nothing.
        await waitUntil { downloader.waiterCount == 3 && slowVisits.withLock { $0 } == 2 }
        #expect(values("halcyon_transfers_in_flight") == ["": 2])
        #expect(values("halcyon_transfer_waiters") == ["": 3])
        #expect(values("halcyon_loads_in_progress") == ["": 3])
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await waitUntil { downloader.transferCounts.cancelled == 1 }
        for _ in 0..<2 { gate.signal() }
        for load in joined { _ = try await load.value }
        #expect(
            values("halcyon_transfers_total") == [
                "{outcome=succeeded}": 2, "{outcome=failed}": 1, "{outcome=cancelled}": 1,
            ])
        #expect(values("halcyon_received_bytes_total") == ["": Int64(2 * picture.count)])
        for name in ["halcyon_transfers_in_flight", "halcyon_transfer_waiters", "halcyon_loads_in_progress"] {
            #expect(values(name) == [:])
        }
    }

    @Test("Running and waiting decodes are counted")
    func decodesAreCountedByState() async throws {
        let gate = DispatchSemaphore(value: 0)
        let loads = (0..<3).map { number in
            Task { [picture] in
                try await manager.image(
                    for: .data(picture, cacheKey: "\(number)"), options: ImageOptions(processor: Waiting(gate: gate)))
            }
        }
        await waitUntil { manager.decodeLimiter.load == (1, 2) }
        #expect(values("halcyon_decodes") == ["{state=running}": 1, "{state=waiting}": 2])
        for _ in loads { gate.signal() }
        for load in loads { _ = try await load.value }
        await waitUntil { manager.decodeLimiter.load == (0, 0) }
        #expect(values("halcyon_decodes") == [:])
    }

    @Test("Values refused by a tier, disk failures and a closed disk are counted")
    func refusalsAndDiskFailuresAreCounted() async throws {
        let large = try #require(Bitmap(width: 200, height: 200, color: PixelColor(red: 0, green: 0, blue: 0)))
        await cache.store(large, forKey: "large")
        #expect(values("halcyon_cache_refusals_total") == ["{tier=memory}": 1])
        #expect(values("halcyon_cache_disk_open") == ["": 1] && values("halcyon_cache_failures_total") == [:])
        await cache.close()
        let result = await cache.store(large, forKey: "later")
        #expect(throws: CacheError.self) { try result.diskCacheResult.get() }
        #expect(values("halcyon_cache_disk_open") == [:] && values("halcyon_cache_failures_total") == ["": 1])
    }
}
