import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Manager: sources, resources, originals", .timeLimit(.minutes(20)))
struct SourceTests {
    @Test("A source of an empty key is refused, so that no two images are taken for one")
    func sourceOfEmptyKeyIsRefused() async throws {
        let (fixture, sample) = (try ManagerFixture(FakeTransport()), try EncodedPicture())
        for source in [Source.data(sample.file, cacheKey: ""), .network(fake("a"), cacheKey: "")] {
            let error = await failure { try await fixture.manager.image(for: source) }
            guard case ManagerError.emptyKey? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        let report = await ImagePrefetcher(resources: [Resource(fake("a"), cacheKey: "")], manager: fixture.manager)
            .run()
        #expect(report.failed.count == 1)
    }

    @Test("A URL, a file, data and a custom provider each load an image under their own key")
    func everyKindOfSourceLoadsUnderItsKey() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        let fixture = try ManagerFixture(transport)
        let file = URL(fileURLWithPath: try fixture.folder.file("picture.png", Array(sample.file)))
        let provider = SlowProvider(sample.file)
        provider.release()
        let sources: [(Source, String)] = [
            (.network(fake("a")), "http://fake/a"), (.network(fake("a"), cacheKey: "mine"), "mine"),
            (.file(file), file.absoluteString), (.file(file, cacheKey: "file"), "file"),
            (.data(sample.file, cacheKey: "bytes"), "bytes"), (.provider(provider), "slow"),
        ]
        for (source, key) in sources {
            #expect(source.cacheKey == key)
            #expect(!fixture.cache.isCached(forKey: key))
            let result = try await fixture.manager.image(for: source)
            #expect(result.image == sample.picture && result.cacheType == .none)
            #expect(try await fixture.manager.image(for: source).cacheType == .memory)
        }
        #expect(provider.askedCount == 1)
        let missing = URL(fileURLWithPath: fixture.folder.path + "/missing.png")
        let error = await failure { try await fixture.manager.image(for: .file(missing)) }
        guard case .cannotReadFile(missing, _)? = error as? ManagerError else {
            Issue.record("a missing file is \(String(describing: error))")
            return
        }
    }

    @Test("A resource's key, categories and user reach both tiers and the log")
    func resourceMetadataReachesTiersAndLog() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: sample.file))
        let shoe = Resource(fake("a"), cacheKey: "shoe", categories: ["shoes", "sale"], user: "u7")
        for _ in 0..<2 { _ = try await fixture.manager.image(for: shoe) }
        await fixture.settle()
        for category in ["shoes", "sale"] {
            let use = await fixture.cache.use(category: category)
            #expect(use.memory.count == 1 && use.disk.count == 1)
        }
        #expect(fixture.recorder.all.map(\.key) == ["shoe", "shoe"])
        #expect(fixture.recorder.all.map(\.outcome) == [.network, .memory])
        #expect(fixture.recorder.all.allSatisfy { $0.categories == ["shoes", "sale"] && $0.user == "u7" })
        let counts = try #require(fixture.cache.statistics.lookUpsByCategory["shoes"])
        #expect(counts.none == 1 && counts.memory == 1)
        let failing = Resource(.data(Data("x".utf8), cacheKey: "x"), categories: ["hats"])
        _ = await failure { try await fixture.manager.image(for: failing) }
        #expect(fixture.recorder.all.last?.outcome == .miss && fixture.recorder.all.last?.categories == ["hats"])
    }

    @Test("cacheOriginalImage stores the original bytes, so that a second processor needs no download")
    func cachedOriginalServesSecondProcessor() async throws {
        let sample = try EncodedPicture(width: 40)
        let server = try HostileServer { $0.answer(Array(sample.file)) }
        let fixture = try ManagerFixture()
        let url = server.url("/a")
        func load(
            _ processor: any ImageProcessor, _ manager: HalcyonManager, keeps: Bool = true
        ) async throws -> ImageResult {
            var options = ImageOptions(processor: processor)
            options.cacheOriginalImage = keeps
            options.waitForCache = true
            options.wantsOriginalData = keeps
            return try await manager.image(for: url, options: options)
        }
        let small = DownsamplingImageProcessor(size: PixelSize(width: 10, height: 10))
        let first = try await load(small, fixture.manager)
        #expect(first.cacheType == .none && !first.isFromOriginal && first.originalData == sample.file)
        let disk = try #require(fixture.cache.diskStorage)
        #expect(try disk.value(forKey: url.absoluteString) == sample.file)
        let second = try await load(BlackWhiteImageProcessor(), fixture.manager)
        #expect(second.isFromOriginal && second.originalData == sample.file)
        #expect(try second.image == BlackWhiteImageProcessor().process(sample.picture))
        let whole = try await load(DefaultImageProcessor(), fixture.manager)
        #expect(whole.image == sample.picture && whole.cacheType == .disk)
        #expect(server.visits.count == 1)
        // Without it only the processed image is cached.
        await fixture.cache.clear()
        _ = try await load(small, fixture.manager, keeps: false)
        let loaded = try await load(BlackWhiteImageProcessor(), fixture.manager, keeps: false)
        #expect(!loaded.isFromOriginal && server.visits.count == 3)
        // An original that is damaged is loaded again.
        let broken = server.url("/b")
        try disk.store(value: sample.file.dropLast(20), forKey: broken.absoluteString)
        let mono = ImageOptions(processor: BlackWhiteImageProcessor())
        #expect(try await fixture.manager.image(for: broken, options: mono).image == second.image)
        #expect(server.count("/b") == 1)
    }

    @Test("By default the disk keeps the downloaded bytes; prefersOriginal off encodes them again")
    func diskKeepsDownloadedBytesByDefault() async throws {
        let jpeg = try ImageEncoder.jpeg(quality: 40).encode(try EncodedPicture().picture)
        let fixture = try ManagerFixture()
        func kept(_ file: Data, _ key: String, _ change: (inout ImageOptions) -> Void = { _ in }) async throws -> Data {
            var options = ImageOptions()
            options.waitForCache = true
            change(&options)
            _ = try await fixture.manager.image(for: .data(file, cacheKey: key), options: options)
            return try #require(try fixture.cache.diskStorage?.value(forKey: key))
        }
        for name in [
            "gif-animated.gif", "webp-lossy.webp", "webp-animated.webp", "jpeg-cmyk.jpg", "animations/soft.png",
        ] {
            let file = try Fixture.data(name)
            #expect(try await kept(file, name) == file)
        }
        #expect(try await kept(jpeg, "default") == jpeg)
        #expect(try await kept(jpeg, "original") { $0.cacheOriginalImage = true } == jpeg)
        let encoded = try await kept(jpeg, "encoded") { $0.serializer = BitmapSerializer(prefersOriginal: false) }
        #expect(encoded != jpeg && ImageFormat(of: encoded) == .jpeg)
    }

    @Test("A cache created by name keeps the downloaded bytes")
    func namedCacheKeepsDownloadedBytes() async throws {
        let folder = try TemporaryFolder()
        let cache = try ImageCache<Bitmap>(name: "named", cacheDirectoryURL: URL(fileURLWithPath: folder.path))
        let manager = HalcyonManager(cache: cache)
        var options = ImageOptions()
        options.waitForCache = true
        let file = try Fixture.data("gif-animated.gif")
        _ = try await manager.image(for: .data(file, cacheKey: "a"), options: options)
        #expect(try cache.diskStorage?.value(forKey: "a") == file)
    }

    @Test("Original bytes come from the network, memory and disk, for the image and for variants")
    func originalDataComesFromEveryTier() async throws {
        let file = try Fixture.data("jpeg-420.jpg")
        for processor in [DefaultImageProcessor(), BlackWhiteImageProcessor()] as [any ImageProcessor] {
            let fixture = try ManagerFixture()
            var options = ImageOptions(processor: processor)
            (options.wantsOriginalData, options.waitForCache) = (true, true)
            let source = Source.data(file, cacheKey: "a")
            var tiers: [CacheType] = []
            for round in 0..<3 {
                if round == 2 { fixture.cache.clearMemoryCache() }
                // Its bytes are on disk, which is not read on the caller's thread.
                #expect(fixture.manager.imageInMemory(for: Resource(source), options: options) == nil)
                let result = try await fixture.manager.image(for: source, options: options)
                tiers.append(result.cacheType)
                #expect(result.originalData == file)
            }
            #expect(tiers == [.none, .memory, .disk])
        }
        // Bytes that a serializer has encoded are not the original ones.
        let fixture = try ManagerFixture()
        var options = ImageOptions()
        options.serializer = BitmapSerializer.png
        (options.wantsOriginalData, options.waitForCache) = (true, true)
        for bytes in [file, nil] {
            let result = try await fixture.manager.image(for: .data(file, cacheKey: "a"), options: options)
            #expect(result.originalData == bytes)
        }
    }

    @Test("A load has the times and bytes of its transfer; a hit and a provider's image have none")
    func resultHasMetricsOfItsTransfer() async throws {
        let file = try Fixture.data("jpeg-420.jpg")
        let server = try HostileServer { $0.answer(Array(file), status: "200 OK", headers: []) }
        let fixture = try ManagerFixture()
        let metrics = try #require(try await fixture.manager.image(for: server.url("/a")).metrics)
        #expect(metrics.bytesReceived > file.count && metrics.total > .zero && metrics.remoteAddress == "127.0.0.1")
        var hit = try await fixture.manager.image(for: server.url("/a"))
        #expect(hit.cacheType == .memory && hit.metrics == nil)
        hit.originalData = file
        #expect(hit.metrics == nil && hit.originalData == file)
        let provided = try await fixture.manager.image(for: .data(file, cacheKey: "b"))
        #expect(provided.cacheType == .none && provided.metrics == nil)
    }

    @Test("A load's own serializer writes and reads the file on disk")
    func loadSerializerWritesAndReadsDisk() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        var options = ImageOptions()
        options.serializer = BitmapSerializer(format: .always(ImageEncoder.webpLossless))
        options.waitForCache = true
        let source = Source.data(sample.file, cacheKey: "a")
        _ = try await fixture.manager.image(for: source, options: options)
        let bytes = try #require(try fixture.cache.diskStorage?.value(forKey: "a"))
        #expect(ImageFormat(of: bytes) == .webp)
        fixture.cache.clearMemoryCache()
        let found = try await fixture.manager.image(for: source, options: options)
        #expect(found.cacheType == .disk && found.image == sample.picture)
    }
}
