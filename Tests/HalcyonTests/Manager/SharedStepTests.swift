import Foundation
import Halcyon
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
