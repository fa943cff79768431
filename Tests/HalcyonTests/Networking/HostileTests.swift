import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Transport: against a hostile server", .timeLimit(.minutes(20)))
struct HostileTests {
    @Test("row 42: a body shorter than announced, cut off or reset, is an error", arguments: TransportKind.having())
    func short(_ kind: TransportKind) async throws {
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
        "row 42: a server that never answers, one that stops, and one that sends a byte at a time end in time, each by its own error",
        arguments: TransportKind.having()
    )
    func slow(_ kind: TransportKind) async throws {
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
        // Only the timeout that is tested is short, so that none else ends a transfer on a busy machine.
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

    /// Were room not given on at once, each would wait a minute for it.
    @Test("row 45: who waits for room has it as soon as somebody's time is over", arguments: TransportKind.having())
    func roomOfTheOverdue(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in
            if visit.path == "/good" { visit.answer([7]) } else { _ = visit.waitForClose() }
        }
        let transport = kind.transport(connectionsPerHost: 1)
        // Where the time to connect counts as well, a busy machine needs more of it.
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
        "row 42: no connection in time is an error of its own, and no address and no listener are, too",
        arguments: TransportKind.having())
    func connecting(_ kind: TransportKind) async throws {
        let transport = kind.transport()
        if kind.has(.connectTimeout) {
            // It accepts the connection and never answers the TLS handshake.
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

    @Test(
        "row 42: a body of ten gigabytes, announced or not, and headers without end are cut off at their limits",
        arguments: TransportKind.having())
    func endless(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in
            switch visit.path {
            case "/announced":
                visit.send("HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n")
                _ = visit.waitForClose()
            case "/body":
                visit.send("HTTP/1.1 200 OK\r\n\r\n")
                // Without flow control, a body without end would delay every session of the process.
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

    @Test("what is no answer is an error", arguments: TransportKind.having())
    func garbage(_ kind: TransportKind) async throws {
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
            // Without precise errors, the code of libcurl or Foundation is all there is.
            if !kind.has(.preciseErrors), case .transport = error { continue }
            Issue.record("\(path): \(String(describing: error))")
        }
        #expect(await networkError { try await transport.response(to: kind.request(server.url("/chunks"))) } != nil)
    }

    @Test(
        "row 37: cancelling closes the connection at once; a transfer that waits is never sent",
        arguments: TransportKind.having())
    func cancelling(_ kind: TransportKind) async throws {
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

    @Test("a paused transfer takes no more, and goes on", arguments: TransportKind.having())
    func pausing(_ kind: TransportKind) async throws {
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
        // Longer than the limit of idleness, which does not count while it is paused.
        try await Task.sleep(for: .milliseconds(5_500))
        #expect((1 << 20..<8 << 20).contains(counter.count))
        transfer.resume()
        _ = try await counter.end().get()
        #expect(counter.count == 8 << 20)
    }

    @Test(
        "a transfer that is paused and resumed before it has a connection is no failure",
        arguments: TransportKind.having())
    func pausingEarly(_ kind: TransportKind) async throws {
        // Speaks no TLS: the first transfer waits for an answer, the second for the first one's connection.
        let server = try HostileServer { visit in _ = visit.waitForClose() }
        var url = try #require(URLComponents(url: server.url("/"), resolvingAgainstBaseURL: false))
        url.scheme = "https"
        // However long this test waits for a processor among the others, the connection is still awaited.
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
        "a connection that breaks while it is written to does not end the process; a closed transport says so",
        arguments: TransportKind.having())
    func breaking(_ kind: TransportKind) async throws {
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

    @Test("a request that cannot be sent is refused before anything is", arguments: TransportKind.having())
    func refused(_ kind: TransportKind) async throws {
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

    @Test("an upload that makes progress is not idle; one that makes none is", arguments: TransportKind.having())
    func uploads(_ kind: TransportKind) async throws {
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
