import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Manager: concurrent loads share one transfer and are cancelled independently", .timeLimit(.minutes(20)))
struct ManagerLoadTests {
    @Test("A hundred concurrent requests for one URL cause one GET and one store")
    func concurrentRequestsShareOneGET() async throws {
        let sample = try EncodedPicture(width: 300)
        let everybody = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            everybody.wait()
            visit.answer(Array(sample.file))
        }
        let fixture = try ManagerFixture()
        var options = ImageOptions(processor: BlackWhiteImageProcessor())
        options.cacheOriginalImage = true
        options.waitForCache = true
        let expected = try BlackWhiteImageProcessor().process(sample.picture)
        let images = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 {
                group.addTask { [options] in
                    try await fixture.manager.image(for: server.url("/a"), options: options).image == expected
                }
            }
            group.addTask {
                await fixture.downloader.waitForWaiters(100)
                everybody.signal()
                return false
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(images == 100)
        #expect(server.visits.count == 1)
        await fixture.settle()
        let statistics = fixture.cache.statistics
        // The image, and the original.
        #expect(statistics.memory.stores == 1 && statistics.disk.stores == 2)
        // Each request is a look-up.
        #expect(statistics.lookUps.none == 100)
        #expect(fixture.recorder.all.map(\.outcome) == Array(repeating: .network, count: 100))
    }

    @Test("Two keys and two processors of one URL share the transfer, and each image is cached")
    func keysAndProcessorsShareOneTransfer() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let mono = ImageOptions(processor: BlackWhiteImageProcessor())
        let resources = ["x", "y"].map { Resource(fake("a"), cacheKey: $0) }
        let loads = resources.flatMap { resource in
            [ImageOptions(), mono].map { options in
                Task { try await fixture.manager.image(for: resource, options: options).image }
            }
        }
        await fixture.downloader.waitForWaiters(4)
        transport.answer("a", sample.file)
        let grey = try BlackWhiteImageProcessor().process(sample.picture)
        for (load, expected) in zip(loads, [sample.picture, grey, sample.picture, grey]) {
            #expect(try await load.value == expected)
        }
        #expect(transport.calls == [.start("a", .normal)])
        for key in ["x", "y", "x@\(mono.processor?.identifier ?? "")", "y@\(mono.processor?.identifier ?? "")"] {
            #expect(fixture.cache.isCached(forKey: key))
        }
    }

    @Test("Cancelling one waiter leaves the others; cancelling the last one cancels the transfer")
    func cancellingOneWaiterLeavesTheOthers() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let loads = (0..<2).map { _ in Task { await failure { try await fixture.manager.image(for: fake("a")) } } }
        await fixture.downloader.waitForWaiters(2)
        loads[0].cancel()
        #expect(await loads[0].value is CancellationError)
        #expect(transport.calls == [.start("a", .normal)])
        loads[1].cancel()
        #expect(await loads[1].value is CancellationError)
        await waitUntil { transport.calls.contains(.cancel("a")) }

        // A provider that ignores cancellation.
        let provider = SlowProvider(try EncodedPicture().file)
        let slow = Task { await failure { try await fixture.manager.image(for: .provider(provider)) } }
        await waitUntil { provider.askedCount != 0 }
        slow.cancel()
        #expect(await slow.value is CancellationError)
        provider.release()
        let early = Task { await failure { try await fixture.manager.image(for: fake("b")) } }
        early.cancel()
        #expect(await early.value is CancellationError)
        #expect(!fixture.cache.isCached(forKey: "slow"))
    }

    @Test("A cancelled load tries no alternative source and no retry, and records nothing")
    func cancelledLoadTriesNoOtherSource() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        var options = ImageOptions()
        options.alternativeSources = [.network(fake("b"))]
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 5, retryInterval: .seconds(0))
        let load = Task { [options] in
            await failure { try await fixture.manager.image(for: fake("a"), options: options) }
        }
        await fixture.downloader.waitForWaiters(1)
        fixture.downloader.cancelAll()
        #expect(await load.value is CancellationError)
        #expect(transport.calls.filter { $0 == .start("b", .normal) }.isEmpty && fixture.recorder.all.isEmpty)
    }

    @Test("The completion runs once on its queue; the returned task cancels and sets the priority")
    func callbackRunsOnceOnItsQueue() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let queue = DispatchQueue(label: "test.manager")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        var options = ImageOptions()
        options.callbackQueue = .dispatch(queue)
        let results = AsyncStream<(String, Result<ImageResult, any Error>, Bool)>.makeStream()
        let tasks = ["a", "b"].map { name in
            fixture.manager.retrieveImage(with: fake(name), options: options) { result in
                results.continuation.yield((name, result, DispatchQueue.getSpecific(key: key) == true))
            }
        }
        await transport.waitForCalls(2)
        tasks[0].setPriority(.high)
        tasks[1].cancel()
        var iterator = results.stream.makeAsyncIterator()
        let cancelled = try #require(await iterator.next())
        #expect(cancelled.0 == "b" && cancelled.2)
        #expect(throws: CancellationError.self) { try cancelled.1.get() }
        await waitUntil { transport.calls.contains(.priority("a", .high)) }
        transport.answer("a", sample.file)
        let done = try #require(await iterator.next())
        #expect(try done.0 == "a" && done.2 && done.1.get().image == sample.picture)
        fixture.manager.retrieveImage(with: fake("a"), options: options) { result in
            results.continuation.yield(("again", result, DispatchQueue.getSpecific(key: key) == true))
        }
        let again = try #require(await iterator.next())
        #expect(try again.0 == "again" && again.2 && again.1.get().cacheType == .memory)
    }

    @Test("The returned task controls the retry and the alternative source, too")
    func taskControlsRetryAndAlternativeSource() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let options = ImageOptions {
            $0.alternativeSources = [.network(fake("b"))]
            $0.retryStrategy = DelayRetryStrategy(maxRetryCount: 1, retryInterval: .seconds(1))
            $0.callbackQueue = .untouch
        }
        let ended = AsyncStream<Result<ImageResult, any Error>>.makeStream()
        let task = fixture.manager.retrieveImage(with: fake("a"), options: options) { ended.continuation.yield($0) }
        transport.fail("a", .cannotConnect("no"))
        // The pause before the retry.
        await waitUntil {
            fixture.clock.advance(by: 1)
            return transport.calls.count == 2
        }
        task.setPriority(.high)
        await waitUntil { transport.calls.contains(.priority("a", .high)) }
        transport.fail("a", .cannotConnect("no"))
        await waitUntil { transport.calls.contains { if case .start("b", _) = $0 { true } else { false } } }
        task.setPriority(.low)
        await waitUntil { transport.calls.contains(.priority("b", .low)) }
        task.cancel()
        await waitUntil { transport.calls.contains(.cancel("b")) }
        var iterator = ended.stream.makeAsyncIterator()
        let result = try #require(await iterator.next())
        #expect(throws: CancellationError.self) { try result.get() }
    }
}
