import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Loads of bytes, which decode nothing", .timeLimit(.minutes(20)))
struct ImageBytesTests {
    private struct Bed {
        let fixture: ManagerFixture
        let transport: FakeTransport
        let sample: EncodedPicture
        let counting = CountingDecoder()
        let manager: HalcyonManager
        let key = fake("a").absoluteString

        init(_ body: Data? = nil) throws {
            sample = try EncodedPicture()
            transport = FakeTransport(answerAtOnce: body ?? sample.file)
            fixture = try ManagerFixture(transport)
            manager = HalcyonManager(
                cache: fixture.cache, downloader: fixture.downloader, decoder: counting.decoder)
        }

        var file: Data? { get throws { try fixture.cache.diskStorage?.value(forKey: key) } }
    }

    @Test("Bytes on disk are returned without decoding and without a request, whatever the processor is")
    func cachedBytesAreReadWithoutDecoding() async throws {
        let bed = try Bed()
        try bed.fixture.cache.diskStorage?.store(value: bed.sample.file, forKey: bed.key)
        let options = ImageOptions(processor: BlackWhiteImageProcessor())
        #expect(try await bed.manager.data(for: fake("a"), options: options) == bed.sample.file)
        #expect(bed.transport.requestCount == 0 && bed.counting.count == 0)
        #expect(!bed.fixture.cache.memoryStorage.isCached(forKey: bed.key))
    }

    @Test("Loaded bytes are kept, so that a load of the image needs no other request")
    func loadedBytesServeImageLater() async throws {
        let bed = try Bed()
        let results = try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<10 { group.addTask { try await bed.manager.data(for: fake("a")) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        await bed.fixture.settle()
        #expect(results.count == 10 && results.allSatisfy { $0 == bed.sample.file } && bed.counting.count == 0)
        #expect(try bed.file == bed.sample.file)
        let requests = bed.transport.requestCount
        let image = try await bed.manager.image(for: fake("a"))
        #expect(image.image == bed.sample.picture && image.cacheType == .disk)
        #expect(try await bed.manager.data(for: fake("a")) == bed.sample.file)
        #expect(bed.transport.requestCount == requests)
    }

    @Test("Bytes that are no picture are returned and not kept; a provider's are returned, too")
    func bytesThatAreNoPictureAreNotKept() async throws {
        let text = Data("no picture".utf8)
        let bed = try Bed(text)
        #expect(try await bed.manager.data(for: fake("a")) == text)
        let provided = Resource(.data(bed.sample.file, cacheKey: "mine"))
        #expect(try await bed.manager.data(for: provided) == bed.sample.file)
        await bed.fixture.settle()
        #expect(try bed.file == nil && bed.fixture.cache.isCached(forKey: "mine"))
        let options = ImageOptions { $0.onlyFromCache = true }
        guard
            case ManagerError.notCached? = await failure({
                try await bed.manager.data(for: fake("a"), options: options)
            })
        else {
            Issue.record("not cached")
            return
        }
    }

    @Test("Bytes that are private to a user are kept and returned for that user alone")
    func privateBytesAreTheUsersAlone() async throws {
        let sample = try EncodedPicture()
        let transport = ScriptedTransport { request in
            (ResponseHead(url: request.url, status: 200, headers: ["Cache-Control": "private"]), sample.file)
        }
        let fixture = try ManagerFixture(transport)
        let (ann, bob) = (Resource(fake("a"), user: "ann"), Resource(fake("a"), user: "bob"))
        _ = try await fixture.manager.data(for: ann)
        await fixture.settle()
        _ = try await fixture.manager.data(for: ann)
        #expect(transport.requests.count == 1 && !fixture.cache.isCached(forKey: fake("a").absoluteString))
        _ = try await fixture.manager.data(for: bob)
        #expect(transport.requests.count == 2)
    }

    @Test("A prefetch to the disk decodes nothing; one of a variant or to memory does")
    func prefetchToDiskDecodesNothing() async throws {
        let bed = try Bed()
        let report = await ImagePrefetcher(urls: [fake("a")], manager: bed.manager).run()
        await bed.fixture.settle()
        #expect(report.completed.count == 1 && bed.counting.count == 0)
        #expect(try bed.file == bed.sample.file)
        #expect(try await bed.manager.image(for: fake("a")).image == bed.sample.picture)
        #expect(bed.transport.requestCount == 1)
        let variant = ImageOptions(processor: BlackWhiteImageProcessor())
        _ = await ImagePrefetcher(urls: [fake("b")], manager: bed.manager, options: variant).run()
        #expect(bed.counting.count == 1)
        _ = await ImagePrefetcher(urls: [fake("c")], manager: bed.manager, toMemory: true).run()
        #expect(bed.counting.count == 2)
    }

    @Test("A file that is damaged behind its header is prefetched, and loaded again when it is requested")
    func damagedPrefetchIsLoadedAgain() async throws {
        let (whole, transport) = (try EncodedPicture(width: 200), FakeTransport())
        let fixture = try ManagerFixture(transport)
        transport.answer("a", whole.file.prefix(60))
        let report = await ImagePrefetcher(urls: [fake("a")], manager: fixture.manager).run()
        await fixture.settle()
        #expect(report.completed.count == 1 && fixture.cache.isCached(forKey: fake("a").absoluteString))
        transport.answer("a", whole.file)
        let result = try await fixture.manager.image(for: fake("a"))
        #expect(result.image == whole.picture && result.cacheType == .none)
    }
}
