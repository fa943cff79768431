import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: blocking callbacks delay no other load", .timeLimit(.minutes(20)))
struct CallbackTests {
    /// A flag that a test waits for.
    private final class Flag: Sendable {
        private let value = Atomic(false)

        var isSet: Bool { value.load(ordering: .acquiring) }
        func set() { value.store(true, ordering: .releasing) }
    }

    private static var untouched: DownloadOptions {
        var options = DownloadOptions()
        options.callbackQueue = .untouch
        options.processingQueue = .untouch
        return options
    }

    @Test("While a completion blocks, another load is cancelled and a third one completes")
    func blockingCompletionDelaysNoOtherLoad() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        let (entered, cancelled, answered, gate) = (Flag(), Flag(), Flag(), DispatchSemaphore(value: 0))
        downloader.download(fake("a"), options: Self.untouched) { _ in
            entered.set()
            gate.wait()
        }
        defer { gate.signal() }
        let other = downloader.download(fake("b"), options: Self.untouched) { result in
            if case .failure(let error) = result, error.isCancellation { cancelled.set() }
        }
        downloader.download(fake("c"), options: Self.untouched) { _ in answered.set() }
        transport.answer("a", Data([1]))
        await waitUntil { entered.isSet }
        other.cancel()
        #expect(await waitUntil { cancelled.isSet })
        transport.answer("c", Data([1]))
        #expect(await waitUntil { answered.isSet })
    }

    @Test("cancel() calls no completion on the calling thread")
    func cancelDoesNotCallCompletionsInline() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        let calls = Mutex<[Bool]>([])
        let isCalling = "isCalling"
        let loads = (0..<4).map { _ in
            downloader.download(fake("a"), options: Self.untouched) { _ in
                calls.withLock { $0.append(Thread.current.threadDictionary[isCalling] != nil) }
            }
        }
        Thread.detachNewThread {
            Thread.current.threadDictionary[isCalling] = true
            loads[0].cancel()
            downloader.cancelAll()
        }
        await waitUntil { calls.withLock { $0.count } == 4 }
        #expect(calls.withLock { $0 } == [false, false, false, false])
    }

    @Test("A completion may wait for a second load, of another URL or of its own transfer")
    func completionMayWaitForSecondLoad() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        let (other, own) = (Flag(), Flag())
        downloader.download(fake("a"), options: Self.untouched) { _ in
            let done = DispatchSemaphore(value: 0)
            downloader.download(fake("b"), options: Self.untouched) { _ in done.signal() }
            done.wait()
            other.set()
        }
        transport.answer("a", Data([1]))
        transport.answer("b", Data([2]))
        #expect(await waitUntil { other.isSet })

        let second = DispatchSemaphore(value: 0)
        downloader.download(fake("c"), options: Self.untouched) { _ in
            second.wait()
            own.set()
        }
        downloader.download(fake("c"), options: Self.untouched) { _ in second.signal() }
        transport.answer("c", Data([3]))
        #expect(await waitUntil { own.isSet })
    }

    @Test("A blocking progress listener, processor or callback queue delays no other load")
    func blockingListenerProcessorAndQueueDelayNoLoad() async throws {
        let server = try HostileServer { visit in visit.answer(pattern(100_000)) }
        let downloader = ImageDownloader.test()
        let gate = DispatchSemaphore(value: 0)
        let (listens, processes, executes) = (Flag(), Flag(), Flag())
        defer { for _ in 0..<100 { gate.signal() } }
        var options = Self.untouched
        options.onProgress = { _ in
            listens.set()
            gate.wait()
        }
        downloader.download(server.url("/progress"), options: options) { _ in }
        await waitUntil { listens.isSet }
        let blocking = DownloadProcessor<Int>(identifier: "blocking") { data, _ in
            processes.set()
            gate.wait()
            return data.count
        }
        downloader.download(server.url("/processor"), processor: blocking, options: Self.untouched) { _ in }
        await waitUntil { processes.isSet }
        var custom = Self.untouched
        custom.callbackQueue = .custom { block in
            executes.set()
            gate.wait()
            block()
        }
        downloader.download(server.url("/custom"), options: custom) { _ in }
        await waitUntil { executes.isSet }
        #expect(try await downloader.download(server.url("/free")).value.count == 100_000)
    }

    @Test("Cancellation handlers of a hook do not run inside cancel()")
    func cancellationHandlersDoNotRunInsideCancel() async throws {
        /// Waits until it is cancelled, and then blocks the cancelling thread.
        struct Stubborn: DownloadHooks {
            let (entered, gate): (Flag, DispatchSemaphore)

            func willDownload(_ request: TransportRequest) async {
                await withTaskCancellationHandler {
                    entered.set()
                    try? await Task.sleep(for: .seconds(600))
                } onCancel: {
                    gate.wait()
                }
            }
        }
        let hooks = Stubborn(entered: Flag(), gate: DispatchSemaphore(value: 0))
        defer { hooks.gate.signal() }
        let downloader = ImageDownloader.test(FakeTransport()) { $0.hooks = hooks }
        let cancelled = Flag()
        let load = downloader.download(fake("a"), options: Self.untouched) { _ in cancelled.set() }
        await waitUntil { hooks.entered.isSet }
        load.cancel()
        #expect(await waitUntil { cancelled.isSet })
    }

    @Test("Completions of one transfer run on a serial queue in the order in which the loads joined")
    func completionsKeepJoiningOrder() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        let seen = Mutex<[Int]>([])
        var options = DownloadOptions()
        options.callbackQueue = .dispatch(DispatchQueue(label: "test.callback"))
        for number in 0..<200 {
            downloader.download(fake("a"), options: options) { _ in seen.withLock { $0.append(number) } }
        }
        transport.answer("a", Data([1]))
        await waitUntil { seen.withLock { $0.count } == 200 }
        #expect(seen.withLock { $0 } == Array(0..<200))
    }

    @Test("A load without a completion runs")
    func completionIsOptional() async throws {
        let transport = FakeTransport(answerAtOnce: Data([1]))
        let downloader = ImageDownloader.test(transport)
        func load() { downloader.download(fake("a")) }
        load()
        #expect(await waitUntil { transport.calls.count == 1 && downloader.waiterCount == 0 })
    }
}
