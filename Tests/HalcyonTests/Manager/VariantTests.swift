import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonImages
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Manager: variants of cached originals, and shared work", .timeLimit(.minutes(20)))
struct VariantTests {
    @Test("Twenty simultaneous loads of one variant process and store it once")
    func simultaneousLoadsProcessVariantOnce() async throws {
        let sample = try EncodedPicture(width: 40)
        let transport = FakeTransport(answerAtOnce: sample.file)
        let fixture = try ManagerFixture(transport)
        let original = fake("a")
        try fixture.cache.diskStorage?.store(value: sample.file, forKey: original.absoluteString)
        let gate = DispatchSemaphore(value: 0)
        let processor = CountingProcessor(gate)
        let results = try await withThrowingTaskGroup(of: ImageResult.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await fixture.manager.image(for: original, options: ImageOptions(processor: processor))
                }
            }
            await waitUntil { fixture.manager.loader.variants.waiterCount == 20 }
            gate.signal()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        await fixture.settle()
        #expect(results.count == 20 && results.allSatisfy { $0.image == sample.picture })
        #expect(processor.count == 1)
        #expect(fixture.cache.statistics.disk.stores == 2)
        #expect(transport.requestCount == 0)
        #expect(fixture.manager.loader.variants.count == 0 && fixture.manager.loader.lookUps.count == 0)
    }

    @Test("Loads without a freshness policy and with honoursServer off share a variant")
    func loadsIgnoringFreshnessShareVariant() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture(FakeTransport())
        try fixture.cache.diskStorage?.store(value: sample.file, forKey: fake("a").absoluteString)
        let gate = DispatchSemaphore(value: 0)
        let processor = CountingProcessor(gate)
        let loads = [nil, FreshnessPolicy(honoursServer: false)].map { policy in
            Task {
                try await fixture.manager.image(
                    for: fake("a"),
                    options: ImageOptions {
                        ($0.processor, $0.freshness) = (processor, policy)
                    })
            }
        }
        await waitUntil { fixture.manager.loader.variants.waiterCount == 2 }
        #expect(fixture.manager.loader.variants.count == 1)
        gate.signal()
        for load in loads { #expect(try await load.value.image == sample.picture) }
        #expect(processor.count == 1)
    }

    @Test("A load that joins a variant's prefetch with a higher priority does not wait for its queue")
    func urgentLoadDoesNotWaitForPrefetchQueue() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture(FakeTransport())
        let manager = HalcyonManager(
            cache: fixture.cache, downloader: fixture.downloader, decodeLimiter: DecodeLimiter(limit: 2))
        try fixture.cache.diskStorage?.store(value: sample.file, forKey: fake("a").absoluteString)
        let gate = DispatchSemaphore(value: 1)
        let processor = CountingProcessor(gate)
        let held = Mutex<[@Sendable () -> Void]>([])
        let predicted = Task {
            let options = ImageOptions {
                ($0.processor, $0.priority) = (processor, .veryLow)
                $0.processingQueue = .custom { block in held.withLock { $0.append(block) } }
            }
            return try await manager.prefetch(Resource(fake("a")), options, toMemory: true)
        }
        await waitUntil { held.withLock { $0.count } == 1 }
        let options = ImageOptions {
            ($0.processor, $0.processingQueue) = (processor, .dispatch(.global()))
        }
        #expect(try await manager.image(for: fake("a"), options: options).image == sample.picture)
        _ = try await predicted.value
        for block in held.withLock({ $0 }) { block() }
        #expect(processor.count == 1 && manager.loader.variants.count == 0)
        await waitUntil { manager.decodeLimiter.load == (0, 0) }
    }

    @Test("Twenty simultaneous loads of one image on disk decode it once, and each is logged as a hit")
    func simultaneousLoadsDecodeDiskImageOnce() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: Data()))
        let codecs = ImageCodecs(copying: .standard)
        let counting = CountingDecoder()
        codecs.register(counting as any ImageDecoding)
        let cache = ImageCache(
            memory: .lasting(cost: 1 << 20),
            disk: DiskStorageConfig(name: "one", directory: URL(fileURLWithPath: fixture.folder.path)),
            serializer: BitmapSerializer(decoder: ImageDecoder(codecs: codecs)), recorder: fixture.recorder,
            triggers: [])
        let limiter = DecodeLimiter(limit: 1)
        let manager = HalcyonManager(cache: cache, downloader: fixture.downloader, decodeLimiter: limiter)
        try cache.diskStorage?.store(value: try EncodedPicture().file, forKey: fake("a").absoluteString)
        let gate = DispatchSemaphore(value: 0)
        limiter.queue(over: .dispatch(DispatchQueue(label: "test")), .normal).execute { gate.wait() }
        let results = try await withThrowingTaskGroup(of: ImageResult.self) { group in
            for _ in 0..<20 { group.addTask { try await manager.image(for: fake("a")) } }
            await waitUntil { manager.loader.lookUps.waiterCount == 20 }
            gate.signal()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { $0.cacheType != .none })
        #expect(counting.count == 1)
        #expect(fixture.recorder.all.count == 20)
    }

    @Test("Decoding from network, disk, original and provider waits for the manager's limiter")
    func everyDecodeWaitsForTheLimiter() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: sample.file))
        let limiter = DecodeLimiter(limit: 1)
        let manager = HalcyonManager(
            cache: fixture.cache, downloader: fixture.downloader, decodeLimiter: limiter)
        for name in ["disk", "original"] {
            try fixture.cache.diskStorage?.store(value: sample.file, forKey: fake(name).absoluteString)
        }
        let half = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3))
        let sources: [(Source, ImageOptions)] = [
            (Source(fake("network")), ImageOptions()), (Source(fake("disk")), ImageOptions()),
            (Source(fake("original")), ImageOptions(processor: half)),
            (.data(sample.file, cacheKey: "provider"), ImageOptions()),
        ]
        for (source, options) in sources {
            let gate = DispatchSemaphore(value: 0)
            limiter.queue(over: .dispatch(DispatchQueue(label: "test")), .normal).execute { gate.wait() }
            let load = Task { try await manager.image(for: source, options: options).image }
            await waitUntil { limiter.load.waiting == 1 }
            gate.signal()
            #expect(try await load.value.width == (options.processor == nil ? sample.picture.width : 4))
        }
        await waitUntil { limiter.load.running == 0 }
    }

    @Test("The thread that has read a file decodes it, if there is a turn")
    func readingThreadDecodes() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: Data()))
        let marker = DispatchSpecificKey<Bool>()
        fixture.cache.disk.queue.setSpecific(key: marker, value: true)
        let limiter = DecodeLimiter(limit: 1)
        let manager = HalcyonManager(cache: fixture.cache, downloader: fixture.downloader, decodeLimiter: limiter)
        try fixture.cache.diskStorage?.store(value: try EncodedPicture().file, forKey: fake("a").absoluteString)
        let ran = Mutex<[Bool]>([])
        let serializer = NotingPictures { ran.withLock { $0.append(DispatchQueue.getSpecific(key: marker) == true) } }
        let options = ImageOptions { $0.serializer = serializer }
        _ = try await manager.image(for: fake("a"), options: options)
        fixture.cache.clearMemoryCache()
        // Without a turn it waits, and the disk's thread does not.
        let gate = DispatchSemaphore(value: 0)
        limiter.queue(over: .dispatch(DispatchQueue(label: "test")), .normal).execute { gate.wait() }
        let load = Task { try await manager.image(for: fake("a"), options: options) }
        await waitUntil { limiter.load.waiting == 1 }
        gate.signal()
        _ = try await load.value
        #expect(ran.withLock { $0 } == [true, false])
        await waitUntil { limiter.load == (0, 0) }
    }

    @Test("A look-up of a missing file, or one that waits for a store, takes no decode turn")
    func missingFileAndPendingStoreTakeNoDecodeTurn() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: Data()))
        let serializer = GatedPictures()
        let cache = ImageCache(
            memory: .lasting(cost: 1 << 20),
            disk: DiskStorageConfig(name: "turns", directory: URL(fileURLWithPath: fixture.folder.path)),
            serializer: serializer, triggers: [])
        let limiter = DecodeLimiter(limit: 1)
        let manager = HalcyonManager(cache: cache, downloader: fixture.downloader, decodeLimiter: limiter)
        let options = ImageOptions { $0.onlyFromCache = true }
        let gate = DispatchSemaphore(value: 0)
        limiter.queue(over: .dispatch(DispatchQueue(label: "test")), .normal).execute { gate.wait() }
        let hasEnded = Mutex(false)
        let missing = Task {
            defer { hasEnded.withLock { $0 = true } }
            _ = try await manager.image(for: fake("missing"), options: options)
        }
        await waitUntil { hasEnded.withLock { $0 } || limiter.load.waiting > 0 }
        #expect(limiter.load == (1, 0))
        gate.signal()
        await #expect(throws: ManagerError.self) { try await missing.value }
        await waitUntil { limiter.load == (0, 0) }

        let key = fake("a").absoluteString
        cache.store(sample.picture, forKey: key, completionHandler: nil)
        cache.clearMemoryCache()
        let load = Task { try await manager.image(for: fake("a"), options: options) }
        await waitUntil { cache.memoryStorage.core.withLock { $0.reads.isPending(key) } }
        #expect(limiter.load == (0, 0))
        serializer.gate.signal()
        #expect(try await load.value.image == sample.picture)
    }

    @Test("Predicted work leaves one decode turn to other work, unless the limit is one")
    func predictedWorkLeavesOneDecodeTurn() async {
        for limit in [1, 3] {
            let limiter = DecodeLimiter(limit: limit)
            let gate = DispatchSemaphore(value: 0)
            let queue = DispatchQueue(label: "test", attributes: .concurrent)
            for _ in 0..<4 { limiter.queue(over: .dispatch(queue), .veryLow).execute { gate.wait() } }
            let most = max(1, limit - 1)
            #expect(limiter.load == (most, 4 - most))
            limiter.queue(over: .dispatch(queue), .low).execute { gate.wait() }
            #expect(limiter.load == (limit, limit == 1 ? 4 : 2))
            for _ in 0..<5 { gate.signal() }
            await waitUntil { limiter.load == (0, 0) }
        }
    }

    @Test("A processor's error on a cached original ends the load, and nothing is downloaded")
    func processorErrorEndsLoadWithoutDownload() async throws {
        struct Refused: Error {}
        struct Refusing: BitmapProcessor {
            let identifier = "refusing"
            func process(_ picture: Bitmap) throws -> Bitmap { throw Refused() }
        }
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        let fixture = try ManagerFixture(transport)
        try fixture.cache.diskStorage?.store(value: sample.file, forKey: fake("a").absoluteString)
        for onlyFromCache in [false, true, false] {
            var options = ImageOptions(processor: Refusing())
            options.onlyFromCache = onlyFromCache
            let error = await failure { try await fixture.manager.image(for: fake("a"), options: options) }
            #expect(error is Refused)
        }
        #expect(transport.requestCount == 0)
        // A damaged original is removed and loaded again.
        try fixture.cache.diskStorage?.store(value: sample.file.dropLast(20), forKey: fake("a").absoluteString)
        let error = await failure {
            try await fixture.manager.image(for: fake("a"), options: ImageOptions(processor: Refusing()))
        }
        #expect(error is Refused && transport.requestCount == 1)
        #expect(!fixture.cache.isCached(forKey: fake("a").absoluteString))
    }

    @Test("A cache that encrypts stores originals encrypted and makes variants of them without a download")
    func encryptingCacheStoresOriginalsEncrypted() async throws {
        let sample = try EncodedPicture(width: 40)
        let transport = FakeTransport(answerAtOnce: sample.file)
        let fixture = try ManagerFixture(transport)
        let cache = ImageCache(
            memory: .lasting(cost: 1 << 20),
            disk: DiskStorageConfig(name: "secret", directory: URL(fileURLWithPath: fixture.folder.path)),
            serializer: XORSerializer(), triggers: [])
        let manager = HalcyonManager(cache: cache, downloader: fixture.downloader)
        let key = fake("a").absoluteString
        func stored() async -> Data? { await cache.original(forKey: EntryKey(key), options: CacheOptions()) }
        // Stored as an image, and as the original of a variant.
        for options in [ImageOptions(), ImageOptions(processor: BlackWhiteImageProcessor())] {
            var options = options
            (options.waitForCache, options.cacheOriginalImage) = (true, true)
            await cache.clear()
            _ = try await manager.image(for: fake("a"), options: options)
            let bytes = try #require(await stored(), "\(options.processor?.identifier ?? "none")")
            #expect(bytes != sample.file && XORSerializer().value(with: bytes) == sample.picture)
            cache.clearMemoryCache()
            #expect(try await manager.image(for: fake("a")).image == sample.picture)
            cache.clearMemoryCache()
            let processor = TintImageProcessor(tint: PixelColor(red: 0, green: 0, blue: 0, alpha: 9))
            let variant = try await manager.image(for: fake("a"), options: ImageOptions(processor: processor))
            #expect(variant.isFromOriginal && variant.image == processor.process(sample.picture))
        }
        #expect(transport.requestCount == 2)
        // An original that the serializer cannot read is removed and loaded again.
        await cache.clear()
        try cache.diskStorage?.store(value: sample.file, forKey: key)
        let loaded = try await manager.image(
            for: fake("a"), options: ImageOptions(processor: BlackWhiteImageProcessor()))
        #expect(!loaded.isFromOriginal && transport.requestCount == 3)
        #expect(await stored() == nil)
        await cache.close()
    }

    @Test("A variant of bytes that replaced the tagged original gets no tag")
    func variantOfReplacedBytesGetsNoTag() async throws {
        let (old, new) = (try EncodedPicture(), try EncodedPicture.blue)
        let versions = Versions("\"1\"", old.file, "max-age=60")
        let server = try versions.start()
        let (fixture, url) = (try ManagerFixture(), server.url("/a"))
        var options = ImageOptions()
        (options.freshness, options.waitForCache) = (FreshnessPolicy(), true)
        _ = try await fixture.manager.image(for: url, options: options)
        // Replace the file by another version, beside which the record of the earlier one is left.
        let notes = fixture.cache.notes
        let note = await notes.settled(of: url.absoluteString)
        try fixture.cache.diskStorage?.store(value: new.file, forKey: url.absoluteString)
        await notes.set(note, of: url.absoluteString)
        fixture.cache.clearMemoryCache()
        options.processor = BlackWhiteImageProcessor()
        let variant = try BlackWhiteImageProcessor().process(new.picture)
        #expect(try await fixture.manager.image(for: url, options: options).image == variant)
        #expect(versions.log == ["200 -"])
        // With the old tag the server would answer 304. Without a tag the image is loaded.
        let loaded = try await fixture.manager.image(for: url, options: options)
        #expect(try loaded.image == BlackWhiteImageProcessor().process(old.picture))
        #expect(versions.log == ["200 -", "200 -"])
        // A variant of the tagged bytes gets the tag.
        try fixture.cache.diskStorage?.store(value: old.file, forKey: url.absoluteString)
        await fixture.cache.remove(forKey: url.absoluteString)
        options.processor = DefaultImageProcessor()
        _ = try await fixture.manager.image(for: url, options: options)
        options.processor = BlackWhiteImageProcessor()
        await fixture.cache.remove(
            forKey: EntryKey(url.absoluteString, processorIdentifier: options.processor?.identifier ?? ""))
        for _ in 0..<2 {
            #expect(
                try await fixture.manager.image(for: url, options: options).image
                    == BlackWhiteImageProcessor().process(old.picture))
            fixture.clock.advance(by: 90)
        }
        #expect(versions.log == ["200 -", "200 -", "200 -", "304 \"1\""])
    }

    @Test("Cancelling one waiter leaves shared work to the others; cancelling the last one cancels it")
    func cancellingLastWaiterCancelsSharedWork() async throws {
        let shared = WatchedWork()
        let one = Task { try await shared.value() }
        try await until { shared.starts == 1 }
        let two = Task { try await shared.value() }
        try await until { shared.work.waiterCount == 2 }
        one.cancel()
        shared.gate.signal()
        #expect(try await two.value == 7)
        #expect(shared.starts == 1 && !shared.wasCancelled)
        let three = Task { try await shared.value() }
        try await until { shared.starts == 2 }
        three.cancel()
        try await until { shared.work.count == 0 }
        shared.gate.signal()
        _ = await failure { try await three.value }
        #expect(shared.wasCancelled)
    }

    @Test("The limiter runs at most its limit at once, the most urgent first, without blocking callers")
    func limiterRunsMostUrgentWorkFirst() async throws {
        let limiter = DecodeLimiter(limit: 2)
        let seen = Order()
        let gate = DispatchSemaphore(value: 0)
        for index in 0..<2 {
            limiter.queue(over: .dispatch(DispatchQueue(label: "test")), .normal).execute {
                gate.wait()
                seen.add(-1 - index)
            }
        }
        for (index, priority) in [TransferPriority.low, .normal, .high, .normal, .veryHigh].enumerated() {
            limiter.queue(over: .untouch, priority).execute {
                seen.add(index)
            }
        }
        #expect(limiter.load.running == 2 && limiter.load.waiting == 5)
        #expect(seen.values.isEmpty)
        // One turn is free: the waiting work runs one at a time.
        gate.signal()
        try await until { seen.values.count == 6 }
        #expect(Array(seen.values.dropFirst()) == [4, 2, 1, 3, 0])
        gate.signal()
        try await until { limiter.load.running == 0 }
        #expect(limiter.load.waiting == 0)
    }
}

extension CallbackQueue {
    /// Waits on a thread of the queue.
    fileprivate func wait(_ gate: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            execute {
                gate.wait()
                continuation.resume()
            }
        }
    }
}

/// Waits until something holds, at most a minute.
private func until(_ holds: @Sendable () -> Bool) async throws {
    for _ in 0..<60_000 {
        if holds() { return }
        try await Task.sleep(for: .milliseconds(1))
    }
    Issue.record("it did not come to hold within a minute")
}

/// A serializer that waits at a gate before it makes bytes.
private final class GatedPictures: CacheSerializer {
    let gate = DispatchSemaphore(value: 0)
    private let inner = BitmapSerializer()

    func data(with value: Bitmap, original: Data?) -> Data? {
        gate.wait()
        return inner.data(with: value, original: original)
    }

    func value(with data: Data) -> Bitmap? { inner.value(with: data) }
}

/// A serializer that notes each time that it makes a picture.
private struct NotingPictures: CacheSerializer {
    let note: @Sendable () -> Void
    private let inner = BitmapSerializer()

    init(_ note: @escaping @Sendable () -> Void) { self.note = note }

    func data(with value: Bitmap, original: Data?) -> Data? { inner.data(with: value, original: original) }

    func value(with data: Data) -> Bitmap? {
        note()
        return inner.value(with: data)
    }
}

/// Shared work that waits at a gate.
private final class WatchedWork: Sendable {
    let work = SharedWork<String, Int>(DecodeLimiter(limit: 1))
    let gate = DispatchSemaphore(value: 0)
    private let started = Atomic<Int>(0)
    private let cancelled = Atomic<Bool>(false)

    var starts: Int { started.load(ordering: .relaxed) }
    var wasCancelled: Bool { cancelled.load(ordering: .relaxed) }

    func value() async throws -> Int {
        try await work.value(of: "a") { [self] _ in
            started.add(1, ordering: .relaxed)
            await CallbackQueue.dispatch(DispatchQueue(label: "test")).wait(gate)
            cancelled.store(Task.isCancelled, ordering: .relaxed)
            return 7
        }.value
    }
}

/// Numbers in the order in which they were added.
private final class Order: Sendable {
    private let numbers = Mutex<[Int]>([])
    var values: [Int] { numbers.withLock { $0 } }
    func add(_ number: Int) { numbers.withLock { $0.append(number) } }
}

/// Returns the picture unchanged, counts its calls and waits at a gate.
private final class CountingProcessor: BitmapProcessor {
    let identifier = "counting"
    private let calls = Atomic<Int>(0)
    private let gate: DispatchSemaphore
    var count: Int { calls.load(ordering: .relaxed) }

    init(_ gate: DispatchSemaphore) { self.gate = gate }

    func process(_ picture: Bitmap) -> Bitmap {
        calls.add(1, ordering: .relaxed)
        gate.wait()
        defer { gate.signal() }
        return picture
    }
}

/// Stores pictures as the inverted bytes of their PNG files, in place of an encryption.
private struct XORSerializer: CacheSerializer {
    func data(with value: Bitmap, original: Data?) -> Data? {
        (try? ImageEncoder.png().encode(value)).map { Data($0.map { ~$0 }) }
    }

    func value(with data: Data) -> Bitmap? { try? ImageDecoder().decode(Data(data.map { ~$0 })) }
}
