import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Manager: the server's freshness directives", .timeLimit(.minutes(20)))
struct ManagerFreshnessTests {
    private func options(_ policy: FreshnessPolicy = FreshnessPolicy()) -> ImageOptions {
        var options = ImageOptions()
        options.freshness = policy
        options.waitForCache = true
        options.diskCacheExpiration = .seconds(100)
        options.diskCacheAccessExtendingExpiration = .none
        return options
    }

    @Test("A tag survives a restart with its entry; a 304 serves the entry and extends its expiration")
    func notModifiedServesAndExtendsEntry() async throws {
        let sample = try EncodedPicture()
        let versions = Versions("\"1\"", sample.file, "max-age=60")
        let server = try versions.start()
        let (folder, clock, url) = (try TemporaryFolder(), ManualClock(), server.url("/a"))
        do {
            let fixture = try ManagerFixture(folder: folder, clock: clock)
            #expect(try await fixture.manager.image(for: url, options: options()).cacheType == .none)
            clock.advance(by: 59)
            #expect(try await fixture.manager.image(for: url, options: options()).cacheType == .memory)
            await fixture.cache.enterBackground()
        }
        #expect(versions.log == ["200 -"])
        let fixture = try ManagerFixture(folder: folder, clock: clock)
        clock.advance(by: 31)
        let renewed = try await fixture.manager.image(for: url, options: options())
        #expect(renewed.cacheType == .disk && renewed.image == sample.picture)
        #expect(versions.log == ["200 -", "304 \"1\""])
        // The 304 moves the expiration from 100 s after the store to 100 s after the 304.
        clock.advance(by: 59)
        fixture.cache.clearMemoryCache()
        #expect(try await fixture.manager.image(for: url, options: options()).cacheType == .disk)
        #expect(versions.log.count == 2)
        clock.advance(by: 2)
        #expect(try await fixture.manager.image(for: url, options: options()).cacheType == .memory)
        #expect(versions.log.count == 3)
        clock.advance(by: 99)
        #expect(fixture.cache.diskStorage?.isCached(forKey: url.absoluteString) == true)
        // A load without a freshness policy uses the stale entry.
        clock.advance(by: -39)
        #expect(try await fixture.manager.image(for: url).cacheType == .memory)
        #expect(versions.log.count == 3)
    }

    @Test("A hit in memory that heeds the server reads no file and does not wait for the disk")
    func memoryHitWithFreshnessReadsNoFile() async throws {
        let sample = try EncodedPicture()
        let versions = Versions("\"1\"", sample.file, "max-age=60")
        let server = try versions.start()
        let (fixture, url) = (try ManagerFixture(), server.url("/a"))
        _ = try await fixture.manager.image(for: url, options: options())
        // What has neither a folder nor a thread reads nothing.
        try FileManager.default.removeItem(atPath: fixture.folder.path + "/halcyon.cache.test")
        fixture.cache.tiers.disk.queue.suspend()
        for _ in 0..<10 {
            let found = try await fixture.manager.image(for: url, options: options())
            #expect(found.cacheType == .memory && found.image == sample.picture)
        }
        fixture.cache.tiers.disk.queue.resume()
        #expect(versions.log == ["200 -"])
    }

    @Test("A load with a freshness policy records the tag of a transfer started without one")
    func joinedLoadWithFreshnessKeepsTag() async throws {
        let sample = try EncodedPicture()
        let versions = Versions("\"1\"", sample.file, "max-age=60")
        let server = try versions.start()
        let (fixture, url) = (try ManagerFixture(), server.url("/a"))
        var heedless = options()
        heedless.freshness = nil
        let gate = DispatchSemaphore(value: 0)
        versions.gate.withLock { $0 = gate }
        let first = Task { [heedless] in try await fixture.manager.image(for: url, options: heedless) }
        await waitUntil { fixture.downloader.waiterCount == 1 }
        let second = Task { [options = options()] in try await fixture.manager.image(for: url, options: options) }
        await waitUntil { fixture.downloader.waiterCount == 2 }
        versions.gate.withLock { $0 = nil }
        gate.signal()
        _ = try await (first.value, second.value)
        await fixture.settle()
        #expect(versions.log == ["200 -"])
        fixture.clock.advance(by: 61)
        #expect(try await fixture.manager.image(for: url, options: options()).cacheType == .memory)
        #expect(versions.log == ["200 -", "304 \"1\""])
    }

    @Test("A changed image is loaded; replaced bytes are not revalidated by the earlier tag")
    func changedImageIsLoaded() async throws {
        let (old, new) = (try EncodedPicture(), try EncodedPicture.blue)
        let versions = Versions("\"1\"", old.file, "no-cache")
        let server = try versions.start()
        let (fixture, url) = (try ManagerFixture(), server.url("/a"))
        _ = try await fixture.manager.image(for: url, options: options())
        versions.version.withLock { ($0.tag, $0.file) = ("\"2\"", new.file) }
        let changed = try await fixture.manager.image(for: url, options: options())
        #expect(changed.image == new.picture && changed.cacheType == .none)
        #expect(try await fixture.manager.image(for: url, options: options()).image == new.picture)
        #expect(versions.log == ["200 -", "200 \"1\"", "304 \"2\""])
        // Other code replaces the cached image, so its freshness record does not apply.
        await fixture.cache.store(old.picture, forKey: url.absoluteString)
        #expect(try await fixture.manager.image(for: url, options: options()).image == new.picture)
        #expect(versions.log.last == "200 -")
    }

    @Test("With staleWhileRevalidate a stale image is served while one request revalidates it")
    func staleImageIsServedDuringRevalidation() async throws {
        let (old, new) = (try EncodedPicture(), try EncodedPicture.blue)
        let versions = Versions("\"1\"", old.file, "max-age=10")
        let server = try versions.start()
        let (fixture, url) = (try ManagerFixture(), server.url("/a"))
        let policy = FreshnessPolicy(staleWhileRevalidate: 100)
        _ = try await fixture.manager.image(for: url, options: options(policy))
        fixture.clock.advance(by: 50)
        versions.version.withLock { ($0.tag, $0.file) = ("\"2\"", new.file) }
        let stale = try await fixture.manager.image(for: url, options: options(policy))
        #expect(stale.image == old.picture && stale.cacheType == .memory)
        await waitUntil { fixture.manager.loader.revalidating.withLock({ $0.isEmpty }) }
        let fresh = try await fixture.manager.image(for: url, options: options(policy))
        #expect(fresh.image == new.picture && fresh.cacheType == .memory)
        #expect(versions.log == ["200 -", "200 \"1\""])
        // Three accesses; the revalidation is none.
        #expect(fixture.recorder.all.count == 3)
        // After that time the entry is revalidated before it is used.
        fixture.clock.advance(by: 99)
        fixture.cache.clearMemoryCache()
        _ = try await fixture.manager.image(for: url, options: options(FreshnessPolicy()))
        #expect(versions.log.last == "304 \"2\"")
    }

    @Test("A policy honours no-store, and serves a stale image during stale-if-error")
    func noStoreAndStaleIfErrorAreHonoured() async throws {
        let sample = try EncodedPicture()
        let versions = Versions("\"1\"", sample.file, "no-store")
        let server = try versions.start()
        let fixture = try ManagerFixture()
        for _ in 0..<2 { _ = try await fixture.manager.image(for: server.url("/a"), options: options()) }
        #expect(versions.log == ["200 -", "200 -"] && fixture.cache.memoryStorage.count == 0)
        _ = try await fixture.manager.image(for: server.url("/a"))
        #expect(fixture.cache.memoryStorage.count == 1)

        versions.version.withLock { $0.control = "max-age=10, stale-if-error=20" }
        _ = try await fixture.manager.image(for: server.url("/b"), options: options())
        versions.version.withLock { $0.fails = true }
        fixture.clock.advance(by: 29)
        let standIn = try await fixture.manager.image(for: server.url("/b"), options: options())
        #expect(standIn.image == sample.picture && standIn.cacheType == .memory)
        fixture.clock.advance(by: 2)
        let error = await failure { try await fixture.manager.image(for: server.url("/b"), options: options()) }
        #expect((error as? NetworkError)?.bare == .invalidStatusCode(500, url: server.url("/b")))
        var only = options()
        only.onlyFromCache = true
        #expect(try await fixture.manager.image(for: server.url("/b"), options: only).cacheType == .memory)
    }

    @Test("A stale original is loaded again for a variant; clearing the cache removes freshness records")
    func staleOriginalMakesNoVariant() async throws {
        let (old, new) = (try EncodedPicture(), try EncodedPicture.blue)
        let versions = Versions("\"1\"", old.file, "max-age=10")
        let server = try versions.start()
        let (fixture, url) = (try ManagerFixture(), server.url("/a"))
        var options = options()
        options.cacheOriginalImage = true
        options.processor = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 4))
        _ = try await fixture.manager.image(for: url, options: options)
        options.processor = BlackWhiteImageProcessor()
        #expect(try await fixture.manager.image(for: url, options: options).isFromOriginal)
        versions.version.withLock { ($0.tag, $0.file) = ("\"2\"", new.file) }
        fixture.clock.advance(by: 11)
        options.processor = TintImageProcessor(color: PixelColor(red: 0, green: 0, blue: 0, alpha: 9))
        let loaded = try await fixture.manager.image(for: url, options: options)
        #expect(!loaded.isFromOriginal && versions.log.count == 2)
        // Variants of the stale original are stale, too.
        options.processor = BlackWhiteImageProcessor()
        let renewed = try await fixture.manager.image(for: url, options: options)
        #expect(try renewed.image == BlackWhiteImageProcessor().process(new.picture))
        #expect(fixture.cache.tiers.notes.note(of: url.absoluteString) != nil)
        await fixture.cache.clear()
        #expect(fixture.cache.tiers.notes.note(of: url.absoluteString) == nil)
    }
}
