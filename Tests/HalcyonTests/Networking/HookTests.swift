import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: refused responses and hooks", .timeLimit(.minutes(20)))
struct HookTests {
    /// Records its calls.
    private final class Notes: DownloadHooks {
        let calls = Mutex<[String]>([])
        let disposition: DownloadDisposition
        let change: @Sendable (Data) -> Data?

        init(_ disposition: DownloadDisposition = .allow, change: @escaping @Sendable (Data) -> Data? = { $0 }) {
            self.disposition = disposition
            self.change = change
        }

        private func note(_ call: String) { calls.withLock { $0.append(call) } }

        func willDownload(_ request: TransportRequest) async { note("will \(request.url.path)") }

        func didReceive(_ response: ResponseHead, for request: TransportRequest) async -> DownloadDisposition {
            note("head \(response.status) of \(response.url.path)")
            return disposition
        }

        func didDownload(_ data: Data, from response: ResponseHead, for request: TransportRequest) async -> Data? {
            note("data \(data.count)")
            return change(data)
        }

        func didFinish(_ request: TransportRequest, with result: Result<ResponseHead, any Error>) async {
            switch result {
            case .success(let head): note("end \(request.url.path) \(head.status)")
            case .failure(let error): note("end \((error as? NetworkError)?.bare ?? .cancelled)")
            }
        }
    }

    @Test("A refused status ends the load at the response head, and the connection is closed")
    func refusedStatusEndsAtHead() async throws {
        let closed = AsyncStream<Bool>.makeStream()
        let server = try HostileServer { visit in
            switch visit.path {
            case "/long": visit.send("HTTP/1.1 404 Gone\r\nContent-Length: 50000000\r\n\r\nabc")
            case "/huge": visit.send("HTTP/1.1 404 Gone\r\nContent-Length: 50000000000\r\n\r\nabc")
            case "/endless":
                visit.send("HTTP/1.1 500 Broken\r\n\r\n")
                while visit.send([UInt8](repeating: 7, count: 4_096)) {}
            default: visit.send("HTTP/1.1 404 Gone\r\nContent-Length: 9\r\n\r\nabc")
            }
            closed.continuation.yield(visit.waitForClose())
        }
        let downloader = ImageDownloader.test()
        var ends = closed.stream.makeAsyncIterator()
        for (path, status) in [("/long", 404), ("/huge", 404), ("/endless", 500), ("/slow", 404)] {
            let url = server.url(path)
            #expect(await networkError { try await downloader.download(url) } == .invalidStatusCode(status, url: url))
            #expect(await ends.next() == true, "\(path)")
        }
    }

    @Test("A short refused body is read to keep the connection; a long one cancels the transfer")
    func shortRefusedBodyKeepsConnection() async throws {
        /// A transport that gives a head and waits for the test.
        final class Held: Transport, Transfer {
            let receivers = Mutex<[any TransferReceiver]>([])
            let calls = Mutex<[String]>([])
            let head: ResponseHead

            init(_ head: ResponseHead) { self.head = head }

            func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
                receivers.withLock { $0.append(receiver) }
                receiver.received(head)
                return self
            }

            func cancel() { calls.withLock { $0.append("cancel") } }
            func pause() { calls.withLock { $0.append("pause") } }
            func resume() { calls.withLock { $0.append("resume") } }
            func setPriority(_ priority: TransferPriority) {}
        }
        func error(_ held: Held) async -> NetworkError? {
            // A long timeout, so that the rest of the body is in time on a busy machine.
            let downloader = ImageDownloader.test(held) { $0.refusedBodyTimeout = .seconds(600) }
            return await networkError { try await downloader.download(fake("a")) }
        }
        let short = Held(ResponseHead(url: fake("a"), status: 404, headers: ["Content-Length": "100"]))
        #expect(await error(short) == .invalidStatusCode(404, url: fake("a")))
        // The rest of the body arrives in time.
        for receiver in short.receivers.withLock({ $0 }) { receiver.finished(.success(TransferMetrics())) }
        #expect(short.calls.withLock { $0 } == [])
        let long = Held(ResponseHead(url: fake("a"), status: 404, headers: ["Content-Length": "100000"]))
        #expect(await error(long) == .invalidStatusCode(404, url: fake("a")))
        #expect(long.calls.withLock { $0 } == ["cancel"])
        let unknown = Held(ResponseHead(url: fake("a"), status: 404))
        #expect(await error(unknown) == .invalidStatusCode(404, url: fake("a")))
        #expect(unknown.calls.withLock { $0 } == [])
        for receiver in unknown.receivers.withLock({ $0 }) {
            Data(count: Exchange.drainedBytes + 1).withUnsafeBytes { receiver.received($0) }
        }
        #expect(unknown.calls.withLock { $0 } == ["cancel"])

        // While a hook decides, a transfer is paused once more bytes arrived than the buffer holds.
        struct Slow: DownloadHooks {
            let entered: AsyncStream<Void>.Continuation
            let gate: AsyncStream<Void>

            func didReceive(_ response: ResponseHead, for request: TransportRequest) async -> DownloadDisposition {
                entered.yield()
                for await _ in gate { break }
                return .allow
            }
        }
        let (entered, gate) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let held = Held(ResponseHead(url: fake("a"), status: 200))
        let downloader = ImageDownloader.test(held) {
            $0.hooks = Slow(entered: entered.continuation, gate: gate.stream)
        }
        let load = Task { try await downloader.download(fake("a")).value }
        for await _ in entered.stream { break }
        let receiver = try #require(held.receivers.withLock { $0.first })
        let bytes = Data(pattern(Exchange.undecidedBytes + 1))
        bytes.withUnsafeBytes { receiver.received($0) }
        #expect(held.calls.withLock { $0 } == ["pause"])
        gate.continuation.yield()
        #expect(await waitUntil { held.calls.withLock { $0 } == ["pause", "resume"] })
        bytes.withUnsafeBytes { receiver.received($0) }
        receiver.finished(.success(TransferMetrics()))
        #expect(try await load.value == bytes + bytes)
    }

    @Test("Hooks run in order, once per transfer, with redirects and joined loads")
    func hooksRunOncePerTransfer() async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            if visit.path == "/a" { return visit.answer([], status: "302 Found", headers: ["Location: /b"]) }
            gate.wait()
            visit.answer(pattern(30), status: visit.path == "/gone" ? "404 Gone" : "200 OK")
        }
        let hooks = Notes { Data($0.prefix(10)) }
        let downloader = ImageDownloader.test { $0.hooks = hooks }
        let loads = (0..<3).map { _ in Task { try await downloader.download(server.url("/a")) } }
        await downloader.waitForWaiters(3)
        gate.signal()
        for load in loads { #expect(try await Array(load.value.value) == Array(pattern(30).prefix(10))) }
        #expect(
            hooks.calls.withLock { $0 } == ["will /a", "head 200 of /b", "data 30", "end /a 200"])
        hooks.calls.withLock { $0 = [] }
        gate.signal()
        let gone = server.url("/gone")
        #expect(await networkError { try await downloader.download(gone) } == .invalidStatusCode(404, url: gone))
        #expect(
            hooks.calls.withLock { $0 } == ["will /gone", "end \(NetworkError.invalidStatusCode(404, url: gone))"])
    }

    @Test("A hook can refuse the head or the data, and is called at the end of a cancelled load")
    func hookCanRefuseHeadOrData() async throws {
        let server = try HostileServer { visit in
            if visit.path == "/silent" { _ = visit.waitForClose() }
            visit.send("HTTP/1.1 200 OK\r\nContent-Length: \(visit.path == "/long" ? 5_000_000 : 3)\r\n\r\nabc")
        }
        let cancelling = Notes(.cancel)
        let first = ImageDownloader.test { $0.hooks = cancelling }
        let refused = NetworkError.responseRefused(url: server.url("/long"), reason: "a hook cancelled it")
        #expect(await networkError { try await first.download(server.url("/long")) } == refused)
        #expect(cancelling.calls.withLock { $0 } == ["will /long", "head 200 of /long", "end \(refused)"])
        let second = ImageDownloader.test { $0.hooks = Notes { _ in nil } }
        let url = server.url("/short")
        #expect(
            await networkError { try await second.download(url) }
                == .responseRefused(url: url, reason: "a hook gave no data"))
        let notes = Notes()
        let third = ImageDownloader.test { $0.hooks = notes }
        let load = Task { await networkError { try await third.download(server.url("/silent")) } }
        await waitUntil { server.count("/silent") == 1 }
        load.cancel()
        #expect(await load.value == .cancelled)
        #expect(await waitUntil { notes.calls.withLock { $0.last } == "end \(NetworkError.cancelled)" })
    }
}
