import Foundation
import Halcyon
import HalcyonSupport
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Loads share decoding and the first steps of their processors", .timeLimit(.minutes(20)))
struct SharedStepTests {
    /// Counts its calls.
    private final class Step: BitmapProcessor {
        let identifier: String
        private let calls = Atomic<Int>(0)
        var count: Int { calls.load(ordering: .relaxed) }

        init(_ name: String) { identifier = name }

        func process(_ picture: Bitmap) -> Bitmap {
            calls.add(1, ordering: .relaxed)
            return picture
        }
    }

    private struct Bed {
        let sample: EncodedPicture
        let transport = FakeTransport()
        let fixture: ManagerFixture
        let counting = CountingDecoder()
        let manager: HalcyonManager
        let a = Step("a")
        let b = Step("b")
        let c = Step("c")

        init() throws {
            sample = try EncodedPicture()
            fixture = try ManagerFixture(transport)
            manager = HalcyonManager(
                cache: fixture.cache, downloader: fixture.downloader, decoder: counting.decoder)
        }

        /// Loads an image with each processor at the same time, over one transfer.
        func load(_ source: Source, _ processors: [any ImageProcessor], answer: () async -> Void) async throws {
            let loads = processors.map { processor in
                Task { try await manager.image(for: source, options: ImageOptions(processor: processor)) }
            }
            await answer()
            for load in loads { #expect(try await load.value.image == sample.picture) }
        }
    }

    @Test("Several processors of one URL are one decoding")
    func processorsOfOneURLDecodeOnce() async throws {
        let bed = try Bed()
        try await bed.load(.network(fake("x")), [bed.a, bed.b, bed.c, DefaultImageProcessor()]) {
            await bed.fixture.downloader.waitForWaiters(4)
            bed.transport.answer("x", bed.sample.file)
        }
        #expect(bed.counting.count == 1 && bed.transport.requestCount == 1)
        #expect(bed.a.count == 1 && bed.b.count == 1 && bed.c.count == 1)
    }

    @Test("The first processor of several chains runs once, and each result is cached under its own key")
    func firstStepsOfChainsRunOnce() async throws {
        let bed = try Bed()
        let chains: [any ImageProcessor] = [bed.a, bed.a |> bed.b, bed.a |> bed.c, bed.a |> bed.b |> bed.c, bed.b]
        try await bed.load(.network(fake("x")), chains) {
            await bed.fixture.downloader.waitForWaiters(5)
            bed.transport.answer("x", bed.sample.file)
        }
        // b runs after a for two chains, and by itself; c after a, and after a and b.
        #expect(bed.counting.count == 1 && bed.a.count == 1 && bed.b.count == 2 && bed.c.count == 2)
        for chain in chains {
            #expect(
                bed.fixture.cache.isCached(forKey: EntryKey("http://fake/x", processorIdentifier: chain.identifier)))
        }
    }

    @Test("Processors of one provider's bytes share their decoding, too")
    func processorsOfOneProviderDecodeOnce() async throws {
        let bed = try Bed()
        let provider = SlowProvider(bed.sample.file)
        try await bed.load(.provider(provider), [bed.a, bed.a |> bed.b, bed.c]) {
            await waitUntil { bed.manager.loader.providers.waiterCount == 3 }
            provider.release()
        }
        #expect(bed.counting.count == 1 && bed.a.count == 1 && provider.askedCount == 1)
    }

    @Test("Processors of one cached original, and of one cached first step, share its decoding and their first steps")
    func processorsOfOneCachedFileDecodeOnce() async throws {
        for isOriginal in [true, false] {
            let bed = try Bed()
            let limiter = DecodeLimiter(limit: 1)
            let manager = HalcyonManager(
                cache: bed.fixture.cache, downloader: bed.fixture.downloader, decoder: bed.counting.decoder,
                decodeLimiter: limiter)
            let first: any ImageProcessor = isOriginal ? DefaultImageProcessor() : BlackWhiteImageProcessor()
            let key = EntryKey("http://fake/x", processorIdentifier: first.identifier)
            try bed.fixture.cache.diskStorage?.store(value: bed.sample.file, forKey: key.computed)
            let gate = DispatchSemaphore(value: 0)
            limiter.queue(over: .dispatch(DispatchQueue(label: "test")), .normal).execute { gate.wait() }
            let chains: [any ImageProcessor] = [bed.a, bed.a |> bed.b, bed.a |> bed.c, bed.c]
            let loads = chains.map { chain in
                Task { try await manager.image(for: fake("x"), options: ImageOptions(processor: first |> chain)) }
            }
            await waitUntil { limiter.load.waiting == 4 }
            #expect(manager.loader.files.count == 1)
            gate.signal()
            for load in loads { #expect(try await load.value.image == bed.sample.picture) }
            #expect(bed.a.count == 1 && bed.b.count == 1 && bed.c.count == 2, "original: \(isOriginal)")
            #expect(bed.counting.count == (isOriginal ? 1 : 0) && bed.transport.requestCount == 0)
            #expect(manager.loader.files.count == 0)
        }
    }

    @Test("A variant that is removed while another of its file is being made is kept again")
    func removedVariantIsKeptAgain() async throws {
        /// Waits at a gate.
        struct Gated: BitmapProcessor {
            let identifier = "gated"
            let gate: DispatchSemaphore
            func process(_ picture: Bitmap) -> Bitmap {
                gate.wait()
                return picture
            }
        }
        let bed = try Bed()
        try bed.fixture.cache.diskStorage?.store(value: bed.sample.file, forKey: "http://fake/x")
        let manager = HalcyonManager(
            cache: bed.fixture.cache, downloader: bed.fixture.downloader, decoder: bed.counting.decoder,
            decodeLimiter: DecodeLimiter(limit: 2))
        let gate = DispatchSemaphore(value: 0)
        let other = Task {
            try await manager.image(for: fake("x"), options: ImageOptions(processor: Gated(gate: gate)))
        }
        await waitUntil { bed.counting.count == 1 }
        let key = EntryKey("http://fake/x", processorIdentifier: "a")
        for _ in 0..<2 {
            _ = try await manager.image(for: fake("x"), options: ImageOptions(processor: bed.a))
            await bed.fixture.settle()
            #expect(bed.fixture.cache.isCached(forKey: key))
            await bed.fixture.cache.remove(forKey: key)
        }
        #expect(bed.counting.count == 1 && manager.loader.files.count == 1)
        gate.signal()
        _ = try await other.value
    }

    @Test("A step's error reaches all loads that share it, and one that is cancelled does not wait for the others")
    func sharedStepsShareErrorsAndAreLeft() async throws {
        struct Failed: Error {}
        let (steps, limiter) = (SharedSteps<Int>(), DecodeLimiter(limit: 1))
        let (hold, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let calls = CallCounter()
        limiter.queue(over: .dispatch(DispatchQueue(label: "test")), .normal).execute { hold.wait() }
        let loads = (0..<3).map { _ in
            Task {
                let work = LimitedWork(limiter, .normal, .untouch)
                return await failure {
                    try await steps.value(of: ByteName("a"), work) {
                        calls.add()
                        gate.wait()
                        throw Failed()
                    }
                }
            }
        }
        await waitUntil { limiter.load.waiting == 3 }
        hold.signal()
        await waitUntil { calls.count == 1 }
        loads[1].cancel()
        #expect(await loads[1].value is CancellationError)
        gate.signal()
        #expect(await loads[0].value is Failed)
        #expect(await loads[2].value is Failed)
        #expect(calls.count == 1)
    }

    @Test("An original that one load keeps and another shows is written once, and stays in memory")
    func keptAndShownOriginalStaysInMemory() async throws {
        let bed = try Bed()
        let kept = ImageOptions { ($0.processor, $0.diskPolicy) = (bed.a, .originals) }
        let memoryOnly = ImageOptions { $0.cacheMemoryOnly = true }
        for (name, shown) in [("x", ImageOptions()), ("y", memoryOnly)] {
            let stores = bed.fixture.cache.statistics.disk.stores
            let loads = [shown, kept].map { options in
                Task { try await bed.manager.image(for: fake(name), options: options) }
            }
            await bed.fixture.downloader.waitForWaiters(2)
            bed.transport.answer(name, bed.sample.file)
            for load in loads { _ = try await load.value }
            await bed.fixture.settle()
            let key = "http://fake/\(name)"
            #expect(bed.fixture.cache.memoryStorage.isCached(forKey: key))
            #expect(bed.fixture.cache.diskStorage?.isCached(forKey: key) == true)
            #expect(bed.fixture.cache.statistics.disk.stores == stores + 1)
        }
    }

    @Test("Originals and files that several joined loads keep are written once", arguments: [true, false])
    func sharedBytesAreWrittenOnce(isPrefetched: Bool) async throws {
        let bed = try Bed()
        let stores = { bed.fixture.cache.statistics.disk.stores }
        if isPrefetched {
            // A prefetch to the disk decodes nothing, and a load joins it that shows the image.
            let prefetch = Task { try await bed.manager.prefetch(Resource(fake("x")), ImageOptions(), toMemory: false) }
            let load = Task { try await bed.manager.image(for: fake("x")) }
            await bed.fixture.downloader.waitForWaiters(2)
            bed.transport.answer("x", bed.sample.file)
            _ = try await prefetch.value
            #expect(try await load.value.image == bed.sample.picture)
            await bed.fixture.settle()
            #expect(stores() == 1 && bed.fixture.cache.isCached(forKey: "http://fake/x"))
            #expect(bed.fixture.cache.memoryStorage.isCached(forKey: "http://fake/x"))
        } else {
            let loads = [bed.a, bed.b].map { step in
                Task {
                    try await bed.manager.image(
                        for: fake("x"),
                        options: ImageOptions {
                            $0.processor = step
                            $0.diskPolicy = .originals
                        })
                }
            }
            await bed.fixture.downloader.waitForWaiters(2)
            bed.transport.answer("x", bed.sample.file)
            for load in loads { _ = try await load.value }
            await bed.fixture.settle()
            #expect(stores() == 1 && bed.fixture.cache.isCached(forKey: "http://fake/x"))
        }
    }

    @Test("A chain uses the cached result of its longest beginning, in memory or on disk, and downloads nothing")
    func chainUsesCachedBeginning() async throws {
        for isInMemory in [true, false] {
            let bed = try Bed()
            bed.transport.answer("x", bed.sample.file)
            let (first, second) = (ImageOptions(processor: bed.a), ImageOptions(processor: bed.a |> bed.b))
            _ = try await bed.manager.image(for: fake("x"), options: first)
            await bed.fixture.settle()
            if !isInMemory { bed.fixture.cache.clearMemoryCache() }
            let result = try await bed.manager.image(for: fake("x"), options: second)
            #expect(result.image == bed.sample.picture && result.isFromOriginal)
            #expect(bed.a.count == 1 && bed.b.count == 1)
            await bed.fixture.settle()
            if !isInMemory { bed.fixture.cache.clearMemoryCache() }
            _ = try await bed.manager.image(
                for: fake("x"), options: ImageOptions(processor: bed.a |> bed.b |> bed.c))
            #expect(bed.a.count == 1 && bed.b.count == 1 && bed.c.count == 1 && bed.transport.requestCount == 1)
        }
    }

    @Test("A refresh, and a load that heeds its server, use no cached beginning")
    func refreshUsesNoCachedBeginning() async throws {
        let bed = try Bed()
        bed.transport.answer("x", bed.sample.file)
        _ = try await bed.manager.image(for: fake("x"), options: ImageOptions(processor: bed.a))
        for change in [{ $0.forceRefresh = true }, { $0.freshness = FreshnessPolicy() }]
            as [(inout ImageOptions) -> Void]
        {
            bed.transport.answer("x", bed.sample.file)
            var options = ImageOptions(processor: bed.a |> bed.b)
            change(&options)
            #expect(try await !bed.manager.image(for: fake("x"), options: options).isFromOriginal)
        }
        #expect(bed.transport.requestCount == 3)
    }
}
