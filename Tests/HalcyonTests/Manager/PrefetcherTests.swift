import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Prefetcher: concurrency, priority, reports", .timeLimit(.minutes(20)))
struct PrefetcherTests {
    private func resources(_ names: String...) -> [Resource] { names.map { Resource(fake($0), cacheKey: $0) } }

    private func keys(_ resources: [Resource]) -> [String] { resources.map(\.cacheKey).sorted() }

    @Test("The prefetcher loads at most maxConcurrent resources at once, in order, at a low priority")
    func prefetcherLimitsConcurrentLoads() async throws {
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

    @Test("The report lists each resource once as skipped, failed or completed, with progress after each")
    func reportListsEachResourceOnce() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        let fixture = try ManagerFixture(transport)
        _ = try await fixture.manager.image(for: resources("a")[0])
        let bad = Resource(.data(Data("no image".utf8), cacheKey: "bad"))
        let seen = Mutex<[[Int]]>([])
        let failed = Mutex<[String]>([])
        var options = ImageOptions()
        options.callbackQueue = .untouch
        let report = await ImagePrefetcher(
            resources: resources("a", "b") + [bad] + resources("c"), manager: fixture.manager, options: options,
            maxConcurrent: 1,
            onProgress: { now in
                seen.withLock { $0.append([now.skipped, now.completed, now.failed, now.count, now.total]) }
                if now.error != nil { failed.withLock { $0.append(now.resource.cacheKey) } }
            }
        ).run()
        #expect(keys(report.skipped) == ["a"] && keys(report.completed) == ["b", "c"] && report.stopped.isEmpty)
        #expect(report.failed.map(\.resource.cacheKey) == ["bad"])
        #expect(report.failed.first?.error as? ImageError == .unknownFormat)
        #expect(seen.withLock { $0 } == [[1, 0, 0, 1, 4], [1, 1, 0, 2, 4], [1, 1, 1, 3, 4], [1, 2, 1, 4, 4]])
        #expect(failed.withLock { $0 } == ["bad"])
        #expect(await ImagePrefetcher(resources: [], manager: fixture.manager).run().count == 0)
        let done = AsyncStream<PrefetchReport>.makeStream()
        ImagePrefetcher(resources: resources("a", "d"), manager: fixture.manager, options: options)
            .start { done.continuation.yield($0) }
        var iterator = done.stream.makeAsyncIterator()
        let second = try #require(await iterator.next())
        #expect(keys(second.skipped) == ["a"] && keys(second.completed) == ["d"])
    }

    @Test("Stopping ends running prefetches and starts no others; a visible load of the same resource continues")
    func stoppingEndsPrefetchesButNotVisibleLoads() async throws {
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

    @Test("A paused prefetcher begins nothing; its priority moves what has begun")
    func pausedPrefetcherBeginsNothing() async throws {
        do {
            // One that is paused and let go of ends, because nothing can resume it.
            let fixture = try ManagerFixture(FakeTransport())
            let stopped = Mutex<[Resource]?>(nil)
            do {
                let released = ImagePrefetcher(resources: resources("a", "b"), manager: fixture.manager)
                released.isPaused = true
                released.start { report in stopped.withLock { $0 = report.stopped } }
            }
            await waitUntil { stopped.withLock { $0 } != nil }
            #expect(keys(stopped.withLock { $0 } ?? []) == ["a", "b"])
        }
        let (sample, transport) = (try EncodedPicture(), FakeTransport())
        let fixture = try ManagerFixture(transport)
        let prefetcher = ImagePrefetcher(
            resources: resources("a", "b", "c"), manager: fixture.manager, maxConcurrent: 1)
        prefetcher.isPaused = true
        let run = Task { await prefetcher.run() }
        prefetcher.isPaused = false
        await transport.waitForCalls(1)
        prefetcher.isPaused = true
        #expect(prefetcher.isPaused && prefetcher.priority == nil)
        transport.answer("a", sample.file)
        await waitUntil {
            fixture.downloader.waiterCount == 0 && fixture.cache.isCached(forKey: "a")
        }
        #expect(transport.calls == [.start("a", .low)])
        prefetcher.isPaused = false
        await transport.waitForCalls(2)
        prefetcher.priority = .high
        await waitUntil { transport.calls.last == .priority("b", .high) }
        transport.answer("b", sample.file)
        transport.answer("c", sample.file)
        #expect(keys(await run.value.completed) == ["a", "b", "c"])
        #expect(transport.calls.last == .start("c", .high))
    }

    @Test("A visible load that joins a prefetch raises its priority")
    func visibleLoadRaisesPrefetchPriority() async throws {
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
        // The image is in memory for the visible load, and the log has one access.
        #expect(fixture.cache.imageCachedType(forKey: "a") == .memory)
        #expect(fixture.recorder.all.map(\.outcome) == [.network])
    }

    @Test("A prefetch to disk or memory is no access; the first use is logged as prefetched")
    func prefetchIsNoAccess() async throws {
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

    @Test("With a freshness policy a prefetch revalidates stale entries: 304 is skipped, 200 is loaded")
    func prefetchRevalidatesStaleEntries() async throws {
        let (sample, blue) = (try EncodedPicture(), try EncodedPicture.blue)
        let versions = Versions("\"1\"", sample.file, "max-age=60")
        let server = try versions.start()
        let fixture = try ManagerFixture()
        let resource = Resource(server.url("/a"))
        var options = ImageOptions()
        options.freshness = FreshnessPolicy(staleIfError: nil)
        options.waitForCache = true
        func prefetch(_ options: ImageOptions) async -> PrefetchReport {
            await ImagePrefetcher(resources: [resource], manager: fixture.manager, options: options).run()
        }
        #expect(await prefetch(options).completed.count == 1)
        fixture.clock.advance(by: 30)
        #expect(await prefetch(options).skipped.count == 1 && versions.log == ["200 -"])
        // Stale: revalidated, and fresh again.
        fixture.clock.advance(by: 31)
        #expect(await prefetch(options).skipped.count == 1)
        #expect(await prefetch(options).skipped.count == 1)
        #expect(versions.log == ["200 -", "304 \"1\""])
        // Without a freshness policy the cached image is used; `onlyFromCache` sends no request.
        fixture.clock.advance(by: 61)
        versions.version.withLock { ($0.tag, $0.file) = ("\"2\"", blue.file) }
        #expect(await prefetch(ImageOptions()).skipped.count == 1)
        var cached = options
        cached.onlyFromCache = true
        #expect(await prefetch(cached).skipped.count == 1 && versions.log.count == 2)
        // If the server fails, the cached image stays and the prefetch fails.
        versions.version.withLock { $0.fails = true }
        #expect(await prefetch(options).failed.count == 1 && fixture.cache.isCached(forKey: resource.cacheKey))
        // Memory gets the new image if it had the old one.
        versions.version.withLock { $0.fails = false }
        #expect(try await fixture.manager.image(for: resource).image == sample.picture)
        #expect(await prefetch(options).completed.count == 1)
        #expect(versions.log.last == "200 \"1\"")
        let shown = try await fixture.manager.image(for: resource)
        #expect(shown.image == blue.picture && shown.cacheType == .memory)
        #expect(fixture.recorder.all.map(\.outcome) == [.prefetched, .prefetched])
    }

    @Test("Prefetched images are processed on a utility queue, and progress is reported on the callback queue")
    func prefetchesProcessOnUtilityQueue() async throws {
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
            onProgress: { now in
                counts.withLock {
                    $0.append(DispatchQueue.getSpecific(key: mark) == true ? now.completed : -1)
                }
            })
        #expect(await prefetcher.run().completed.count == 3)
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        #expect(counts.withLock { $0 } == [1, 2, 3])
        #expect(processor.labels.withLock { $0.count { $0.contains("utility") } } == 3)
        // A visible load runs at a higher quality of service.
        options.processor = processor
        _ = try await fixture.manager.image(for: fake("d"), options: options)
        #expect(processor.labels.withLock { $0.last }?.contains("initiated") == true)
    }

    @Test("Prefetches use retries, alternative sources and cached originals")
    func prefetchUsesRetriesAlternativesAndOriginals() async throws {
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
                // The other sleeper is the memory's sweeper.
                await fixture.clock.waitForSleepers(2)
                fixture.clock.advance(by: 3)
            }
        }
        await transport.waitForCalls(3)
        transport.answer("b", sample.file)
        #expect(keys(await first.value.completed) == ["a"])
        #expect(transport.calls == [.start("a", .low), .start("a", .low), .start("b", .low)])
        options.processor = TintImageProcessor(tint: PixelColor(red: 9, green: 9, blue: 9, alpha: 9))
        let second = await ImagePrefetcher(
            resources: resources("b"), manager: fixture.manager, options: options
        ).run()
        #expect(keys(second.completed) == ["b"] && transport.calls.count == 3)
    }
}

/// Returns the label of the current queue, which contains the quality of service of a global one.
func queueLabel() -> String {
    // Swift does not import this function on Linux.
    typealias CurrentLabel = @convention(c) (OpaquePointer?) -> UnsafePointer<CChar>
    let label = dlsym(nil, "dispatch_queue_get_label").map { unsafeBitCast($0, to: CurrentLabel.self)(nil) }
    return label.map { String(cString: $0) } ?? "unknown"
}

/// Returns the picture unchanged and records the label of its queue.
final class QueueProcessor: BitmapProcessor {
    let identifier = "queue"
    let labels = Mutex<[String]>([])

    func process(_ picture: Bitmap) -> Bitmap {
        labels.withLock { $0.append(queueLabel()) }
        return picture
    }
}

/// Stores PNG files and records the labels of the queues that encode them.
final class QueueSerializer: CacheSerializer {
    let labels = Mutex<[String]>([])

    func data(with value: Bitmap, original: Data?) -> Data? {
        labels.withLock { $0.append(queueLabel()) }
        return try? ImageEncoder.png().encode(value)
    }

    func value(with data: Data) -> Bitmap? { try? ImageDecoder().decode(data) }
}
