import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: loads that wait outside a transfer are cancelled, too", .timeLimit(.minutes(20)))
struct CancellationTests {
    /// Something that waits until the test ends, whether it is cancelled or not.
    private final class Gate: Sendable {
        private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

        var count: Int { waiting.withLock { $0.count } }

        func wait() async {
            await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
        }

        func open() {
            let continuations = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for continuation in continuations { continuation.resume() }
        }
    }

    private struct Waiting: AsyncImageDownloadRequestModifier, AuthenticationChallengeResponder {
        let gate: Gate

        func modified(for request: TransportRequest) async -> TransportRequest? {
            await gate.wait()
            return request
        }

        func credential(for challenge: AuthenticationChallenge) async -> Credential? {
            await gate.wait()
            return nil
        }
    }

    /// Ends all loads, or those of a URL.
    private static let ways: [@Sendable (ImageDownloader, URL) -> Void] = [
        { downloader, _ in downloader.cancelAll() }, { downloader, url in downloader.cancel(url: url) },
    ]

    @Test("in the pause before a retry")
    func pause() async throws {
        for way in Self.ways {
            let server = try HostileServer { visit in visit.answer([], status: "503 Busy") }
            let clock = ManualClock()
            let downloader = ImageDownloader.test(clock: clock)
            var options = DownloadOptions()
            options.retryStrategy = DelayRetryStrategy(maxRetryCount: 9)
            let load = Task { [options] in
                await networkError { try await downloader.download(server.url("/a"), options: options) }
            }
            await clock.waitForSleepers(1)
            way(downloader, server.url("/a"))
            #expect(await load.value == .cancelled)
            #expect(await waitUntil { clock.sleeperCount == 0 })
            #expect(server.visits.count == 1)
        }
    }

    @Test("in a request modifier that does not end, also with callbacks and by the task")
    func modifier() async throws {
        let gate = Gate()
        defer { gate.open() }
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        var options = DownloadOptions()
        options.requestModifier = Waiting(gate: gate)
        for (number, way) in Self.ways.enumerated() {
            let load = Task { [options] in
                await networkError { try await downloader.download(fake("a"), options: options) }
            }
            await waitUntil { gate.count == 2 * number + 1 }
            let called = AsyncStream<Bool>.makeStream()
            downloader.download(fake("a"), options: options) { result in
                if case .failure(let error) = result { called.continuation.yield(error.isCancellation) }
            }
            await waitUntil { gate.count == 2 * number + 2 }
            way(downloader, fake("a"))
            #expect(await load.value == .cancelled)
            for await isCancelled in called.stream {
                #expect(isCancelled)
                break
            }
        }
        let single = Task { [options] in
            await networkError { try await downloader.download(fake("a"), options: options) }
        }
        await waitUntil { gate.count == 5 }
        single.cancel()
        #expect(await single.value == .cancelled)
        #expect(transport.calls.isEmpty)
    }

    @Test("in a responder that does not end")
    func responder() async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try HostileServer { visit in
            visit.answer([], status: "401 Who", headers: ["WWW-Authenticate: Basic realm=\"x\""])
        }
        let downloader = ImageDownloader.test { $0.authenticationResponder = Waiting(gate: gate) }
        for (number, way) in Self.ways.enumerated() {
            let load = Task { await networkError { try await downloader.download(server.url("/a")) } }
            await waitUntil { gate.count == number + 1 }
            way(downloader, server.url("/a"))
            #expect(await load.value == .cancelled)
            #expect(downloader.transferCount == 0)
        }
    }

    @Test(
        "by the URL that was asked for and by the one that was sent, if a modifier, Low Data Mode or the configuration changed it"
    )
    func rewritten() async throws {
        func check(_ downloader: ImageDownloader, _ options: DownloadOptions, _ transport: FakeTransport) async {
            for (number, url) in ["asked#part", "sent"].map(fake).enumerated() {
                let load = Task {
                    await networkError { try await downloader.download(fake("asked"), options: options) }
                }
                await downloader.waitForWaiters(1)
                downloader.cancel(url: fake("other"))
                #expect(downloader.waiterCount == 1)
                downloader.cancel(url: url)
                #expect(await load.value == .cancelled)
                #expect(await waitUntil { downloader.waiterCount == 0 }, "\(number)")
            }
        }
        let transport = FakeTransport()
        var modified = DownloadOptions()
        modified.requestModifier = AnyModifier { _ in .test(fake("sent")) }
        await check(.test(transport), modified, transport)
        var low = DownloadOptions()
        low.lowDataURL = fake("sent")
        await check(.test(transport) { $0.isNetworkConstrained = { true } }, low, transport)
        await check(.test(transport) { $0.request = { _ in .test(fake("sent")) } }, DownloadOptions(), transport)
    }

    @Test("three errors say that a load was cancelled, and no other")
    func errors() {
        let cancellations: [any Error] = [CancellationError(), NetworkError.cancelled, URLError(.cancelled)]
        let others: [any Error] = [NetworkError.transportClosed, URLError(.timedOut), CocoaError(.userCancelled)]
        #expect(cancellations.allSatisfy(\.isCancellation) && !others.contains(where: \.isCancellation))
    }
}
