import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Prefetches that are started and stopped by URL", .timeLimit(.minutes(20)))
struct PrefetchQueueTests {
    private struct Bed {
        let sample: EncodedPicture
        let transport = FakeTransport()
        let fixture: ManagerFixture

        init() throws {
            sample = try EncodedPicture()
            fixture = try ManagerFixture(transport)
        }

        func queue(_ maxConcurrent: Int = 5, _ options: ImageOptions? = nil) -> PrefetchQueue {
            PrefetchQueue(manager: fixture.manager, options: options, maxConcurrent: maxConcurrent)
        }

        func isCached(_ name: String) -> Bool { fixture.cache.isCached(forKey: fake(name).absoluteString) }
    }

    private func urls(_ names: String...) -> [URL] { names.map(fake) }

    @Test("URLs are prefetched in the order of their starts, each once, a stated number at a time, to the disk")
    func urlsArePrefetchedInOrder() async throws {
        let bed = try Bed()
        let queue = bed.queue(1)
        queue.start(urls("a", "b"))
        queue.start(urls("b", "c", "a"))
        #expect(queue.count == 3)
        for (number, name) in ["a", "b", "c"].enumerated() {
            await bed.transport.waitForCalls(number + 1)
            #expect(bed.transport.waiting == [name])
            bed.transport.answer(name, bed.sample.file)
        }
        await waitUntil { queue.count == 0 }
        await bed.fixture.settle()
        for url in urls("a", "b", "c") {
            #expect(bed.fixture.cache.imageCachedType(forKey: url.absoluteString) == .disk)
        }
        #expect(bed.transport.calls == [.start("a", .low), .start("b", .low), .start("c", .low)])
    }

    @Test("Stopping by URL cancels what has begun and forgets what waits; both can be started again")
    func stoppedURLsEnd() async throws {
        let bed = try Bed()
        let queue = bed.queue(1)
        queue.start(urls("a", "b", "c"))
        await bed.transport.waitForCalls(1)
        queue.stop(urls("a", "b", "none"))
        await waitUntil { bed.transport.waiting == ["c"] }
        #expect(queue.count == 1)
        #expect(bed.transport.calls.contains(.cancel("a")) && !bed.transport.calls.contains(.start("b", .low)))
        queue.start(urls("a"))
        bed.transport.answer("c", bed.sample.file)
        bed.transport.answer("a", bed.sample.file)
        await waitUntil { queue.count == 0 }
        #expect(bed.isCached("a") && bed.isCached("c") && !bed.isCached("b"))
        queue.start(urls("d", "e"))
        queue.stopAll()
        #expect(queue.count == 0)
    }

    @Test("A stopped prefetch that a visible load has joined continues for that load")
    func visibleLoadContinues() async throws {
        let bed = try Bed()
        let queue = bed.queue()
        queue.start(urls("a"))
        await bed.transport.waitForCalls(1)
        let visible = Task { try await bed.fixture.manager.image(for: fake("a")).image }
        await bed.fixture.downloader.waitForWaiters(2)
        queue.stop(urls("a"))
        await waitUntil { bed.fixture.downloader.waiterCount == 1 }
        bed.transport.answer("a", bed.sample.file)
        #expect(try await visible.value == bed.sample.picture)
        #expect(!bed.transport.calls.contains(.cancel("a")))
    }

    @Test("While the queue is paused nothing begins; the priority moves what has begun and what begins later")
    func pauseAndPriority() async throws {
        let bed = try Bed()
        let queue = bed.queue(1, ImageOptions { $0.priority = .veryLow })
        queue.isPaused = true
        queue.start(urls("a", "b"))
        #expect(queue.isPaused && queue.count == 2 && bed.transport.calls.isEmpty)
        queue.isPaused = false
        await bed.transport.waitForCalls(1)
        queue.priority = .normal
        await waitUntil { bed.transport.calls.last == .priority("a", .normal) }
        bed.transport.answer("a", bed.sample.file)
        await bed.transport.waitForCalls(3)
        #expect(bed.transport.calls.last == .start("b", .normal) && queue.priority == .normal)
        // Without one, each has that of its options again.
        queue.priority = nil
        await waitUntil { bed.transport.calls.last == .priority("b", .veryLow) }
        bed.transport.answer("b", bed.sample.file)
        await waitUntil { queue.count == 0 }
    }

    @Test("A queue that is let go of stops: its transfers are cancelled, and what waits never begins")
    func releasedQueueStops() async throws {
        let bed = try Bed()
        var queue: PrefetchQueue? = bed.queue(2)
        queue?.start((0..<20).map { fake("\($0)") })
        await bed.transport.waitForCalls(2)
        queue = nil
        await waitUntil { bed.fixture.downloader.waiterCount == 0 }
        await waitUntil { bed.transport.waiting.isEmpty }
        #expect(bed.transport.requestCount == 2)
    }
}
