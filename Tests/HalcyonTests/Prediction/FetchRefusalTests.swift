import Foundation
import Halcyon
import HalcyonLearning
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("Predictive prefetcher: pauses after an image the cache refused", .timeLimit(.minutes(20)))
struct FetchRefusalTests: PredictiveTests {
    /// A size limit below the smallest file on disk.
    private static let tooSmall = 4_000

    let notes = ScriptedPolicy.Notes()

    private func start(
        _ transport: FakeTransport, bytes: Int? = nil, memory: Int = 1 << 20, sizeLimit: Int = tooSmall,
        toMemory: Bool = false, options: ImageOptions? = nil
    ) throws -> ManagerFixture {
        let fixture = try ManagerFixture(transport, memory: .lasting(cost: memory), sizeLimit: sizeLimit)
        let predictive = fixture.manager.startPredicting(configuration { $0.toMemory = toMemory })
        predictive.announce([resource("a")])
        predictive.announce([AnnouncedResource(resource("b"), bytes: bytes)], options: options)
        return fixture
    }

    private func enlarge(_ fixture: ManagerFixture) {
        fixture.cache.diskStorage?.withConfig { $0.sizeLimit = 1 << 20 }
    }

    @Test("An image that the cache refused is fetched again only after growing pauses")
    func refusedImageIsFetchedAfterGrowingPauses() async throws {
        let file = try EncodedPicture().file
        let transport = FakeTransport(answerAtOnce: file)
        let fixture = try start(transport)
        #expect(try await asked(fixture, transport, after: 0) == 1)
        #expect(!fixture.cache.isCached(forKey: "b"))
        #expect(try await asked(fixture, transport, after: 29.5) == 1)
        #expect(try await asked(fixture, transport, after: 0.5) == 2)
        #expect(try await asked(fixture, transport, after: 59.5) == 2)
        #expect(try await asked(fixture, transport, after: 0.5) == 3)
        let statistics = await fixture.manager.predictive?.statistics
        #expect(statistics?.dropped == 3 && statistics?.droppedBytes == 3 * file.count && statistics?.failed == 0)
    }

    @Test("A refused image is fetched again once the cache has grown")
    func refusedImageIsFetchedAfterCacheGrows() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try start(transport)
        #expect(try await asked(fixture, transport, after: 0) == 1)
        enlarge(fixture)
        #expect(try await asked(fixture, transport, after: 1) == 2)
        #expect(fixture.cache.isCached(forKey: "b"))
    }

    @Test("A refused image is fetched again if it is announced with another size")
    func refusedImageIsFetchedAfterNewSize() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try start(transport, bytes: 1_000)
        #expect(try await asked(fixture, transport, after: 0) == 1)
        for (bytes, count) in [(nil, 1), (1_000, 1), (999, 2), (999, 2), (1_000, 3)] {
            fixture.manager.predictive?.announce([AnnouncedResource(resource("b"), bytes: bytes)])
            #expect(try await asked(fixture, transport, after: 1) == count)
        }
    }

    @Test("A load that the cache does not keep does not end the pause")
    func loadPastCacheDoesNotEndPause() async throws {
        let (small, large) = (try EncodedPicture(), try EncodedPicture(width: 64))
        let transport = FakeTransport()
        // Room for "a" alone.
        let fixture = try start(transport, memory: small.picture.cacheCost, toMemory: true)
        transport.answer("a", small.file)
        transport.answer("b", large.file)
        #expect(try await asked(fixture, transport, after: 0) == 1)
        transport.answer("b", large.file)
        _ = try await fixture.manager.image(for: resource("b"))
        transport.answer("b", large.file)
        #expect(try await asked(fixture, transport, after: 1) == 2)
        #expect(fixture.cache.isCached(forKey: "a") && !fixture.cache.isCached(forKey: "b"))
    }

    @Test("An image announced as larger than the disk is fetched only if memory can hold it")
    func imageLargerThanDiskIsNotFetched() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try start(transport, bytes: 4_001)
        #expect(try await asked(fixture, transport, after: 0) == 0)
        #expect(try await asked(fixture, transport, after: 100_000) == 0)
        #expect(await fixture.manager.predictive?.statistics.begun == 0)
        enlarge(fixture)
        #expect(try await asked(fixture, transport, after: 1) == 1)

        let inMemory = FakeTransport(answerAtOnce: try EncodedPicture().file)
        #expect(try await asked(start(inMemory, bytes: 4_001, toMemory: true), inMemory, after: 0) == 1)
        let nowhere = FakeTransport(answerAtOnce: try EncodedPicture().file)
        #expect(try await asked(start(nowhere, bytes: 4_001, memory: 4_000, toMemory: true), nowhere, after: 0) == 0)
    }

    @Test("Whether an image fits depends on its destination tier and its processor")
    func fittingDependsOnDestinationTier() {
        var known = ObjectCatalogue.Known()
        let capacity = CacheCapacity(memory: 100, disk: 50)
        #expect(known.fits(capacity, toMemory: false))
        func fits(
            _ bytes: Int?, cost: Int = 0, toMemory: Bool = false, _ change: (inout ImageOptions) -> Void = { _ in }
        ) -> Bool {
            var options = ImageOptions()
            change(&options)
            (known.template, known.bytes, known.cost) = (LoadTemplate(options, defaults: ImageOptions()), bytes, cost)
            return known.fits(capacity, toMemory: toMemory)
        }
        #expect(fits(nil) && fits(50) && !fits(51) && fits(51, toMemory: true) && !fits(101, toMemory: true))
        #expect(!fits(51, cost: 101, toMemory: true) && fits(50, cost: 101, toMemory: true))
        #expect(fits(51) { $0.cacheMemoryOnly = true } && !fits(1, cost: 101) { $0.cacheMemoryOnly = true })
        #expect(fits(1_000) { $0.processor = BlackWhiteImageProcessor() })
    }
}
