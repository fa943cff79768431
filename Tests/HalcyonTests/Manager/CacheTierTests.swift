import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("A load reads from and writes to the tiers that it states", .timeLimit(.minutes(20)))
struct CacheTierTests {
    private let url = fake("a")
    private var key: String { url.absoluteString }

    /// A cache whose memory has a blue picture and whose disk has another, before a server with a third.
    private func divided() async throws -> (fixture: ManagerFixture, transport: FakeTransport, onDisk: EncodedPicture) {
        let (onDisk, served) = (try EncodedPicture(), try EncodedPicture(width: 20))
        let transport = FakeTransport(answerAtOnce: served.file)
        let fixture = try ManagerFixture(transport)
        try fixture.cache.diskStorage?.store(value: onDisk.file, forKey: key)
        fixture.cache.memoryStorage.store(value: try EncodedPicture.blue.picture, forKey: key)
        return (fixture, transport, onDisk)
    }

    private func options(reads: CacheTiers? = nil, writes: CacheTiers? = nil) -> ImageOptions {
        ImageOptions { ($0.readsFrom, $0.writesTo, $0.waitForCache) = (reads, writes, true) }
    }

    @Test("A load takes the image from the stated tiers only, and loads it if they do not have it")
    func loadReadsStatedTiers() async throws {
        for (tiers, expected, requests) in [
            (nil, CacheType.memory, 0), (.all, .memory, 0), (.memory, .memory, 0), (.disk, .disk, 0), ([], .none, 1),
        ] as [(CacheTiers?, CacheType, Int)] {
            let (fixture, transport, _) = try await divided()
            let result = try await fixture.manager.image(for: url, options: options(reads: tiers))
            #expect(result.cacheType == expected && transport.requestCount == requests, "\(String(describing: tiers))")
        }
        let (fixture, transport, onDisk) = try await divided()
        let diskOnly = options(reads: .disk)
        #expect(fixture.manager.imageInMemory(for: Resource(url), options: diskOnly) == nil)
        #expect(try await fixture.manager.image(for: url, options: diskOnly).image == onDisk.picture)
        fixture.cache.clearMemoryCache()
        #expect(try await fixture.manager.image(for: url, options: options(reads: .memory)).cacheType == .none)
        #expect(transport.requestCount == 1)
    }

    @Test("An original in a tier that is not read makes no variant")
    func originalOfOtherTierMakesNoVariant() async throws {
        for (tiers, requests) in [(CacheTiers.memory, 1), (.disk, 0)] {
            let (fixture, transport, onDisk) = try await divided()
            var options = options(reads: tiers)
            options.processor = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 4))
            let result = try await fixture.manager.image(for: url, options: options)
            #expect(transport.requestCount == requests && result.isFromOriginal == (requests == 0))
            if requests == 0 { #expect(result.image.width == 4 && onDisk.picture.width == 8) }
        }
    }

    @Test("The call's tiers override the manager's; the flags of Kingfisher narrow them")
    func callOverridesManagersTiers() async throws {
        let (fixture, transport, _) = try await divided()
        let manager = HalcyonManager(
            cache: fixture.cache, downloader: fixture.downloader, defaultOptions: options(reads: .disk, writes: []))
        #expect(manager.imageInMemory(for: Resource(url)) == nil)
        #expect(manager.imageInMemory(for: Resource(url), options: options(reads: .memory)) != nil)
        #expect(try await manager.image(for: url).cacheType == .disk)
        var narrowed = options(reads: .disk)
        narrowed.fromMemoryCacheOrRefresh = true
        #expect(try await manager.image(for: url, options: narrowed).cacheType == .none)
        narrowed = options(reads: .all)
        narrowed.forceRefresh = true
        #expect(manager.imageInMemory(for: Resource(url), options: narrowed) == nil)
        #expect(try await manager.image(for: url, options: narrowed).cacheType == .none)
        #expect(transport.requestCount == 2)
    }

    @Test("A load keeps its image in the stated tiers only; a tier loses what is older than the other's")
    func loadWritesStatedTiers() async throws {
        for (tiers, inMemory, onDisk) in [
            (.all, 20, 20), (.memory, 20, nil), (.disk, nil, 20), ([], 8, 8),
        ] as [(CacheTiers, Int?, Int?)] {
            let (fixture, _, _) = try await divided()
            let result = try await fixture.manager.image(for: url, options: options(reads: [], writes: tiers))
            await fixture.settle()
            #expect(result.image.width == 20)
            #expect(fixture.cache.memoryStorage.value(forKey: key)?.width == inMemory)
            let file: Data? = try fixture.cache.diskStorage?.value(forKey: key)
            #expect(try file.map { try ImageDecoder().decode($0).width } == onDisk, "\(tiers)")
        }
    }

    @Test("An image that is found on disk stays out of memory where memory is not written")
    func hitOnDiskIsNotTakenIntoMemory() async throws {
        let (fixture, _, _) = try await divided()
        fixture.cache.clearMemoryCache()
        #expect(try await fixture.manager.image(for: url, options: options(writes: .disk)).cacheType == .disk)
        #expect(!fixture.cache.memoryStorage.isCached(forKey: key))
        let report = await ImagePrefetcher(
            urls: [url], manager: fixture.manager, options: options(writes: .disk), toMemory: true
        ).run()
        #expect(report.skipped.count == 1 && !fixture.cache.memoryStorage.isCached(forKey: key))
        #expect(try await fixture.manager.image(for: url).cacheType == .disk)
        #expect(fixture.cache.memoryStorage.isCached(forKey: key))
    }
}
