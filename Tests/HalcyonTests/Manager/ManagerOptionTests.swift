import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Manager: options of calls and defaults", .timeLimit(.minutes(20)))
struct ManagerOptionTests {
    /// A serializer whose first encoding waits until its gate is opened.
    private final class GatedSerializer: CacheSerializer {
        let gate = DispatchSemaphore(value: 0)
        let waiting = Atomic<Int>(0)

        func data(with value: Bitmap, original: Data?) -> Data? {
            if waiting.add(1, ordering: .relaxed).oldValue == 0 { gate.wait() }
            return BitmapSerializer().data(with: value, original: original)
        }

        func value(with data: Data) -> Bitmap? { BitmapSerializer().value(with: data) }
    }

    private func manager(_ fixture: ManagerFixture, _ set: (inout ImageOptions) -> Void) -> HalcyonManager {
        HalcyonManager(cache: fixture.cache, downloader: fixture.downloader, defaultOptions: ImageOptions(set))
    }

    @Test("The options of a call add to the manager's, and override what both state")
    func callOptionsOverrideManagerDefaults() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: sample.file))
        let half = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3))
        let manager = manager(fixture) {
            $0.processor = half
            $0.waitForCache = true
            $0.cacheMemoryOnly = true
        }
        // The processor of the defaults, the tiers of the call.
        let result = try await manager.image(for: fake("a"), options: ImageOptions { $0.cacheMemoryOnly = false })
        #expect(result.image.size == PixelSize(width: 4, height: 3))
        #expect(
            fixture.cache.diskStorage?.isCached(forKey: fake("a").absoluteString.computedKey(with: half.identifier))
                == true)
        // The processor of the call, the tiers of the defaults.
        let whole = try await manager.image(for: fake("a"), options: ImageOptions(processor: DefaultImageProcessor()))
        #expect(whole.image == sample.picture)
        #expect(fixture.cache.diskStorage?.isCached(forKey: fake("a").absoluteString) == false)
        #expect(manager.imageInMemory(for: Resource(fake("a")))?.image.width == 4)
    }

    @Test("A load uses the cache, the cache of originals and the downloader in its options")
    func loadUsesItsOwnCachesAndDownloader() async throws {
        let (fixture, other) = (
            try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file)),
            try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture.blue.file))
        )
        let options = ImageOptions {
            $0.cache = other.cache
            $0.downloader = other.downloader
            $0.waitForCache = true
        }
        let result = try await fixture.manager.image(for: fake("a"), options: options)
        #expect(result.image == (try EncodedPicture.blue.picture))
        let key = fake("a").absoluteString
        #expect(other.cache.isCached(forKey: key) && !fixture.cache.isCached(forKey: key))
        #expect(try await fixture.manager.image(for: fake("a"), options: options).cacheType == .memory)
        #expect(try await fixture.manager.image(for: fake("a")).image == (try EncodedPicture().picture))
        // An original goes to its own cache.
        let half = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3))
        _ = try await fixture.manager.image(
            for: fake("b"),
            options: ImageOptions {
                $0.processor = half
                $0.originalCache = other.cache
                $0.cacheOriginalImage = true
                $0.waitForCache = true
            })
        #expect(other.cache.isCached(forKey: fake("b").absoluteString))
        #expect(
            fixture.cache.isCached(forKey: EntryKey(fake("b").absoluteString, processorIdentifier: half.identifier)))
    }

    @Test("Removing a URL removes it from the caches of the default options, each once")
    func removalReachesCachesOfDefaultOptions() async throws {
        let (fixture, images, originals) = (try ManagerFixture(), try ManagerFixture(), try ManagerFixture())
        let defaults = ImageOptions {
            $0.cache = images.cache
            $0.originalCache = originals.cache
        }
        let manager = HalcyonManager(cache: fixture.cache, downloader: fixture.downloader, defaultOptions: defaults)
        #expect(manager.caches.count == 3)
        let key = fake("a").absoluteString
        let half = EntryKey(key, processorIdentifier: "half")
        for cache in manager.caches {
            await cache.store(try EncodedPicture().picture, forKey: key)
            await cache.store(try EncodedPicture().picture, forKey: half)
        }
        await manager.remove(fake("a"))
        for cache in manager.caches {
            #expect(!cache.isCached(forKey: key) && !cache.isCached(forKey: key.computedKey(with: "half")))
        }
    }

    @Test("The shared manager, the default cache and the default downloader can be replaced")
    func sharedInstancesCanBeReplaced() throws {
        let fixture = try ManagerFixture()
        let before = HalcyonManager.shared
        defer { HalcyonManager.shared = before }
        HalcyonManager.shared = fixture.manager
        #expect(HalcyonManager.shared === fixture.manager)
        let cache = ImageCache<Data>.default
        defer { ImageCache<Data>.default = cache }
        let other = try ImageCache<Data>(
            name: "own", cacheDirectoryURL: URL(fileURLWithPath: fixture.folder.path + "/own"))
        ImageCache<Data>.default = other
        #expect(ImageCache<Data>.default === other && cache !== other)
        let downloader = ImageDownloader.default
        defer { ImageDownloader.default = downloader }
        ImageDownloader.default = fixture.downloader
        #expect(ImageDownloader.default === fixture.downloader && HalcyonManager().downloader === fixture.downloader)
    }

    @Test("A file URL is read from the file, also as a network source")
    func fileURLIsReadFromFile() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        let url = URL(fileURLWithPath: fixture.folder.path + "/a.png")
        try sample.file.write(to: url)
        #expect(try await fixture.manager.image(for: url).image == sample.picture)
        let result = try await fixture.manager.image(for: Source.network(url, cacheKey: "other"))
        #expect(result.image == sample.picture && result.cacheType == .none)
        #expect(fixture.cache.isCached(forKey: "other"))
    }

    @Test("An image modifier changes the returned image and not the cached one")
    func imageModifierChangesOnlyTheResult() async throws {
        let (sample, blue) = (try EncodedPicture(), try EncodedPicture.blue)
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: sample.file))
        let options = ImageOptions { $0.imageModifier = AnyImageModifier { _ in blue.picture } }
        #expect(try await fixture.manager.image(for: fake("a"), options: options).image == blue.picture)
        #expect(fixture.manager.imageInMemory(for: Resource(fake("a")))?.image == sample.picture)
        #expect(fixture.manager.imageInMemory(for: Resource(fake("a")), options: options)?.image == blue.picture)
        await fixture.settle()
        fixture.cache.clearMemoryCache()
        let found = try await fixture.manager.image(for: fake("a"), options: options)
        #expect(found.image == blue.picture && found.cacheType == .disk)
        #expect(fixture.manager.imageInMemory(for: Resource(fake("a")))?.image == sample.picture)
    }

    @Test("The result names the requested source and the source of the image")
    func resultNamesRequestedAndUsedSource() async throws {
        let transport = FakeTransport()
        transport.fail("a", .cannotConnect("no"))
        transport.answer("b", try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let options = ImageOptions { $0.alternativeSources = [.network(fake("b"))] }
        let result = try await fixture.manager.image(for: fake("a"), options: options)
        #expect(result.source.url == fake("b") && result.originalSource.url == fake("a"))
    }

    @Test("In Low Data Mode the low-data source replaces the resource's, and the alternatives follow")
    func lowDataSourceComesBeforeAlternatives() async throws {
        let transport = FakeTransport()
        transport.fail("low", .cannotConnect("no"))
        transport.fail("low", .cannotConnect("no"))
        transport.answer("b", try EncodedPicture().file)
        let fixture = try ManagerFixture(transport, constrained: true)
        let options = ImageOptions {
            $0.lowDataSource = .network(fake("low"))
            $0.alternativeSources = [.network(fake("b"))]
        }
        let result = try await fixture.manager.image(for: fake("a"), options: options)
        #expect(result.source.url == fake("b"))
        #expect(transport.calls.map(\.name) == ["low", "b"])
    }

    @Test("Look-ups, prefetches and removals use the file extension of the load")
    func everyOperationUsesForcedExtension() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: sample.file))
        let (manager, cache) = (fixture.manager, fixture.cache)
        let options = ImageOptions {
            $0.forcedExtension = "webp"
            $0.waitForCache = true
            $0.wantsOriginalData = true
        }
        _ = try await manager.image(for: fake("a"), options: options)
        let key = fake("a").absoluteString
        #expect(cache.imageCachedType(forKey: EntryKey(key, forcedExtension: "webp")) == .memory)
        cache.clearMemoryCache()
        #expect(await manager.imageCachedType(for: Resource(fake("a")), options: options) == .disk)
        #expect(await manager.imageCachedType(for: Resource(fake("a"))) == .none)
        let again = try await manager.image(for: fake("a"), options: options)
        #expect(again.cacheType == .disk && again.originalData == sample.file)
        cache.clearMemoryCache()
        let prefetched = await ImagePrefetcher(
            resources: [Resource(fake("a"))], manager: manager, options: options, toMemory: true
        ).run()
        #expect(prefetched.skipped.count == 1 && cache.memoryStorage.isCached(forKey: key))
        await manager.remove(fake("a"))
        #expect(await manager.imageCachedType(for: Resource(fake("a")), options: options) == .none)
    }

    @Test("A variant is made of the original under the configured file extension, whatever the load's is")
    func originalHasConfiguredExtension() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        let fixture = try ManagerFixture(transport)
        let options = ImageOptions {
            ($0.processor, $0.forcedExtension) = (BlackWhiteImageProcessor(), "webp")
        }
        for (name, forced, isFromOriginal) in [("a", nil, true), ("b", "webp", false)] {
            _ = try fixture.cache.diskStorage?.store(
                value: sample.file, forKey: EntryKey(fake(name).absoluteString, forcedExtension: forced))
            let made = try await fixture.manager.image(for: fake(name), options: options)
            #expect(made.isFromOriginal == isFromOriginal)
        }
        #expect(transport.calls == [.start("b", .normal)])
    }

    @Test(
        "Joined loads wait until the image is on disk, and the entry gets the latest expiration",
        arguments: [true, false])
    func joinedLoadsWaitForStoreAndLatestExpiration(areEqual: Bool) async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let key = fake("a").absoluteString
        let serializer = GatedSerializer()
        let loads = (0..<40).map { number in
            Task {
                let result = try await fixture.manager.image(
                    for: fake("a"),
                    options: ImageOptions {
                        $0.waitForCache = true
                        $0.serializer = serializer
                        $0.diskCacheExpiration = .seconds(areEqual ? 40 : Double(number + 1))
                        $0.memoryCacheExpiration = .seconds(areEqual ? 40 : Double(number + 1))
                    })
                return (result.cacheType, fixture.cache.diskStorage?.isCached(forKey: key))
            }
        }
        await fixture.downloader.waitForWaiters(40)
        transport.answer("a", try EncodedPicture().file)
        // All have the image, and it is not written yet. A load that did not wait would end now.
        await waitUntil { fixture.downloader.waiterCount == 0 && serializer.waiting.load(ordering: .relaxed) > 0 }
        try await Task.sleep(for: .milliseconds(20))
        serializer.gate.signal()
        for load in loads {
            let (type, isOnDisk) = try await load.value
            #expect(type == CacheType.none && isOnDisk == true)
        }
        await fixture.settle()
        fixture.clock.advance(by: 39)
        #expect(fixture.cache.memoryStorage.isCached(forKey: key))
        #expect(fixture.cache.diskStorage?.isCached(forKey: key) == true)
        fixture.clock.advance(by: 2)
        #expect(!fixture.cache.memoryStorage.isCached(forKey: key))
        #expect(fixture.cache.diskStorage?.isCached(forKey: key) == false)
    }

    @Test("A memory-only load does not prevent the disk store of a load that joins it")
    func memoryOnlyLoadLeavesDiskStoreToOthers() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let inMemory = Task {
            try await fixture.manager.image(for: fake("a"), options: ImageOptions { $0.cacheMemoryOnly = true })
        }
        await fixture.downloader.waitForWaiters(1)
        let onDisk = Task {
            try await fixture.manager.image(for: fake("a"), options: ImageOptions { $0.waitForCache = true })
        }
        await fixture.downloader.waitForWaiters(2)
        transport.answer("a", try EncodedPicture().file)
        _ = try await (inMemory.value, onDisk.value)
        #expect(fixture.cache.diskStorage?.isCached(forKey: fake("a").absoluteString) == true)
    }

    @Test("A memory-only refresh removes the older image from disk, but not one of the same transfer")
    func memoryOnlyRefreshRemovesOlderDiskImage() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let key = fake("a").absoluteString
        _ = try await fixture.manager.image(for: fake("a"), options: ImageOptions { $0.waitForCache = true })
        #expect(fixture.cache.diskStorage?.isCached(forKey: key) == true)
        let options = ImageOptions {
            $0.forceRefresh = true
            $0.cacheMemoryOnly = true
        }
        _ = try await fixture.manager.image(for: fake("a"), options: options)
        await fixture.settle()
        #expect(fixture.cache.imageCachedType(forKey: key) == .memory)
        #expect(fixture.cache.diskStorage?.isCached(forKey: key) == false)
        // The load that stores it on disk starts first.
        let slow = FakeTransport()
        let other = try ManagerFixture(slow)
        let onDisk = Task {
            try await other.manager.image(for: fake("a"), options: ImageOptions { $0.waitForCache = true })
        }
        await other.downloader.waitForWaiters(1)
        let inMemory = Task { try await other.manager.image(for: fake("a"), options: options) }
        await other.downloader.waitForWaiters(2)
        slow.answer("a", try EncodedPicture().file)
        _ = try await (inMemory.value, onDisk.value)
        await other.settle()
        #expect(other.cache.diskStorage?.isCached(forKey: key) == true)
    }

    @Test("A prefetch has a low priority unless its options state another")
    func prefetchHasLowPriorityUnlessStated() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let options = ImageOptions(processor: DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3)))
        _ = await ImagePrefetcher(resources: [Resource(fake("a"))], manager: fixture.manager, options: options).run()
        let high = ImageOptions { $0.priority = .high }
        _ = await ImagePrefetcher(resources: [Resource(fake("b"))], manager: fixture.manager, options: high).run()
        #expect(transport.calls.prefix(2) == [.start("a", .low), .start("b", .high)])
    }

    @Test("Removing a URL removes all its variants from memory and disk, and no other URL's")
    func removingURLRemovesAllVariants() async throws {
        let folder = try TemporaryFolder()
        let key = fake("a").absoluteString
        let half = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3))
        do {
            let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file), folder: folder)
            for name in ["a", "ab"] {
                for processor in [DefaultImageProcessor(), half] as [any ImageProcessor] {
                    _ = try await fixture.manager.image(
                        for: fake(name),
                        options: ImageOptions {
                            $0.processor = processor
                            $0.waitForCache = true
                        })
                }
            }
            await fixture.cache.close()
        }
        // After a restart only the index database lists the variants.
        let fixture = try ManagerFixture(FakeTransport(), folder: folder)
        let isCached = { (name: String, variant: String) in
            fixture.cache.isCached(forKey: EntryKey(fake(name).absoluteString, processorIdentifier: variant))
        }
        #expect(isCached("a", "") && isCached("a", half.identifier))
        _ = try await fixture.cache.image(forKey: EntryKey(key, processorIdentifier: half.identifier))
        await fixture.manager.remove(fake("a"))
        #expect(!isCached("a", "") && !isCached("a", half.identifier))
        #expect(isCached("ab", "") && isCached("ab", half.identifier))
    }

    @Test("A downloader without a manager makes images with a ready-made processor")
    func downloaderRunsImageProcessorWithoutManager() async throws {
        let sample = try EncodedPicture()
        let downloader = ImageDownloader.test(FakeTransport(answerAtOnce: sample.file))
        #expect(try await downloader.download(fake("a"), processor: .image()).value == sample.picture)
        let half = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3))
        #expect(try await downloader.download(fake("a"), processor: .image(half)).value.width == 4)
    }
}

extension FakeTransport.Call {
    fileprivate var name: String {
        switch self {
        case .start(let name, _), .cancel(let name), .priority(let name, _): name
        }
    }
}
