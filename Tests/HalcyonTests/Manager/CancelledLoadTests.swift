import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Manager: a cancelled load asks for nothing and keeps nothing, wherever it waits", .timeLimit(.minutes(20)))
struct CancelledLoadTests {
    @Test("Cancelled while its file waits to be read", arguments: LoadKind.allCases)
    func cancelledBeforeReading(_ kind: LoadKind) async throws {
        let bed = try await CancellingBed()
        try await bed.keepOriginal()
        // Reads of the file wait for this change of it.
        let gate = DispatchSemaphore(value: 0)
        let change = Task {
            await bed.cache.onDisk(.change(EntryKey(fake("a").absoluteString))) { _ in gate.wait() }
        }
        await waitUntil { bed.cache.disk.pendingCount == 1 }
        let load = bed.start(bed.options(kind), kind)
        await waitUntil { bed.cache.disk.pendingCount == 2 }
        load.cancel()
        gate.signal()
        _ = await change.value
        #expect(await load.value?.isCancellation == true)
        await bed.expectNothing()
    }

    @Test("Cancelled while it waits for its turn to be decoded or processed", arguments: LoadKind.allCases)
    func cancelledBeforeItsTurn(_ kind: LoadKind) async throws {
        let bed = try await CancellingBed()
        try await bed.keepOriginal()
        let release = bed.occupyLimiter()
        let load = bed.start(bed.options(kind), kind)
        await waitUntil { bed.limiter.load.waiting == 1 }
        load.cancel()
        release()
        #expect(await load.value?.isCancellation == true)
        await bed.expectNothing()
    }

    @Test("Ten reused cells that pass over 200 images on disk send no request")
    func cellsOverCachedImagesSendNothing() async throws {
        let bed = try await CancellingBed()
        for number in 0..<200 {
            try bed.cache.diskStorage?.store(value: bed.sample.file, forKey: "http://fake/\(number)")
        }
        let release = bed.occupyLimiter()
        var cells = [Task<(any Error)?, Never>?](repeating: nil, count: 10)
        var loads: [Task<(any Error)?, Never>] = []
        for number in 0..<200 {
            cells[number % 10]?.cancel()
            let load = bed.start(ImageOptions(), .image, "\(number)")
            cells[number % 10] = load
            loads.append(load)
        }
        release()
        var shown = 0
        for load in loads where await load.value == nil { shown += 1 }
        #expect(shown >= 10)
        #expect(bed.transport.calls.isEmpty)
        #expect(bed.cache.memoryStorage.count <= shown)
    }

    @Test("Cancelled beside a load of the same image, it leaves that one alone and is no access")
    func cancelledBesideAnotherLoad() async throws {
        for kind in [LoadKind.image, .variant] {
            let bed = try await CancellingBed()
            try await bed.keepOriginal()
            let release = bed.occupyLimiter()
            let one = bed.start(bed.options(kind), kind)
            await waitUntil { bed.limiter.load.waiting == 1 }
            let two = bed.start(bed.options(kind), kind)
            await waitUntil { bed.loader.lookUps.waiterCount + bed.loader.variants.waiterCount == 2 }
            two.cancel()
            release()
            #expect(await two.value?.isCancellation == true)
            #expect(await one.value == nil)
            await bed.expectOnly(accesses: 1, files: kind == .variant ? 1 : 0, processed: kind == .variant ? 1 : 0)
        }
    }

    @Test("Cancelled while its processor runs, the variant is not kept")
    func cancelledWhileProcessing() async throws {
        let bed = try await CancellingBed()
        try await bed.keepOriginal()
        bed.processor.isHeld = true
        let load = bed.start(bed.options(.variant), .variant)
        await waitUntil { bed.processor.count == 1 }
        load.cancel()
        bed.processor.gate.signal()
        #expect(await load.value?.isCancellation == true)
        await bed.expectNothing(processed: 1)
    }

    @Test("Cancelled on the network: before the answer, or when the bytes wait for their turn")
    func cancelledOnTheNetwork() async throws {
        for hasArrived in [false, true] {
            let bed = try await CancellingBed()
            let release = bed.occupyLimiter()
            let load = bed.start(bed.options(.variant), .variant)
            await bed.transport.waitForCalls(1)
            if hasArrived {
                bed.transport.answer("a", bed.sample.file)
                await waitUntil { bed.limiter.load.waiting == 1 }
            }
            load.cancel()
            #expect(await load.value?.isCancellation == true)
            release()
            await waitUntil { bed.limiter.load == (0, 0) }
            await waitUntil { bed.downloader.transferCount == 0 }
            #expect(bed.processor.count == 0)
            #expect(bed.transport.calls.count { if case .start = $0 { true } else { false } } == 1)
            await bed.expectNothing(requests: 1)
        }
    }

    @Test("Cancelled while it waits for a request modifier, nothing is sent")
    func cancelledInItsModifier() async throws {
        let bed = try await CancellingBed()
        let modifier = HeldModifier()
        var options = ImageOptions()
        options.requestModifier = modifier
        let load = bed.start(options, .image)
        await waitUntil { modifier.isAsked }
        load.cancel()
        modifier.gate.signal()
        #expect(await load.value?.isCancellation == true)
        await waitUntil { bed.downloader.transferCount == 0 }
        await bed.expectNothing()
    }

    @Test("Cancelled between two attempts, there is no other attempt and no other source")
    func cancelledBetweenAttempts() async throws {
        let bed = try await CancellingBed()
        var options = ImageOptions()
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 3, retryInterval: .seconds(60))
        options.alternativeSources = [.network(fake("b"))]
        let load = bed.start(options, .image)
        await bed.transport.waitForCalls(1)
        bed.transport.fail("a", .timedOut(.connect))
        await waitUntil { bed.clock.sleeperCount == 1 }
        load.cancel()
        bed.clock.advance(by: 3_600)
        #expect(await load.value?.isCancellation == true)
        await bed.expectNothing(requests: 1)
    }

    @Test("Cancelled while its provider works, the bytes are neither decoded nor kept")
    func cancelledInItsProvider() async throws {
        let bed = try await CancellingBed()
        let provider = SlowProvider(bed.sample.file)
        let options = SharedOptions(bed.options(.variant), of: bed.manager)
        let load = Task {
            await failure { try await bed.loader.image(for: Resource(.provider(provider)), options, nil, nil) }
        }
        await waitUntil { provider.askedCount == 1 }
        load.cancel()
        #expect(await load.value?.isCancellation == true)
        provider.release()
        await waitUntil { bed.loader.providers.transferCount == 0 }
        await bed.expectNothing()
    }

    @Test("Cancelled while it waits to keep an image that others share, it keeps nothing")
    func cancelledBeforeKeeping() async throws {
        let places = KeptPlaces()
        let gate = DispatchSemaphore(value: 0)
        let isHeld = Mutex(false)
        let first = Task.detached {
            try await places.inTurn {
                isHeld.withLock { $0 = true }
                gate.wait()
            }
        }
        await waitUntil { isHeld.withLock { $0 } }
        let hasKept = Mutex(false)
        let second = Task { await failure { try await places.inTurn { hasKept.withLock { $0 = true } } } }
        second.cancel()
        gate.signal()
        try await first.value
        #expect(await second.value is CancellationError)
        #expect(!hasKept.withLock { $0 })
        // The turn went on to the next.
        #expect(try await places.inTurn { 7 } == 7)
    }

    @Test("Cancelled while its file is written, it ends at once, and what was stored before stays")
    func cancelledWhileWriting() async throws {
        let bed = try await CancellingBed()
        var options = ImageOptions()
        options.waitForCache = true
        let load = Task { [options] in await failure { try await bed.manager.image(for: fake("a"), options: options) } }
        await bed.transport.waitForCalls(1)
        bed.cache.disk.queue.suspend()
        bed.transport.answer("a", bed.sample.file)
        await waitUntil { bed.cache.memoryStorage.count == 1 }
        load.cancel()
        #expect(await load.value is CancellationError)
        bed.cache.disk.queue.resume()
        await bed.settle()
        #expect(bed.cache.isCached(forKey: fake("a").absoluteString))
    }

    @Test("A change of priority moves a load that waits to be processed, and a joined load moves it until it leaves")
    func priorityMovesWorkThatWaits() async throws {
        let bed = try await CancellingBed()
        let names = ["first", "second", "third"]
        /// The order in which the images are processed.
        func order(_ wanted: [TransferPriority], _ change: ([DownloadTask]) async -> Void) async -> [String] {
            await bed.cache.clear()
            for name in names {
                _ = try? bed.cache.diskStorage?.store(value: bed.sample.file, forKey: "http://fake/\(name)")
            }
            let order = Mutex<[String]>([])
            let release = bed.occupyLimiter()
            var tasks: [DownloadTask] = []
            for (number, name) in names.enumerated() {
                let options = ImageOptions {
                    ($0.priority, $0.callbackQueue) = (.low, .untouch)
                    $0.processor = NamingProcessor(name) { name in order.withLock { $0.append(name) } }
                }
                tasks.append(bed.manager.retrieveImage(with: fake(name), options: options))
                await waitUntil { bed.limiter.load.waiting == number + 1 }
            }
            await change(tasks)
            await waitUntil { bed.limiter.waitingPriorities == wanted }
            release()
            await waitUntil { order.withLock { $0.count } == 3 && bed.loader.variants.count == 0 }
            await bed.settle()
            return order.withLock { $0 }
        }
        #expect(await order([.low, .low, .low]) { _ in } == ["first", "second", "third"])
        let raised = await order([.low, .low, .veryHigh]) { $0[2].setPriority(.veryHigh) }
        #expect(raised == ["third", "first", "second"])
        let lowered = await order([.low, .high, .veryLow]) {
            $0[2].setPriority(.high)
            $0[1].setPriority(.high)
            $0[2].setPriority(.veryLow)
        }
        #expect(lowered == ["second", "first", "third"])
        // A visible load joins the third, on its own queue as well, and stays or leaves it.
        func visible() -> Task<(any Error)?, Never> {
            let options = ImageOptions(processor: NamingProcessor("third") { _ in })
            return Task { await failure { try await bed.manager.image(for: fake("third"), options: options) } }
        }
        let joined = await order([.low, .low, .normal, .normal]) { _ in _ = visible() }
        #expect(joined == ["third", "first", "second"])
        let left = await order([.low, .low, .low, .low]) { _ in
            let load = visible()
            await waitUntil { bed.limiter.waitingPriorities == [.low, .low, .normal, .normal] }
            load.cancel()
        }
        #expect(left == ["first", "second", "third"])
    }
}

/// What a cancelled load loads.
enum LoadKind: CaseIterable {
    /// An image that is on disk.
    case image
    /// The variant of an original that is on disk.
    case variant
    /// An image that is on disk, taken into memory by a prefetch.
    case prefetch
    /// An image that is on disk, by a load that heeds freshness.
    case fresh
    /// The variant of an original that is on disk, by a prefetch.
    case variantPrefetch

    var isVariant: Bool { self == .variant || self == .variantPrefetch }
    var isPrefetch: Bool { self == .prefetch || self == .variantPrefetch }
}

/// A manager whose limiter, disk, transport and processor a test can hold.
private final class CancellingBed: Sendable {
    /// What a load may have done.
    private struct Done: Equatable {
        var requests = 0
        var files = 0
        var accesses = 0
    }

    let sample: EncodedPicture
    let transport = FakeTransport()
    let fixture: ManagerFixture
    let limiter = DecodeLimiter(limit: 1)
    let manager: HalcyonManager
    let processor = HeldProcessor()
    private let before = Mutex(Done())

    private var done: Done {
        Done(
            requests: transport.calls.count { if case .start = $0 { true } else { false } },
            files: cache.diskStorage?.count ?? 0, accesses: recorder.all.count)
    }

    var cache: ImageCache<Bitmap> { fixture.cache }
    var downloader: ImageDownloader { fixture.downloader }
    var loader: ImageLoader { manager.loader }
    var clock: ManualClock { fixture.clock }
    var recorder: Recorder { fixture.recorder }

    init() async throws {
        sample = try EncodedPicture()
        fixture = try ManagerFixture(transport)
        manager = HalcyonManager(cache: fixture.cache, downloader: fixture.downloader, decodeLimiter: limiter)
    }

    /// Stores the image that loads ask for, with a record that it is fresh.
    func keepOriginal() async throws {
        let answered = Task {
            try await manager.image(
                for: fake("a"),
                options: ImageOptions { ($0.waitForCache, $0.freshness) = (true, FreshnessPolicy()) })
        }
        await transport.waitForCalls(1)
        var headers = HeaderFields()
        headers.add("Cache-Control", "max-age=3600")
        transport.answer("a", sample.file, headers: headers)
        _ = try await answered.value
        cache.clearMemoryCache()
        before.withLock { $0 = done }
    }

    func options(_ kind: LoadKind) -> ImageOptions {
        ImageOptions {
            if kind.isVariant { ($0.processor, $0.processingQueue) = (processor, .dispatch(processor.queue)) }
            if kind == .fresh { $0.freshness = FreshnessPolicy() }
        }
    }

    /// Starts a load whose task ends when all its work has.
    func start(_ options: ImageOptions, _ kind: LoadKind, _ name: String = "a") -> Task<(any Error)?, Never> {
        let options = SharedOptions(options, of: manager, isPrefetch: kind.isPrefetch)
        return Task {
            await failure {
                guard kind.isPrefetch else {
                    _ = try await loader.image(for: Resource(fake(name)), options, nil, nil)
                    return
                }
                _ = try await loader.inTurn(Resource(fake(name)), options) { load in
                    var load = load
                    (load.isPrefetch, load.keepsInMemory) = (true, true)
                    return try await loader.prefetch(load)
                }
            }
        }
    }

    /// Takes the only turn of the limiter. Returns what gives it back.
    func occupyLimiter() -> @Sendable () -> Void {
        let gate = DispatchSemaphore(value: 0)
        limiter.queue(over: .dispatch(DispatchQueue(label: "test.occupied")), .veryHigh).execute { gate.wait() }
        return { gate.signal() }
    }

    func settle() async {
        await waitUntil { limiter.load == (0, 0) }
        await fixture.settle()
    }

    /// Expects that a load which was cancelled has done nothing since.
    ///
    /// - Parameters:
    ///   - requests: the transfers that it had started before.
    ///   - processed: the calls of its processor that had begun before.
    func expectNothing(
        requests: Int = 0, processed: Int = 0, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await expectOnly(requests: requests, processed: processed, sourceLocation: sourceLocation)
        #expect(cache.memoryStorage.count == 0, sourceLocation: sourceLocation)
    }

    /// Expects this and no more since the bed was made, or since its original was kept.
    func expectOnly(
        requests: Int = 0, accesses: Int = 0, files: Int = 0, processed: Int = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await settle()
        let before = before.withLock { $0 }
        let now = done
        let since = Done(
            requests: now.requests - before.requests, files: now.files - before.files,
            accesses: now.accesses - before.accesses)
        #expect(since == Done(requests: requests, files: files, accesses: accesses), sourceLocation: sourceLocation)
        #expect(processor.count == processed, sourceLocation: sourceLocation)
    }
}

/// Returns the picture unchanged, counts its calls, and waits at a gate if a test says so.
private final class HeldProcessor: BitmapProcessor {
    let identifier = "held"
    let gate = DispatchSemaphore(value: 0)
    /// A thread that it may block.
    let queue = DispatchQueue(label: "test.processor")
    private let calls = Atomic<Int>(0)
    private let waits = Atomic<Bool>(false)

    var count: Int { calls.load(ordering: .sequentiallyConsistent) }
    var isHeld: Bool {
        get { waits.load(ordering: .relaxed) }
        set { waits.store(newValue, ordering: .relaxed) }
    }

    func process(_ picture: Bitmap) -> Bitmap {
        calls.add(1, ordering: .sequentiallyConsistent)
        if isHeld { gate.wait() }
        return picture
    }
}

/// Returns the picture unchanged, and says that it was called.
private struct NamingProcessor: BitmapProcessor {
    let identifier: String
    private let called: @Sendable (String) -> Void

    init(_ name: String, _ called: @escaping @Sendable (String) -> Void) {
        (identifier, self.called) = (name, called)
    }

    func process(_ picture: Bitmap) -> Bitmap {
        called(identifier)
        return picture
    }
}

/// A modifier that answers when a test releases it, also after a cancellation.
private final class HeldModifier: AsyncImageDownloadRequestModifier {
    let gate = DispatchSemaphore(value: 0)
    private let asked = Atomic<Bool>(false)
    var isAsked: Bool { asked.load(ordering: .relaxed) }

    func modified(for request: TransportRequest) async -> TransportRequest? {
        asked.store(true, ordering: .relaxed)
        return try? await CallbackQueue.dispatch(DispatchQueue(label: "test.modifier")).result { [gate] in
            gate.wait()
            return request
        }
    }
}
