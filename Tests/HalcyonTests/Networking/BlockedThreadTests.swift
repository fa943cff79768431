import Foundation
import Halcyon
import HalcyonSupport
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

// One after another: two tests at once would block all threads of callbacks.
@Suite("Downloader: code of users that blocks threads", .serialized, .timeLimit(.minutes(20)))
struct BlockedThreadTests {
    /// Loads whose processors block the queue that processors run on by default: more than it has threads, of which it adds one only
    /// after a while. Beside them the completions of others block, half as many as may block at once. All end with the object.
    private final class Blockers {
        private static let processors = 2 * ProcessInfo.processInfo.activeProcessorCount + 2
        private static let completions = 32
        private let gate = DispatchSemaphore(value: 0)
        private let downloader = ImageDownloader.test(FakeTransport(answerAtOnce: Data([1])))

        /// Waits until as many processors block as there are threads, and all the completions.
        func block() async {
            let gate = gate
            let entered = Mutex((processors: 0, completions: 0))
            for number in 0..<Self.processors {
                let processor = DownloadProcessor(identifier: "blocks") { _, _ in
                    entered.withLock { $0.processors += 1 }
                    gate.wait()
                }
                start("p\(number)", processor) {}
            }
            for number in 0..<Self.completions {
                var options = DownloadOptions()
                (options.callbackQueue, options.processingQueue) = (.untouch, .dispatch(Self.quick))
                start("c\(number)", DownloadProcessor(identifier: "quick") { _, _ in }, options) {
                    entered.withLock { $0.completions += 1 }
                    gate.wait()
                }
            }
            await waitUntil {
                let now = entered.withLock { $0 }
                return now.processors >= ProcessInfo.processInfo.activeProcessorCount
                    && now.completions == Self.completions
            }
        }

        private static let quick = DispatchQueue(label: "test.quick")

        private func start(
            _ name: String, _ processor: DownloadProcessor<Void>, _ options: DownloadOptions = .untouched,
            _ completion: @escaping @Sendable () -> Void
        ) {
            downloader.download(fake(name), processor: processor, options: options) { _ in completion() }
        }

        deinit { for _ in 0..<(Self.processors + Self.completions) { gate.signal() } }
    }

    /// A modifier that waits until the test opens it, also if it is cancelled.
    private final class Held: AsyncImageDownloadRequestModifier {
        private let state = Mutex<(waiting: CheckedContinuation<Void, Never>?, hasEnded: Bool)>((nil, false))

        var isWaiting: Bool { state.withLock { $0.waiting != nil } }

        func modified(for request: TransportRequest) async -> TransportRequest? {
            await withCheckedContinuation { continuation in state.withLock { $0.waiting = continuation } }
            return request
        }

        func open() { state.withLock { $0.waiting.take() }?.resume() }
    }

    @Test("While more processors block than the queue has threads, a cancelled load completes and requests nothing")
    func cancellationNeedsNoThreadOfUsers() async throws {
        let blockers = Blockers()
        await blockers.block()
        let (transport, held) = (FakeTransport(), Held())
        let downloader = ImageDownloader.test(transport)
        let completed = AsyncStream<Bool>.makeStream()
        weak var handler: Redirects?
        let task = { () -> DownloadTask in
            let redirects = Redirects()
            handler = redirects
            var options = DownloadOptions.untouched
            (options.requestModifier, options.redirectHandler) = (held, redirects)
            return downloader.download(fake("a"), options: options) { result in
                if case .failure(let error) = result { completed.continuation.yield(error.isCancellation) }
            }
        }()
        await waitUntil { held.isWaiting }
        task.cancel()
        for await isCancelled in completed.stream {
            #expect(isCancelled)
            break
        }
        held.open()
        // All that works for the load has ended.
        await waitUntil { handler == nil }
        #expect(transport.calls == [])

        // The transfer of a load that waits for its body is cancelled within the call.
        let second = downloader.started(fake("b"), .untouched)
        await transport.waitForCalls(1)
        second.cancel()
        #expect(transport.calls.prefix(2) == [.start("b", .normal), .cancel("b")])
        withExtendedLifetime(blockers) {}
    }

    @Test("While they block, the completions and the progress of other loads are called")
    func otherCallbacksAreCalled() async throws {
        let blockers = Blockers()
        await blockers.block()
        let queue = DispatchQueue(label: "test.processing")
        let downloader = ImageDownloader.test(FakeTransport(answerAtOnce: Data([1, 2])))
        let called = AsyncStream<String>.makeStream()
        for target in [CallbackQueue.untouch, .custom { $0() }] {
            var options = DownloadOptions()
            (options.callbackQueue, options.processingQueue) = (target, .dispatch(queue))
            options.onProgress = { called.continuation.yield("progress \($0.received)") }
            downloader.started(fake("a"), options) { called.continuation.yield("completion") }
            var seen: [String] = []
            for await event in called.stream {
                seen.append(event)
                if event == "completion" { break }
            }
            #expect(seen == ["progress 2", "completion"])
        }
        withExtendedLifetime(blockers) {}
    }

    private final class Redirects: ImageDownloadRedirectHandler {
        func handleHTTPRedirection(
            for response: ResponseHead, newRequest: TransportRequest
        ) async -> TransportRequest? { newRequest }
    }

    @Test("Threads of callbacks are as many as block, up to their limit; work starts in the order of the calls")
    func callbackThreadsGrowToTheirLimit() async throws {
        let threads = CallbackThreads(limit: 3)
        let gate = DispatchSemaphore(value: 0)
        let seen = Mutex<[Int]>([])
        for number in 0..<3 {
            threads.execute {
                seen.withLock { $0.append(number) }
                gate.wait()
            }
            // One after another, so that their order is known.
            await waitUntil { seen.withLock { $0.count } == number + 1 }
        }
        #expect(threads.count == 3)
        for number in 3..<200 { threads.execute { seen.withLock { $0.append(number) } } }
        #expect(seen.withLock { $0 } == [0, 1, 2] && threads.count == 3)
        gate.signal()
        await waitUntil { seen.withLock { $0.count } == 200 }
        // One thread alone was free.
        #expect(seen.withLock { $0 } == Array(0..<200) && threads.count == 3)
        for _ in 0..<2 { gate.signal() }

        let sequence = CallbackSequence()
        let order = Mutex<[Int]>([])
        for number in 0..<1_000 { sequence.execute { order.withLock { $0.append(number) } } }
        await waitUntil { order.withLock { $0.count } == 1_000 }
        #expect(order.withLock { $0 } == Array(0..<1_000))
    }
}

extension DownloadOptions {
    /// Options whose callbacks are called wherever the work ended.
    fileprivate static var untouched: DownloadOptions {
        var options = DownloadOptions()
        options.callbackQueue = .untouch
        return options
    }
}

extension ImageDownloader {
    /// Starts a load with a handle.
    @discardableResult
    fileprivate func started(
        _ url: URL, _ options: DownloadOptions, _ completion: @escaping @Sendable () -> Void = {}
    ) -> DownloadTask {
        download(url, options: options) { _ in completion() }
    }
}
