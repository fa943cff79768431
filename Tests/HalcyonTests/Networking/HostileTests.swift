import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Transport: against a hostile server", .timeLimit(.minutes(20)))
struct HostileTests {
    @Test("A truncated, closed or reset body is an error", arguments: TransportKind.having())
    func shortBodyIsAnError(_ kind: TransportKind) async throws {
        let hasArrived = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            switch visit.path {
            case "/short":
                visit.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                visit.send(pattern(400))
                visit.close()
            case "/chunk":
                visit.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nabc")
                visit.close()
            case "/reset":
                visit.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                visit.send(pattern(400))
                // A reset discards what the client has not read yet.
                hasArrived.wait()
                visit.reset()
            case "/early": visit.reset()
            default: visit.close()
            }
        }
        let transport = kind.transport()
        func error(_ path: String) async -> NetworkError? {
            await networkError { try await transport.response(to: kind.request(server.url(path))) }
        }
        #expect(await error("/short") == .truncatedBody(received: 400, expected: 1_000))
        #expect(await error("/chunk") == .truncatedBody(received: 3, expected: nil))
        let counter = CountingReceiver()
        counter.whenPast(399) { hasArrived.signal() }
        _ = transport.start(kind.request(server.url("/reset")), receiver: counter)
        #expect(await counter.end() == .failure(.truncatedBody(received: 400, expected: 1_000)))
        for path in ["/early", "/nothing"] {
            let error = await error(path)
            guard case .connectionLost = error else {
                Issue.record("\(path): \(String(describing: error))")
                continue
            }
        }
    }

    @Test(
        "A silent, a stopping and a dripping server each end in their own timeout",
        arguments: TransportKind.having()
    )
    func slowServerEndsInItsTimeout(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in
            switch visit.path {
            case "/stops":
                visit.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")
                _ = visit.waitForClose()
            case "/drips":
                visit.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                while visit.send("a") { usleep(20_000) }
            default: _ = visit.waitForClose()
            }
        }
        let transport = kind.transport()
        // Only the tested timeout is short, so that no other one ends a transfer on a busy machine.
        func error(
            _ path: String, _ timeout: WritableKeyPath<TransferTimeouts, Duration> & Sendable
        ) async -> NetworkError? {
            await networkError {
                try await transport.response(
                    to: kind.request(server.url(path)) { request in
                        request.timeouts.whole = .seconds(300)
                        request.timeouts[keyPath: timeout] = .seconds(1)
                    })
            }
        }
        async let silent = error("/silent", \.idle)
        async let stops = error("/stops", \.idle)
        async let drips = error("/drips", \.whole)
        #expect(await silent == .timedOut(.idle))
        #expect(await stops == .timedOut(.idle))
        #expect(await drips == .timedOut(.whole))
    }

    /// If the connection were not freed at once, each transfer would wait a minute for it.
    @Test("A transfer that times out frees its connection for the next one at once", arguments: TransportKind.having())
    func timedOutTransferFreesItsConnection(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in
            if visit.path == "/good" { visit.answer([7]) } else { _ = visit.waitForClose() }
        }
        let transport = kind.transport(connectionsPerHost: 1)
        // If the idle timeout includes the time to connect, a busy machine needs a longer one.
        let idle = Duration.milliseconds(kind.has(.connectTimeout) ? 100 : 2_000)
        let silent = kind.request(server.url("/silent")) { $0.timeouts.idle = idle }
        let counters = [CountingReceiver(), CountingReceiver(), CountingReceiver()]
        for (request, counter) in zip([silent, silent, kind.request(server.url("/good"))], counters) {
            _ = transport.start(request, receiver: counter)
        }
        for counter in counters.dropLast() {
            guard case .failure(.timedOut(.idle)) = await counter.end() else {
                Issue.record("a silent server has answered")
                continue
            }
        }
        _ = try await counters[2].end().get()
        #expect(server.visits.map(\.path) == ["/silent", "/silent", "/good"])
    }

    @Test(
        "A connect timeout, a refused connection and an unknown host have separate errors",
        arguments: TransportKind.having())
    func connectionFailuresHaveOwnErrors(_ kind: TransportKind) async throws {
        let transport = kind.transport()
        if kind.has(.connectTimeout) {
            // This server accepts the connection and never answers the TLS handshake.
            let mute = try HostileServer { _ in }
            let url = try #require(URL(string: "https://127.0.0.1:\(mute.port)/"))
            let request = kind.request(url) { $0.timeouts.connect = .milliseconds(200) }
            #expect(await networkError { try await transport.response(to: request) } == .timedOut(.connect))
        }
        let refusing = try RefusingPort()
        let closed = try #require(URL(string: "http://127.0.0.1:\(refusing.port)/"))
        guard case .cannotConnect = await networkError({ try await transport.response(to: kind.request(closed)) })
        else {
            Issue.record("somebody answered")
            return
        }
        let unknown = try #require(URL(string: "http://nobody.invalid/"))
        guard case .cannotFindHost = await networkError({ try await transport.response(to: kind.request(unknown)) })
        else {
            Issue.record("nobody.invalid has an address")
            return
        }
    }

    @Test("Bodies and headers over their limits end the transfer, announced or not", arguments: TransportKind.having())
    func endlessBodiesAndHeadersEndAtLimits(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in
            switch visit.path {
            case "/announced":
                visit.send("HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n")
                _ = visit.waitForClose()
            case "/body":
                visit.send("HTTP/1.1 200 OK\r\n\r\n")
                // Without flow control, an endless body would delay every session of the process.
                var left = kind.has(.pausing) ? Int.max : 256
                while left > 0, visit.send([UInt8](repeating: 7, count: 65_536)) { left -= 1 }
                visit.close()
            case "/headers":
                visit.send("HTTP/1.1 200 OK\r\n")
                while visit.send("X-More: \(String(repeating: "x", count: 1_000))\r\n") {}
            default:
                visit.send("HTTP/1.1 200 OK\r\nX-Line: ")
                while visit.send([UInt8](repeating: 120, count: 65_536)) {}
            }
        }
        let transport = kind.transport()
        func error(_ path: String) async -> NetworkError? {
            await networkError {
                try await transport.response(to: kind.request(server.url(path)) { $0.limits.responseBytes = 1 << 20 })
            }
        }
        #expect(await error("/announced") == .responseTooLarge(limit: 1 << 20))
        #expect(await error("/body") == .responseTooLarge(limit: 1 << 20))
        guard kind.has(.headerLimit) else { return }
        #expect(await error("/headers") == .headersTooLarge(limit: 256 << 10))
        #expect(await error("/line") == .headersTooLarge(limit: 256 << 10))
    }

    @Test("An invalid response is an error", arguments: TransportKind.having())
    func invalidResponseIsAnError(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in
            switch visit.path {
            case "/noise": visit.send(pattern(2_000))
            case "/encoding":
                visit.answer(pattern(500), headers: ["Content-Encoding: gzip"])
            default: visit.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
            }
            visit.close()
        }
        let transport = kind.transport()
        for path in ["/noise", "/encoding"] {
            let error = await networkError { try await transport.response(to: kind.request(server.url(path))) }
            if case .invalidResponse = error { continue }
            // Without precise errors, only the code of libcurl or Foundation is reported.
            if !kind.has(.preciseErrors), case .transport = error { continue }
            Issue.record("\(path): \(String(describing: error))")
        }
        #expect(await networkError { try await transport.response(to: kind.request(server.url("/chunks"))) } != nil)
    }

    @Test(
        "Cancelling closes the connection at once; a queued transfer is never sent",
        arguments: TransportKind.having())
    func cancellingClosesConnection(_ kind: TransportKind) async throws {
        let closed = Mutex<Bool?>(nil)
        let (begun, arrived) = AsyncStream<Void>.makeStream()
        let (ended, over) = AsyncStream<Void>.makeStream()
        let server = try HostileServer { visit in
            visit.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")
            arrived.yield()
            let isClosed = visit.waitForClose()
            closed.withLock { $0 = isClosed }
            over.yield()
        }
        let transport = kind.transport(connectionsPerHost: 1)
        let first = Task { await networkError { try await transport.response(to: kind.request(server.url("/a"))) } }
        for await _ in begun { break }
        let second = Task { await networkError { try await transport.response(to: kind.request(server.url("/b"))) } }
        second.cancel()
        #expect(await second.value == .cancelled)
        first.cancel()
        #expect(await first.value == .cancelled)
        for await _ in ended { break }
        #expect(closed.withLock { $0 } == true)
        #expect(server.count("/b") == 0)
    }

    @Test("A paused transfer receives no more bytes until it is resumed", arguments: TransportKind.having())
    func pausedTransferStopsAndResumes(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in
            if visit.path == "/busy" { _ = visit.waitForClose() }
            visit.answer([UInt8](repeating: 7, count: 8 << 20))
        }
        let transport = kind.transport(connectionsPerHost: 1)
        let counter = CountingReceiver()
        let request = kind.request(server.url("/")) { $0.timeouts.idle = .seconds(5) }
        let busy = transport.start(kind.request(server.url("/busy")), receiver: CountingReceiver())
        let transfer = transport.start(request, receiver: counter)
        transfer.pause()
        busy.cancel()
        try await Task.sleep(for: .milliseconds(100))
        #expect(server.count("/") == 0)
        counter.whenPast(1 << 20) { transfer.pause() }
        transfer.resume()
        // Longer than the idle timeout, which does not run while the transfer is paused.
        try await Task.sleep(for: .milliseconds(5_500))
        #expect((1 << 20..<8 << 20).contains(counter.count))
        transfer.resume()
        _ = try await counter.end().get()
        #expect(counter.count == 8 << 20)
    }

    @Test("Pausing and resuming a transfer before it has a connection is no failure", arguments: TransportKind.having())
    func pausingBeforeConnectionIsNoFailure(_ kind: TransportKind) async throws {
        // The server does not support TLS: the first transfer waits for an answer, the second for the first one's
        // connection.
        let server = try HostileServer { visit in _ = visit.waitForClose() }
        var url = try #require(URLComponents(url: server.url("/"), resolvingAgainstBaseURL: false))
        url.scheme = "https"
        // A long timeout, so that a busy machine does not end the wait for the connection.
        let request = kind.request(try #require(url.url)) { request in
            if kind.has(.connectTimeout) { request.timeouts.connect = .seconds(600) }
        }
        let transport = kind.transport()
        let counters = [CountingReceiver(), CountingReceiver()]
        let transfers = counters.map { transport.start(request, receiver: $0) }
        await waitUntil { server.connections > 0 }
        for transfer in transfers {
            transfer.pause()
            transfer.resume()
            transfer.cancel()
        }
        for counter in counters {
            let end = await counter.end()
            guard case .failure(.cancelled) = end else {
                Issue.record("\(end)")
                continue
            }
        }
    }

    @Test(
        "A connection that breaks during a write does not end the process; a closed transport reports an error",
        arguments: TransportKind.having())
    func brokenWriteDoesNotEndProcess(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in visit.reset() }
        let transport = kind.transport()
        for _ in 0..<20 {
            let request = kind.request(server.url("/")) { request in
                request.method = "POST"
                request.body = Data(count: 4 << 20)
            }
            #expect(await networkError { try await transport.response(to: request) } != nil)
        }
        let silent = try HostileServer { visit in _ = visit.waitForClose() }
        var short: (any Transport)? = kind.transport()
        let counter = CountingReceiver()
        _ = short?.start(kind.request(silent.url("/")), receiver: counter)
        short = nil
        #expect(await counter.end() == .failure(.transportClosed))
    }

    @Test("An invalid request is refused before anything is sent", arguments: TransportKind.having())
    func invalidRequestIsNotSent(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in visit.answer([]) }
        let transport = kind.transport()
        func error(_ request: TransportRequest) async -> NetworkError? {
            await networkError { try await transport.response(to: request) }
        }
        let split = kind.request(server.url("/")) { $0.headers["X"] = "a\r\nInjected: 1" }
        #expect(await error(split) == .invalidHeader("X"))
        let named = kind.request(server.url("/")) { $0.headers["X Y"] = "a" }
        #expect(await error(named) == .invalidHeader("X Y"))
        let method = kind.request(server.url("/")) { $0.method = "GET / HTTP/1.1\r\n" }
        #expect(await error(method) != nil)
        let hostless = try #require(URL(string: "http:///picture"))
        #expect(await error(kind.request(hostless)) == .invalidURL("http:///picture"))
        let relative = try #require(URL(string: "picture.png"))
        #expect(await error(kind.request(relative)) == .invalidURL("picture.png"))
        #expect(server.visits.isEmpty)
    }

    @Test("An upload that progresses is not idle; one that stalls times out", arguments: TransportKind.having())
    func progressingUploadIsNotIdle(_ kind: TransportKind) async throws {
        let size = 20 << 20
        let isOver = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            if visit.headers["expect"] != nil { visit.send("HTTP/1.1 100 Continue\r\n\r\n") }
            visit.limitReceiveBuffer(to: 65_536)
            guard visit.path == "/slow" else { return isOver.wait() }
            var left = size - visit.bodyBytesRead
            while left > 0 {
                let count = visit.read(upTo: 65_536)
                if count <= 0 { return }
                left -= count
                usleep(10_000)
            }
            visit.answer([1])
        }
        let transport = kind.transport()
        func upload(_ path: String) -> TransportRequest {
            kind.request(server.url(path)) { request in
                request.method = "PUT"
                request.body = Data(count: size)
                request.timeouts.idle = .seconds(2)
            }
        }
        #expect(try await Array(transport.response(to: upload("/slow")).body) == [1])
        #expect(await networkError { try await transport.response(to: upload("/stalls")) } == .timedOut(.idle))
        isOver.signal()
    }
}
