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
        fixture.cache.disk.queue.suspend()
        for _ in 0..<10 {
            let found = try await fixture.manager.image(for: url, options: options())
            #expect(found.cacheType == .memory && found.image == sample.picture)
        }
        fixture.cache.disk.queue.resume()
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
        let options = { self.options(FreshnessPolicy(staleIfError: nil)) }
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
        options.processor = TintImageProcessor(tint: PixelColor(red: 0, green: 0, blue: 0, alpha: 9))
        let loaded = try await fixture.manager.image(for: url, options: options)
        #expect(!loaded.isFromOriginal && versions.log.count == 2)
        // Variants of the stale original are stale, too.
        options.processor = BlackWhiteImageProcessor()
        let renewed = try await fixture.manager.image(for: url, options: options)
        #expect(try renewed.image == BlackWhiteImageProcessor().process(new.picture))
        #expect(fixture.cache.notes.note(of: url.absoluteString) != nil)
        await fixture.cache.clear()
        #expect(fixture.cache.notes.note(of: url.absoluteString) == nil)
    }

    /// A transport that answers with a picture, its fields and a status, and 304 to its tag; or fails.
    private final class Origin: Transport {
        private struct Ended: Transfer {
            func cancel() {}
            func pause() {}
            func resume() {}
            func setPriority(_ priority: TransferPriority) {}
        }

        let fields: Mutex<HeaderFields>
        let error = Mutex<NetworkError?>(nil)
        let file: Data
        private let asked = Atomic(0)

        init(_ file: Data, _ fields: HeaderFields) {
            self.file = file
            self.fields = Mutex(fields)
        }

        var askedCount: Int { asked.load(ordering: .relaxed) }

        func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
            asked.add(1, ordering: .relaxed)
            let fields = fields.withLock { $0 }
            let isKnown = request.headers["If-None-Match"].map { $0 == fields["ETag"] } ?? false
            if let error = error.withLock({ $0 }) {
                receiver.finished(.failure(error))
            } else {
                receiver.received(ResponseHead(url: request.url, status: isKnown ? 304 : 200, headers: fields))
                if !isKnown { file.withUnsafeBytes { receiver.received($0) } }
                receiver.finished(.success(TransferMetrics()))
            }
            return Ended()
        }
    }

    @Test("A 304 without Cache-Control leaves max-age and must-revalidate as the 200 said")
    func notModifiedWithoutDirectivesKeepsThem() async throws {
        let sample = try EncodedPicture()
        let origin = Origin(sample.file, ["ETag": "\"1\"", "Cache-Control": "max-age=10, must-revalidate"])
        let fixture = try ManagerFixture(origin)
        let policy = options(FreshnessPolicy(staleWhileRevalidate: 3_600))
        func look() async throws { _ = try await fixture.manager.image(for: fake("a"), options: policy) }
        try await look()
        origin.fields.withLock { $0 = ["ETag": "\"1\""] }
        fixture.clock.advance(by: 11)
        try await look()
        #expect(origin.askedCount == 2)
        // Fresh for ten seconds again, and then asked for before it is shown.
        fixture.clock.advance(by: 9)
        try await look()
        #expect(origin.askedCount == 2)
        fixture.clock.advance(by: 1)
        origin.error.withLock { $0 = .cannotConnect("no route") }
        #expect(await failure { try await look() } as? NetworkError == .cannotConnect("no route"))
    }

    @Test("An image without Cache-Control is not asked for at every view, but after a tenth of its age")
    func estimatedLifetimeIsUsed() async throws {
        let sample = try EncodedPicture()
        let clock = ManualClock()
        let origin = Origin(sample.file, ["Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT", "ETag": "\"1\""])
        let fixture = try ManagerFixture(origin, clock: clock)
        let tenth = min(clock.now / 1_000_000 / 10, 86_400)
        func look(_ policy: FreshnessPolicy = FreshnessPolicy()) async throws {
            _ = try await fixture.manager.image(for: fake("a"), options: options(policy))
        }
        for _ in 0..<3 { try await look() }
        fixture.clock.advance(by: Double(tenth) - 1)
        try await look()
        #expect(origin.askedCount == 1)
        try await look(FreshnessPolicy(heuristicShare: 0))
        #expect(origin.askedCount == 2)
    }

    @Test("An answer that was received when the clock was ahead does not stay fresh until then")
    func clockThatWasAheadKeepsNothingFresh() async throws {
        let sample = try EncodedPicture()
        let origin = Origin(sample.file, ["ETag": "\"1\"", "Cache-Control": "max-age=60"])
        let fixture = try ManagerFixture(origin)
        fixture.clock.advance(by: 200_000_000)
        _ = try await fixture.manager.image(for: fake("a"), options: options())
        fixture.clock.advance(by: -200_000_000)
        for _ in 0..<2 { _ = try await fixture.manager.image(for: fake("a"), options: options()) }
        // Once, and not again within its minute.
        #expect(origin.askedCount == 2)
        fixture.clock.advance(by: 60)
        _ = try await fixture.manager.image(for: fake("a"), options: options())
        #expect(origin.askedCount == 3)
    }

    @Test(
        "Offline, a stale image is shown for a week, and the server is asked again after a pause",
        arguments: [false, true])
    func offlineShowsWhatIsThere(inBackground: Bool) async throws {
        let sample = try EncodedPicture()
        let origin = Origin(sample.file, ["ETag": "\"1\"", "Cache-Control": "max-age=10"])
        let fixture = try ManagerFixture(origin, memory: .lasting(cost: 1 << 20))
        var call = ImageOptions()
        call.freshness = FreshnessPolicy(staleWhileRevalidate: inBackground ? 100_000 : nil)
        call.waitForCache = true
        func look() async throws -> ImageResult {
            let found = try await fixture.manager.image(for: fake("a"), options: call)
            await waitUntil { fixture.manager.loader.revalidating.withLock { $0.isEmpty } }
            return found
        }
        _ = try await look()
        origin.error.withLock { $0 = .timedOut(.connect) }
        fixture.clock.advance(by: 11)
        // One request in each pause: 10, 20 and 40 seconds.
        for (pause, count) in [(9, 2), (1, 2), (19, 3), (1, 3), (39, 4)] {
            #expect(try await look().image == sample.picture && origin.askedCount == count)
            #expect(try await look().image == sample.picture && origin.askedCount == count)
            fixture.clock.advance(by: Double(pause))
        }
        origin.error.withLock { $0 = nil }
        fixture.clock.advance(by: 1)
        _ = try await look()
        #expect(origin.askedCount == 5 && fixture.manager.loader.pauses.count == 0)
        // A week after it was fresh it is an error.
        origin.error.withLock { $0 = .cannotConnect("no route") }
        call.freshness = FreshnessPolicy()
        fixture.clock.advance(by: 10 + 604_800 - 1)
        _ = try await look()
        fixture.clock.advance(by: 1)
        #expect(await failure { try await look() } as? NetworkError == .cannotConnect("no route"))
    }

    @Test("Offline, a variant is made of a stale original")
    func offlineMakesVariantOfStaleOriginal() async throws {
        let sample = try EncodedPicture()
        let origin = Origin(sample.file, ["ETag": "\"1\"", "Cache-Control": "max-age=10"])
        let fixture = try ManagerFixture(origin)
        _ = try await fixture.manager.image(for: fake("a"), options: options())
        fixture.clock.advance(by: 20)
        origin.error.withLock { $0 = .cannotConnect("no route") }
        var call = options()
        call.processor = BlackWhiteImageProcessor()
        let made = try await fixture.manager.image(for: fake("a"), options: call)
        #expect(try made.image == BlackWhiteImageProcessor().process(sample.picture) && made.isFromOriginal)
        call.freshness = FreshnessPolicy(staleIfError: nil)
        call.processor = TintImageProcessor(tint: PixelColor(red: 0, green: 0, blue: 0, alpha: 9))
        #expect(await failure { try await fixture.manager.image(for: fake("a"), options: call) } is NetworkError)
    }

    @Test("Joined loads of a stale image read and hash its file once")
    func joinedLoadsCheckTheFileOnce() async throws {
        let (sample, transport) = (try EncodedPicture(), FakeTransport())
        let fixture = try ManagerFixture(transport)
        let fields: HeaderFields = ["ETag": "\"1\"", "Cache-Control": "max-age=10"]
        transport.answer("a", sample.file, headers: fields)
        _ = try await fixture.manager.image(for: fake("a"), options: options())
        fixture.clock.advance(by: 11)
        let loads = (0..<20).map { _ in
            Task { [options = options()] in try await fixture.manager.image(for: fake("a"), options: options) }
        }
        await fixture.downloader.waitForWaiters(20)
        let checks = fixture.manager.loader.checks
        #expect(checks.madeCount == 1 && checks.count == 1)
        transport.answer("a", Data(), status: 304, headers: fields)
        for load in loads { #expect(try await load.value.image == sample.picture) }
        #expect(checks.count == 0)
        // The next time it is checked again.
        fixture.clock.advance(by: 11)
        transport.answer("a", Data(), status: 304, headers: fields)
        _ = try await fixture.manager.image(for: fake("a"), options: options())
        #expect(checks.madeCount == 2)
    }

    @Test("A load that is cancelled while it revalidates notes nothing, and its image stays as it was")
    func cancelledRevalidationNotesNothing() async throws {
        let (sample, transport) = (try EncodedPicture(), FakeTransport())
        let fixture = try ManagerFixture(transport)
        transport.answer("a", sample.file, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=10"])
        _ = try await fixture.manager.image(for: fake("a"), options: options())
        let key = fake("a").absoluteString
        let note = fixture.cache.notes.note(of: key)
        fixture.clock.advance(by: 11)
        let load = Task { [options = options()] in try await fixture.manager.image(for: fake("a"), options: options) }
        await transport.waitForCalls(2)
        load.cancel()
        #expect(await failure { try await load.value } is CancellationError)
        await waitUntil { fixture.manager.loader.checks.count == 0 }
        await fixture.settle()
        #expect(fixture.cache.notes.note(of: key) == note && note != nil)
        #expect(fixture.manager.loader.pauses.count == 0 && fixture.cache.isCached(forKey: key))
    }
}
