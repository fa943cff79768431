import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: loads that wait outside a transfer can be cancelled", .timeLimit(.minutes(20)))
struct CancellationTests {
    /// A gate that holds its callers until the test opens it, also if they are cancelled.
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

    @Test("Cancelling ends the pause before a retry")
    func cancelEndsRetryPause() async throws {
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

    @Test("Cancelling ends a load whose request modifier does not return, also with callbacks and by its task")
    func cancelEndsRequestModifier() async throws {
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

    @Test("Cancelling ends a load whose authentication responder does not return")
    func cancelEndsAuthenticationResponder() async throws {
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

    @Test("A load is cancelled by its requested URL and by the URL sent in its place")
    func cancelByRequestedOrSentURL() async throws {
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

    /// An error of an app.
    private struct Refusal: CancellationRepresenting {
        let representsCancellation: Bool
    }

    @Test("Cancellations of Swift, URLSession, the downloader, views and an app's own errors are recognised, no others")
    func cancellationsOfAllModulesAreRecognised() {
        let cancellations: [any Error] = [
            CancellationError(), NetworkError.cancelled, URLError(.cancelled), DisplayError.cancelled,
            DisplayError.superseded, DisplayError.viewGone, DisplayError.loadFailed(NetworkError.cancelled),
            Refusal(representsCancellation: true),
        ]
        let others: [any Error] = [
            NetworkError.transportClosed, URLError(.timedOut), CocoaError(.userCancelled), DisplayError.noResource,
            DisplayError.loadFailed(NetworkError.timedOut(.idle)), Refusal(representsCancellation: false),
        ]
        #expect(cancellations.allSatisfy(\.isCancellation) && !others.contains(where: \.isCancellation))
    }
}
