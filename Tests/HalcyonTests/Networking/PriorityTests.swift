import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: a load is as urgent as the most urgent one that waits for it", .timeLimit(.minutes(20)))
struct PriorityTests {
    /// Turns that the test gives, in any order.
    private final class HeldTurns: WorkTurns {
        private let items = Mutex<[(work: @Sendable () -> Void, lane: CallbackLane, priority: WorkPriority)]>([])
        private let received = Mutex<[TransferPriority]>([])

        /// The priorities of the work that has no turn yet.
        var priorities: [TransferPriority] { items.withLock { $0.map(\.priority.value) } }
        /// The changes that were received.
        var changes: [TransferPriority] { received.withLock { $0 } }

        func enqueue(_ work: @escaping @Sendable () -> Void, on lane: CallbackLane, _ priority: WorkPriority) {
            items.withLock { $0.append((work, lane, priority)) }
            priority.observe { [self] new in received.withLock { $0.append(new) } }
        }

        func giveTurn(to index: Int) {
            let item = items.withLock { $0.remove(at: index) }
            item.lane.execute(item.work)
        }
    }

    private static func options(_ priority: TransferPriority, _ turns: HeldTurns? = nil) -> DownloadOptions {
        var options = DownloadOptions()
        (options.priority, options.callbackQueue, options.processingTurns) = (priority, .untouch, turns)
        return options
    }

    /// Starts a load with a handle.
    @discardableResult
    private static func start<Value>(
        _ downloader: ImageDownloader, _ name: String, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions
    ) -> DownloadTask {
        downloader.download(fake(name), processor: processor, options: options)
    }

    @Test("A visible load that joins a prefetch raises its transfer at once; it is lowered with the last visible one")
    func visibleLoadRaisesPrefetchedTransfer() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        Self.start(downloader, "a", .data, Self.options(.low))
        await transport.waitForCalls(1)
        let first = Self.start(downloader, "a", .data, Self.options(.normal))
        let second = Self.start(downloader, "a", .data, Self.options(.high))
        first.cancel()
        second.setPriority(.veryHigh)
        second.setPriority(.normal)
        second.cancel()
        let expected: [FakeTransport.Call] = [
            .start("a", .low), .priority("a", .normal), .priority("a", .high), .priority("a", .veryHigh),
            .priority("a", .normal), .priority("a", .low),
        ]
        await transport.waitForCalls(expected.count)
        #expect(transport.calls == expected)
    }

    @Test("A visible load that joins a prefetch, and setPriority, move processing that waits for a turn")
    func prioritiesMoveQueuedProcessing() async throws {
        let (transport, turns) = (FakeTransport(), HeldTurns())
        let runs = Mutex(0)
        let downloader = ImageDownloader.test(transport)
        let processor = DownloadProcessor(identifier: "count") { data, _ in
            runs.withLock { $0 += 1 }
            return data.count
        }
        let prefetch = Task {
            try await downloader.download(fake("a"), processor: processor, options: Self.options(.low, turns)).value
        }
        await downloader.waitForWaiters(1)
        transport.answer("a", Data(count: 7))
        await waitUntil { turns.priorities == [.low] }
        let visible = Self.start(downloader, "a", processor, Self.options(.normal, turns))
        // Its own queue may be another one, so that it is queued there as well. Only that work moves from now on.
        #expect(turns.priorities == [.low, .normal])
        visible.setPriority(.veryHigh)
        #expect(turns.priorities == [.low, .veryHigh])
        let other = Self.start(downloader, "a", processor, Self.options(.veryLow, turns))
        other.setPriority(.high)
        #expect(turns.priorities == [.low, .veryHigh])
        visible.cancel()
        #expect(turns.priorities == [.low, .high])
        other.cancel()
        #expect(turns.priorities == [.low, .low])
        #expect(turns.changes == [.veryHigh, .high, .low])
        turns.giveTurn(to: 1)
        #expect(try await prefetch.value == 7)
        turns.giveTurn(to: 0)
        let last = Task { try await downloader.download(fake("b")).value.count }
        transport.answer("b", Data(count: 3))
        #expect(try await last.value == 3)
        #expect(runs.withLock { $0 } == 1)
    }

    @Test("Processing without a waiter is skipped, though another processor of the transfer runs")
    func abandonedProcessingIsSkipped() async throws {
        let (transport, turns) = (FakeTransport(), HeldTurns())
        let runs = Mutex<[String]>([])
        let downloader = ImageDownloader.test(transport)
        let queue = DispatchQueue(label: "test.processing")
        var options = Self.options(.normal, turns)
        options.processingQueue = .dispatch(queue)
        let processor: @Sendable (String) -> DownloadProcessor<String> = { name in
            DownloadProcessor(identifier: name) { _, _ in
                runs.withLock { $0.append(name) }
                return name
            }
        }
        let kept = Task { [options] in
            try await downloader.download(fake("a"), processor: processor("kept"), options: options).value
        }
        await downloader.waitForWaiters(1)
        let left = Self.start(downloader, "a", processor("left"), options)
        transport.answer("a", Data([1]))
        await waitUntil { turns.priorities.count == 2 }
        left.cancel()
        turns.giveTurn(to: 1)
        queue.sync {}
        // A later load of the same processor queues it again.
        Self.start(downloader, "a", processor("left"), options)
        #expect(turns.priorities.count == 2)
        turns.giveTurn(to: 0)
        #expect(try await kept.value == "kept")
        turns.giveTurn(to: 0)
        await waitUntil { downloader.transferCount == 0 }
        #expect(runs.withLock { $0 } == ["kept", "left"])
    }
}
