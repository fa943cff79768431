import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Manager: where an image is looked for, and in which order", .timeLimit(.minutes(20)))
struct ManagerOrderTests {
    private let mono = ImageOptions(processor: BlackWhiteImageProcessor())

    @Test("A load tries the cache, then the cached original, then the download; onlyFromCache ends before it")
    func loadTriesCacheThenOriginalThenDownload() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        let fixture = try ManagerFixture(transport)
        let manager = fixture.manager
        let loaded = try await manager.image(for: fake("a"))
        #expect(loaded.image == sample.picture && loaded.cacheType == .none && !loaded.isFromOriginal)
        #expect(try await manager.image(for: fake("a")).cacheType == .memory)
        await fixture.settle()
        fixture.cache.clearMemoryCache()
        #expect(try await manager.image(for: fake("a")).cacheType == .disk)
        #expect(transport.calls.count == 1)

        let made = try await manager.image(for: fake("a"), options: mono)
        #expect(made.isFromOriginal && made.cacheType == .none)
        #expect(try made.image == BlackWhiteImageProcessor().process(sample.picture))
        let again = try await manager.image(for: fake("a"), options: mono)
        #expect(again.cacheType == .memory && !again.isFromOriginal && again.image == made.image)
        #expect(transport.calls.count == 1)

        var only = mono
        only.onlyFromCache = true
        #expect(try await manager.image(for: fake("a"), options: only).cacheType == .memory)
        let error = await failure { [only] in try await manager.image(for: fake("b"), options: only) }
        guard case .notCached(let key)? = error as? ManagerError else {
            Issue.record("no error of its own: \(String(describing: error))")
            return
        }
        #expect(key == "http://fake/b@\(BlackWhiteImageProcessor().identifier)" && transport.calls.count == 1)
        #expect(try await manager.image(for: fake("b"), options: mono).cacheType == .none)
        #expect(transport.calls.count == 2)
    }

    @Test("The synchronous look-up counts as an access on a hit, and counts nothing on a miss")
    func synchronousLookUpCountsHitsOnly() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: sample.file))
        let (manager, cache) = (fixture.manager, fixture.cache)
        let shoe = Resource(fake("a"), categories: ["shoes"], user: "u")
        #expect(manager.imageInMemory(for: shoe) == nil)
        #expect(cache.statistics.lookUps == TierCounts() && cache.statistics.memory.lookUps == HitCounts())
        #expect(try await manager.image(for: shoe, options: mono).cacheType == .none)
        #expect(cache.statistics.memory.lookUps.hits == 0)
        let misses = cache.statistics.memory.lookUps.misses
        #expect(manager.imageInMemory(for: shoe) == nil)
        let found = try #require(manager.imageInMemory(for: shoe, options: mono))
        #expect(try found.image == BlackWhiteImageProcessor().process(sample.picture))
        #expect(found.cacheType == .memory && found.source.cacheKey == shoe.cacheKey)
        #expect(cache.statistics.lookUps.memory == 1)
        #expect(cache.statistics.lookUpsByCategory["shoes"]?.memory == 1)
        #expect(cache.statistics.memory.lookUps == HitCounts(hits: 1, misses: misses))
        let record = try #require(fixture.recorder.all.last)
        #expect(record.outcome == .memory && record.user == "u" && record.categories == ["shoes"])
        var refresh = mono
        refresh.forceRefresh = true
        #expect(manager.imageInMemory(for: shoe, options: refresh) == nil)
        var other = shoe
        other.source = .network(fake("b"), cacheKey: "own")
        #expect(other.cacheKey == "own" && shoe.cacheKey == "http://fake/a")
    }

    @Test("forceRefresh loads and replaces a cached image; fromMemoryCacheOrRefresh ignores the disk")
    func forceRefreshReplacesCachedImage() async throws {
        let (old, new) = (try EncodedPicture(), try EncodedPicture.blue)
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        func load(_ body: Data?, _ calls: Int, _ change: (inout ImageOptions) -> Void = { _ in }) async throws
            -> ImageResult
        {
            var options = ImageOptions()
            options.waitForCache = true
            change(&options)
            let load = Task { [options] in try await fixture.manager.image(for: fake("a"), options: options) }
            if let body {
                await transport.waitForCalls(calls)
                transport.answer("a", body)
            }
            return try await load.value
        }
        #expect(try await load(old.file, 1).image == old.picture)
        #expect(try await load(new.file, 2) { $0.forceRefresh = true }.image == new.picture)
        #expect(try await load(nil, 2).image == new.picture)
        fixture.cache.clearMemoryCache()
        #expect(try await load(nil, 2).cacheType == .disk)
        fixture.cache.clearMemoryCache()
        #expect(try await load(old.file, 3) { $0.fromMemoryCacheOrRefresh = true }.image == old.picture)
        #expect(try await load(nil, 3) { $0.fromMemoryCacheOrRefresh = true }.cacheType == .memory)
    }

    @Test("Alternative sources are tried in order, and the error lists every failure")
    func alternativeSourcesAreTriedInOrder() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        var options = ImageOptions()
        options.alternativeSources = [.network(fake("b")), .data(sample.file, cacheKey: "c")]
        let first = Task { [options] in try await fixture.manager.image(for: fake("a"), options: options) }
        await transport.waitForCalls(1)
        transport.answer("a", Data(), status: 500)
        await transport.waitForCalls(2)
        transport.answer("b", Data("no image".utf8))
        let result = try await first.value
        #expect(result.image == sample.picture && result.source.cacheKey == "c")
        #expect(try await fixture.manager.image(for: .data(Data(), cacheKey: "c")).cacheType == .memory)

        options.alternativeSources = [.network(fake("b"))]
        let second = Task { [options] in
            await failure { try await fixture.manager.image(for: fake("a"), options: options) }
        }
        await transport.waitForCalls(3)
        transport.answer("a", Data(), status: 404)
        await transport.waitForCalls(4)
        transport.fail("b", .timedOut(.idle))
        guard case .allSourcesFailed(let failures)? = await second.value as? ManagerError else {
            Issue.record("the failures are not reported")
            return
        }
        #expect(failures.map(\.source.cacheKey) == ["http://fake/a", "http://fake/b"])
        #expect(failures.first?.error as? NetworkError == .invalidStatusCode(404, url: fake("a")))
        #expect(failures.last?.error as? NetworkError == .timedOut(.idle))
        // Without alternatives the load's own error is reported.
        let lone = Task { await failure { try await fixture.manager.image(for: fake("d")) } }
        await transport.waitForCalls(5)
        transport.answer("d", Data("no image".utf8))
        #expect(await lone.value as? ImageError == .unknownFormat)
        #expect(!fixture.cache.isCached(forKey: "http://fake/d"))
    }

    @Test("A failed transfer is retried as the strategy says, and the result is cached")
    func failedTransferIsRetriedAndCached() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        var options = ImageOptions()
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 2, retryInterval: .seconds(5))
        let load = Task { [options] in try await fixture.manager.image(for: fake("a"), options: options) }
        await transport.waitForCalls(1)
        transport.answer("a", Data(), status: 503)
        // The other sleeper is the memory's sweeper.
        await fixture.clock.waitForSleepers(2)
        fixture.clock.advance(by: 5)
        await transport.waitForCalls(2)
        transport.answer("a", sample.file)
        #expect(try await load.value.image == sample.picture)
        #expect(fixture.cache.imageCachedType(forKey: "http://fake/a") == .memory)
    }

    @Test("A transfer that ends because of Low Data Mode leads to the low-data source, without one to the error")
    func constrainedTransferLeadsToLowDataSource() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        transport.fail("large", .constrainedNetwork)
        transport.answer("small", sample.file)
        var options = ImageOptions()
        options.lowDataSource = .network(fake("small"))
        let result = try await fixture.manager.image(for: fake("large"), options: options)
        #expect(result.source.cacheKey == "http://fake/small")
        #expect(transport.calls == [.start("large", .normal), .start("small", .normal)])
        transport.fail("large", .constrainedNetwork)
        let error = await failure { try await fixture.manager.image(for: fake("large")) }
        #expect(error as? NetworkError == .constrainedNetwork)
    }

    @Test("In Low Data Mode the low-data source is loaded under its own key, or the load fails")
    func lowDataModeLoadsLowDataSource() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        let fixture = try ManagerFixture(transport, constrained: true)
        var options = ImageOptions()
        options.lowDataSource = .network(fake("small"))
        let result = try await fixture.manager.image(for: fake("large"), options: options)
        #expect(result.source.cacheKey == "http://fake/small" && transport.calls == [.start("small", .normal)])
        #expect(!fixture.cache.isCached(forKey: "http://fake/large"))
        options.lowDataSource = nil
        options.allowsConstrainedNetwork = false
        let error = await failure { [options] in
            try await fixture.manager.image(for: fake("large"), options: options)
        }
        #expect(error as? NetworkError == .constrainedNetwork)
    }
}
