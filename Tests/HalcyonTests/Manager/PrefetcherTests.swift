import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Prefetcher: ahead of need, and behind everybody who waits", .timeLimit(.minutes(20)))
struct PrefetcherTests {
    private func resources(_ names: String...) -> [Resource] { names.map { Resource(fake($0), cacheKey: $0) } }

    private func keys(_ resources: [Resource]) -> [String] { resources.map(\.cacheKey).sorted() }

    @Test("row 52: at most so many at a time, in order, at a low priority")
    func limit() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let prefetcher = ImagePrefetcher(
            resources: resources("a", "b", "c", "d", "e"), manager: fixture.manager, maxConcurrent: 2)
        let run = Task { await prefetcher.run() }
        await transport.waitForCalls(2)
        for (ended, calls) in [("b", 3), ("c", 4), ("a", 5)] {
            #expect(transport.calls.count == calls - 1 && fixture.downloader.transferCount == 2)
            transport.answer(ended, sample.file)
            await transport.waitForCalls(calls)
        }
        transport.answer("d", sample.file)
        transport.answer("e", sample.file)
        let report = await run.value
        #expect(keys(report.completed) == ["a", "b", "c", "d", "e"] && report.count == 5)
        let starts = ["a", "b", "c", "d", "e"].map { FakeTransport.Call.start($0, .low) }
        #expect(transport.calls.dropFirst(2) == starts.dropFirst(2))
        #expect(Set(transport.calls.prefix(2).map { "\($0)" }) == Set(starts.prefix(2).map { "\($0)" }))
        #expect(await prefetcher.run().count == 5 && transport.calls.count == 5)
    }

    @Test("row 52: skipped, failed and completed are reported, each resource once; progress after each")
    func report() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        let fixture = try ManagerFixture(transport)
        _ = try await fixture.manager.image(for: resources("a")[0])
        let bad = Resource(.data(Data("no image".utf8), cacheKey: "bad"))
        let counts = Mutex<[Int]>([])
        var options = ImageOptions()
        options.callbackQueue = .untouch
        let report = await ImagePrefetcher(
            resources: resources("a", "b") + [bad] + resources("c"), manager: fixture.manager, options: options,
            onProgress: { report in counts.withLock { $0.append(report.count) } }
        ).run()
        #expect(keys(report.skipped) == ["a"] && keys(report.completed) == ["b", "c"] && report.stopped.isEmpty)
        #expect(report.failed.map(\.resource.cacheKey) == ["bad"])
        #expect(report.failed.first?.error as? ImageError == .unknownFormat)
        #expect(counts.withLock { $0 } == [1, 2, 3, 4])
        #expect(await ImagePrefetcher(resources: [], manager: fixture.manager).run().count == 0)
        let done = AsyncStream<PrefetchReport>.makeStream()
        ImagePrefetcher(resources: resources("a", "d"), manager: fixture.manager, options: options)
            .start { done.continuation.yield($0) }
        var iterator = done.stream.makeAsyncIterator()
        let second = try #require(await iterator.next())
        #expect(keys(second.skipped) == ["a"] && keys(second.completed) == ["d"])
    }

    @Test("row 52: stopped, what is under way ends at once and nothing more begins; who waits for it, too, goes on")
    func stop() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let all = resources("a", "b", "c")
        let prefetcher = ImagePrefetcher(resources: all, manager: fixture.manager, maxConcurrent: 2)
        let run = Task { await prefetcher.run() }
        await transport.waitForCalls(2)
        let visible = Task { try await fixture.manager.image(for: all[0]).image }
        await fixture.downloader.waitForWaiters(3)
        prefetcher.stop()
        let report = await run.value
        #expect(keys(report.stopped) == ["a", "b", "c"] && report.count == 3)
        await waitUntil { fixture.downloader.waiterCount <= 1 }
        transport.answer("a", sample.file)
        #expect(try await visible.value == sample.picture)
        await waitUntil { transport.calls.contains(.cancel("b")) }
        #expect(!transport.calls.contains(.cancel("a")))
        #expect(!transport.calls.contains(.start("c", .low)))

        let early = ImagePrefetcher(resources: resources("d"), manager: fixture.manager)
        early.stop()
        #expect(keys(await early.run().stopped) == ["d"])
        let cancelled = Task { await ImagePrefetcher(resources: resources("e"), manager: fixture.manager).run() }
        await fixture.downloader.waitForWaiters(1)
        cancelled.cancel()
        #expect(keys(await cancelled.value.stopped) == ["e"])
    }

    @Test("row 52: below visible loads, and raised when one joins")
    func priority() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let run = Task { await ImagePrefetcher(resources: resources("a"), manager: fixture.manager).run() }
        await transport.waitForCalls(1)
        let visible = Task { try await fixture.manager.image(for: resources("a")[0]).image }
        await transport.waitForCalls(2)
        #expect(transport.calls == [.start("a", .low), .priority("a", .normal)])
        transport.answer("a", sample.file)
        #expect(try await visible.value == sample.picture)
        #expect(keys(await run.value.completed) == ["a"])
        // It is in memory for who looked, and the log has one access.
        #expect(fixture.cache.imageCachedType(forKey: "a") == .memory)
        #expect(fixture.recorder.all.map(\.outcome) == [.network])
    }

    @Test("row 52: on disk, and in memory on request; the first look at it is told apart, and prefetching is no access")
    func toMemory() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: sample.file))
        func prefetch(_ name: String, toMemory: Bool) async -> PrefetchReport {
            let report = await ImagePrefetcher(
                resources: resources(name), manager: fixture.manager, toMemory: toMemory
            ).run()
            await fixture.settle()
            return report
        }
        #expect(await prefetch("a", toMemory: false).completed.count == 1)
        #expect(fixture.cache.imageCachedType(forKey: "a") == .disk)
        #expect(await prefetch("a", toMemory: false).skipped.count == 1)
        #expect(await prefetch("a", toMemory: true).skipped.count == 1)
        #expect(fixture.cache.imageCachedType(forKey: "a") == .memory)
        #expect(await prefetch("b", toMemory: true).completed.count == 1)
        #expect(fixture.cache.imageCachedType(forKey: "b") == .memory)
        #expect(fixture.recorder.all.isEmpty && fixture.cache.statistics.lookUps == TierCounts())
        for name in ["a", "b", "b"] { _ = try await fixture.manager.image(for: resources(name)[0]) }
        #expect(fixture.recorder.all.map(\.outcome) == [.prefetched, .prefetched, .memory])
    }

    @Test(
        "row 52: what is cached and stale is asked for where freshness counts: 304 is skipped, what has changed is loaded"
    )
    func stale() async throws {
        let (sample, blue) = (try EncodedPicture(), try EncodedPicture.blue)
        let versions = Versions("\"1\"", sample.file, "max-age=60")
        let server = try versions.start()
        let fixture = try ManagerFixture()
        let resource = Resource(server.url("/a"))
        var options = ImageOptions()
        options.freshness = FreshnessPolicy()
        options.waitForCache = true
        func prefetch(_ options: ImageOptions) async -> PrefetchReport {
            await ImagePrefetcher(resources: [resource], manager: fixture.manager, options: options).run()
        }
        #expect(await prefetch(options).completed.count == 1)
        fixture.clock.advance(by: 30)
        #expect(await prefetch(options).skipped.count == 1 && versions.log == ["200 -"])
        // Stale: asked for, and fresh again.
        fixture.clock.advance(by: 31)
        #expect(await prefetch(options).skipped.count == 1)
        #expect(await prefetch(options).skipped.count == 1)
        #expect(versions.log == ["200 -", "304 \"1\""])
        // Where freshness does not count, what is cached is good enough; and nothing is asked for where only the cache may be.
        fixture.clock.advance(by: 61)
        versions.version.withLock { ($0.tag, $0.file) = ("\"2\"", blue.file) }
        #expect(await prefetch(ImageOptions()).skipped.count == 1)
        var cached = options
        cached.onlyFromCache = true
        #expect(await prefetch(cached).skipped.count == 1 && versions.log.count == 2)
        // A server that fails leaves what is there, and says so.
        versions.version.withLock { $0.fails = true }
        #expect(await prefetch(options).failed.count == 1 && fixture.cache.isCached(forKey: resource.cacheKey))
        // Memory gets the new one, too, if it had the old.
        versions.version.withLock { $0.fails = false }
        #expect(try await fixture.manager.image(for: resource).image == sample.picture)
        #expect(await prefetch(options).completed.count == 1)
        #expect(versions.log.last == "200 \"1\"")
        let shown = try await fixture.manager.image(for: resource)
        #expect(shown.image == blue.picture && shown.cacheType == .memory)
        #expect(fixture.recorder.all.map(\.outcome) == [.prefetched, .prefetched])
    }

    @Test("images are processed on a queue of the class utility, and progress comes on the queue asked for, in order")
    func queues() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let processor = QueueProcessor()
        let queue = DispatchQueue(label: "test.progress")
        let mark = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: mark, value: true)
        let counts = Mutex<[Int]>([])
        var options = ImageOptions(processor: processor)
        options.callbackQueue = .dispatch(queue)
        let prefetcher = ImagePrefetcher(
            resources: resources("a", "b", "c"), manager: fixture.manager, options: options,
            onProgress: { report in
                counts.withLock {
                    $0.append(DispatchQueue.getSpecific(key: mark) == true ? report.completed.count : -1)
                }
            })
        #expect(await prefetcher.run().completed.count == 3)
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        #expect(counts.withLock { $0 } == [1, 2, 3])
        #expect(processor.labels.withLock { $0.count { $0.contains("utility") } } == 3)
        // A load that is awaited runs at a higher class.
        options.processor = processor
        _ = try await fixture.manager.image(for: fake("d"), options: options)
        #expect(processor.labels.withLock { $0.last }?.contains("initiated") == true)
    }

    @Test("row 52: a retry does not skip the prefetcher, nor do alternative sources and originals")
    func retry() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        var options = ImageOptions()
        options.priority = .low
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 1, retryInterval: .seconds(3))
        options.alternativeSources = [.network(fake("b"), cacheKey: "b")]
        options.cacheOriginalImage = true
        options.processor = BlackWhiteImageProcessor()
        let first = Task { [options] in
            await ImagePrefetcher(resources: resources("a"), manager: fixture.manager, options: options).run()
        }
        for attempt in 1...2 {
            await transport.waitForCalls(attempt)
            transport.answer("a", Data(), status: 503)
            if attempt == 1 {
                // The sweeper of the memory is the other one.
                await fixture.clock.waitForSleepers(2)
                fixture.clock.advance(by: 3)
            }
        }
        await transport.waitForCalls(3)
        transport.answer("b", sample.file)
        #expect(keys(await first.value.completed) == ["a"])
        #expect(transport.calls == [.start("a", .low), .start("a", .low), .start("b", .low)])
        options.processor = TintImageProcessor(color: PixelColor(red: 9, green: 9, blue: 9, alpha: 9))
        let second = await ImagePrefetcher(
            resources: resources("b"), manager: fixture.manager, options: options
        ).run()
        #expect(keys(second.completed) == ["b"] && transport.calls.count == 3)
    }

    @Test("row 52: the queue begins as many as may run, in order, and nothing once it is stopped")
    func queue() {
        var queue = PrefetchQueue(count: 4, limit: 2)
        #expect(queue.begin() == [0, 1] && queue.running == 2)
        #expect(queue.ended(isStopped: false) == [2] && queue.ended(isStopped: false) == [3])
        #expect(queue.ended(isStopped: false) == [] && queue.running == 1 && queue.next == 4)
        var stopped = PrefetchQueue(count: 4, limit: 2)
        _ = stopped.begin()
        #expect(stopped.ended(isStopped: true) == [] && stopped.next == 2)
        var few = PrefetchQueue(count: 1, limit: 5)
        #expect(few.begin() == [0] && few.ended(isStopped: false) == [])
    }
}

/// Returns the label of the current queue, which contains the quality of service of a global one.
private func queueLabel() -> String {
    // Swift does not import this function on Linux.
    typealias CurrentLabel = @convention(c) (OpaquePointer?) -> UnsafePointer<CChar>
    let label = dlsym(nil, "dispatch_queue_get_label").map { unsafeBitCast($0, to: CurrentLabel.self)(nil) }
    return label.map { String(cString: $0) } ?? "unknown"
}

/// Changes nothing, and writes down the label of its queue.
final class QueueProcessor: BitmapProcessor {
    let identifier = "queue"
    let labels = Mutex<[String]>([])

    func process(_ picture: Bitmap) -> Bitmap {
        labels.withLock { $0.append(queueLabel()) }
        return picture
    }
}

/// Stores PNG files, and writes down the labels of the queues on which they are made.
final class QueueSerializer: CacheSerializer {
    let labels = Mutex<[String]>([])

    func data(with value: Bitmap, original: Data?) -> Data? {
        labels.withLock { $0.append(queueLabel()) }
        return try? ImageEncoder.png().encode(value)
    }

    func value(with data: Data) -> Bitmap? { try? ImageDecoder().decode(data) }
}
