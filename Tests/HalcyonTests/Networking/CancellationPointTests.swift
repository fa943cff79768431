import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: after a cancellation nothing is done for a load, wherever it waits", .timeLimit(.minutes(20)))
struct CancellationPointTests {
    /// Where a load can wait.
    enum Point: String, CaseIterable {
        /// For its request modifier.
        case modifier
        /// For a hook before its request, for one at its head, and for one with its data.
        case hookBefore, hookAtHead, hookWithData
        /// For an answer, and for the rest of its body.
        case answer, body
        /// For its handler of redirects, and for a responder to a challenge.
        case redirect, responder
        /// For the time of its retry, and for a network.
        case pause, network
        /// For its turn to be processed.
        case processing
    }

    struct Case: CustomTestStringConvertible {
        let point: Point
        /// Whether the load has a modifier and a retry strategy, so that it has a task of its own.
        let hasTask: Bool
        var testDescription: String { hasTask ? "\(point), with a modifier and retries" : "\(point)" }

        static let all = Point.allCases.flatMap { point in
            [true, false].filter { $0 || ![.modifier, .pause, .network].contains(point) }
                .map { Case(point: point, hasTask: $0) }
        }
    }

    /// Holds a load at one point until it is released, also if it is cancelled. It notes what is done for the load.
    private final class Watcher: AsyncImageDownloadRequestModifier, AuthenticationChallengeResponder, DownloadHooks,
        ConnectivityMonitor
    {
        private struct State {
            var events: [String] = []
            var held: [@Sendable () -> Void] = []
            var isReleased = false
        }

        let point: Point
        private let state = Mutex(State())

        init(_ point: Point) { self.point = point }

        var events: [String] { state.withLock { $0.events } }
        var isHolding: Bool { state.withLock { !$0.held.isEmpty } }

        func note(_ event: String) { state.withLock { $0.events.append(event) } }

        /// Keeps what continues the load.
        func hold(_ resume: @escaping @Sendable () -> Void) {
            let isReleased = state.withLock { state in
                if !state.isReleased { state.held.append(resume) }
                return state.isReleased
            }
            if isReleased { resume() }
        }

        func release() {
            let held = state.withLock { state in
                state.isReleased = true
                defer { state.held = [] }
                return state.held
            }
            for resume in held { resume() }
        }

        func reach(_ point: Point) async {
            note("\(point)")
            guard point == self.point else { return }
            await withCheckedContinuation { continuation in hold { continuation.resume() } }
        }

        func modified(for request: TransportRequest) async -> TransportRequest? {
            await reach(.modifier)
            return request
        }

        func credential(for challenge: AuthenticationChallenge) async -> Credential? {
            await reach(.responder)
            return Credential(user: "ada", password: "engine", scheme: .basic)
        }

        func willDownload(_ request: TransportRequest) async { await reach(.hookBefore) }

        func didReceive(
            _ response: ResponseHead, for request: TransportRequest
        ) async -> DownloadDisposition {
            await reach(.hookAtHead)
            return .allow
        }

        func didDownload(
            _ data: Data, from response: ResponseHead, for request: TransportRequest
        ) async -> Data? {
            await reach(.hookWithData)
            return data
        }

        var isConnected: Bool { get async { point != .network } }
        func waitUntilConnected() async throws { await reach(.network) }
    }

    /// An object that lives as long as something works for the load.
    private final class Redirects: ImageDownloadRedirectHandler {
        let watcher: Watcher

        init(_ watcher: Watcher) { self.watcher = watcher }

        func handleHTTPRedirection(
            for response: ResponseHead, newRequest: TransportRequest
        ) async -> TransportRequest? {
            await watcher.reach(.redirect)
            return newRequest
        }
    }

    /// Answers with what leads to the point.
    private final class Script: Transport {
        private final class Exchange: Transfer {
            let receiver: any TransferReceiver
            private let hasEnded = Mutex(false)

            init(_ receiver: any TransferReceiver) { self.receiver = receiver }

            func end(_ result: Result<TransferMetrics, NetworkError>) {
                let isFirst = hasEnded.withLock { hasEnded in
                    defer { hasEnded = true }
                    return !hasEnded
                }
                if isFirst { receiver.finished(result) }
            }

            func cancel() { end(.failure(.cancelled)) }
            func pause() {}
            func resume() {}
            func setPriority(_ priority: TransferPriority) {}
        }

        let watcher: Watcher

        init(_ watcher: Watcher) { self.watcher = watcher }

        func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
            watcher.note("request")
            let exchange = Exchange(receiver)
            let isFirst = watcher.events.count { $0 == "request" } == 1
            var head = ResponseHead(url: request.url, status: 200)
            switch watcher.point {
            case .answer where isFirst: watcher.hold { exchange.end(.success(TransferMetrics())) }
            case .pause where isFirst, .network where isFirst: exchange.end(.failure(.cannotConnect("It refuses")))
            case .redirect where isFirst:
                (head.status, head.headers["Location"]) = (302, "http://fake/b")
                receiver.received(head)
                exchange.end(.success(TransferMetrics()))
            case .responder where isFirst:
                (head.status, head.headers["WWW-Authenticate"]) = (401, "Basic realm=\"x\"")
                receiver.received(head)
                exchange.end(.success(TransferMetrics()))
            default:
                receiver.received(head)
                Data([1, 2, 3]).withUnsafeBytes { receiver.received($0) }
                guard watcher.point != .body else {
                    watcher.hold { exchange.end(.success(TransferMetrics())) }
                    break
                }
                exchange.end(.success(TransferMetrics()))
            }
            return exchange
        }
    }

    /// The options of a load that waits at a point.
    private static func options(_ watcher: Watcher, _ clock: ManualClock, hasTask: Bool) -> DownloadOptions {
        var options = DownloadOptions()
        options.callbackQueue = .untouch
        options.onProgress = { watcher.note("progress \($0.received)") }
        if hasTask {
            options.requestModifier = watcher
            options.retryStrategy = ConnectivityRetryStrategy(
                monitor: watcher, whenConnected: DelayRetryStrategy(maxRetryCount: 3), clock: clock)
        }
        if watcher.point == .processing { options.processingQueue = .custom { block in watcher.hold(block) } }
        return options
    }

    @Test("A cancelled load requests, processes and calls nothing but its completion", arguments: Case.all)
    func cancelledLoadDoesNothingMore(_ example: Case) async throws {
        let (watcher, clock) = (Watcher(example.point), ManualClock())
        let downloader = ImageDownloader.test(Script(watcher), clock: clock) {
            ($0.hooks, $0.authenticationResponder) = (watcher, watcher)
        }
        let completions = Mutex<[Bool]>([])
        weak var working: Redirects?
        let task = { () -> DownloadTask in
            let redirects = Redirects(watcher)
            working = redirects
            var options = Self.options(watcher, clock, hasTask: example.hasTask)
            options.redirectHandler = redirects
            let processor = DownloadProcessor(identifier: "note") { data, _ in
                watcher.note("processor")
                return data.count
            }
            return downloader.download(fake("a"), processor: processor, options: options) { result in
                guard case .failure(let error) = result else { return completions.withLock { $0.append(false) } }
                completions.withLock { $0.append(error.isCancellation) }
            }
        }()
        await waitUntil {
            switch example.point {
            case .pause: clock.sleeperCount == 1
            case .body, .hookWithData, .processing: watcher.isHolding && watcher.events.contains("progress 3")
            default: watcher.isHolding
            }
        }
        let before = watcher.events
        task.cancel()
        await waitUntil { completions.withLock { $0.count } == 1 }
        #expect(downloader.waiterCount == 0 && downloader.transferCount == 0)
        // What held the load continues: the modifier returns, the answer arrives, the time of the retry comes.
        watcher.release()
        clock.advance(by: 1_000)
        await waitUntil { working == nil }
        #expect(completions.withLock { $0 } == [true])
        #expect(watcher.events == before)
        #expect(!before.contains("processor"))
    }

    @Test("A load that waits in the queue of the transport is not requested", arguments: TransportKind.having())
    func queuedLoadIsNotRequested(kind: TransportKind) async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            if visit.path == "/held" { gate.wait() }
            visit.answer(pattern(10))
        }
        let transport = kind.transport(connectionsPerHost: 1)
        let (held, queued) = (CountingReceiver(), CountingReceiver())
        _ = transport.start(kind.request(server.url("/held")), receiver: held)
        await waitUntil { server.visits.count == 1 }
        transport.start(kind.request(server.url("/queued")), receiver: queued).cancel()
        #expect(await queued.end() == .failure(.cancelled))
        gate.signal()
        #expect((try? await held.end().get()) != nil)
        _ = try await transport.response(to: kind.request(server.url("/last")))
        #expect(server.visits.map(\.path) == ["/held", "/last"])
    }
}
