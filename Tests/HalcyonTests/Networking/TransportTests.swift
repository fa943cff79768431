import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Transport: against nginx", .needsNginx, .timeLimit(.minutes(10)))
struct TransportTests {
    @Test("row 46: HTTP/1.1 keeps its connection for the next transfer")
    func keepAlive() async throws {
        let nginx = try Nginx.server()
        let bytes = try nginx.file("keep.bin", pattern(40_000))
        let transport = CurlTransport()
        let first = try await transport.response(to: .test(nginx.url("/keep.bin")))
        let second = try await transport.response(to: .test(nginx.url("/keep.bin")))
        #expect(first.head.status == 200 && Array(first.body) == bytes)
        #expect(first.metrics.httpVersion == "1.1" && !first.metrics.reusedConnection)
        #expect(second.metrics.reusedConnection && Array(second.body) == bytes)
        #expect(first.head.contentLength == 40_000 && first.head.headers["etag"] != nil)
    }

    @Test("row 46: HTTP/2 over TLS, twenty transfers at once over one connection")
    func multiplexed() async throws {
        let nginx = try Nginx.server()
        let bytes = try nginx.file("multi.bin", pattern(30_000))
        let transport = CurlTransport()
        let request = TransportRequest.secure(nginx.secureURL("/multi.bin"), nginx)
        let first = try await transport.response(to: request)
        #expect(first.metrics.httpVersion == "2" && first.metrics.tls > .zero)
        // Also with handles that shared the connection before.
        for _ in 0..<10 {
            let reused = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let response = try await transport.response(to: request)
                        return response.metrics.reusedConnection && Array(response.body) == bytes
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(reused == 20)
        }
    }

    @Test("row 46: a certificate that is not trusted, or another's, is refused, unless it is not verified at all")
    func certificates() async throws {
        let nginx = try Nginx.server()
        try nginx.file("tls.bin", pattern(10))
        let transport = CurlTransport()
        let untrusted = await networkError {
            try await transport.response(to: .test(nginx.secureURL("/tls.bin")))
        }
        let misnamed = await networkError {
            try await transport.response(to: .secure(nginx.misnamedURL("/tls.bin"), nginx))
        }
        for error in [untrusted, misnamed] {
            guard case .tls = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        let unverified = TransportRequest.test(nginx.misnamedURL("/tls.bin")) { $0.tls.isVerified = false }
        #expect(try await transport.response(to: unverified).head.status == 200)
        let pinned = TransportRequest.secure(nginx.secureURL("/tls.bin"), nginx) {
            $0.tls.pinnedPublicKey = "sha256//" + Data(repeating: 0, count: 32).base64EncodedString()
        }
        guard case .tls = await networkError({ try await transport.response(to: pinned) }) else {
            Issue.record("another key was taken")
            return
        }
    }

    @Test("row 46: only http and https, unless asked otherwise")
    func schemes() async throws {
        let transport = CurlTransport()
        let nginx = try Nginx.server()
        try nginx.file("scheme.bin", pattern(10))
        let file = URL(fileURLWithPath: nginx.folder.path + "/files/scheme.bin")
        #expect(
            await networkError { try await transport.response(to: .test(file)) } == .unsupportedScheme("file"))
        let allowed = TransportRequest.test(file) { $0.allowedSchemes = ["file"] }
        #expect(try await Array(transport.response(to: allowed).body) == pattern(10))
    }

    @Test("compressed in chunks: the body arrives as it was")
    func compressed() async throws {
        let nginx = try Nginx.server()
        let text = Array(String(repeating: "a picture of nothing, ", count: 5_000).utf8)
        try nginx.file("text.bin", text)
        let transport = CurlTransport()
        let response = try await transport.response(to: .test(nginx.url("/gzip/text.bin")))
        #expect(response.head.headers["content-encoding"] == "gzip")
        #expect(response.head.headers["transfer-encoding"] == "chunked")
        #expect(Array(response.body) == text && response.metrics.bytesReceived < 10_000)
        let plain = try await transport.response(
            to: .test(nginx.url("/gzip/text.bin")) { $0.acceptsCompression = false })
        #expect(plain.head.headers["content-encoding"] == nil && Array(plain.body) == text)
    }

    @Test("row 42: what is compressed counts against the limit as it is afterwards")
    func bomb() async throws {
        let nginx = try Nginx.server()
        try nginx.file("bomb.bin", [UInt8](repeating: 0, count: 4 << 20))
        let request = TransportRequest.test(nginx.url("/gzip/bomb.bin")) { $0.limits.responseBytes = 1 << 20 }
        #expect(
            await networkError { try await CurlTransport().response(to: request) }
                == .responseTooLarge(limit: 1 << 20))
    }

    @Test("conditional and range requests, methods, headers, 404")
    func requests() async throws {
        let nginx = try Nginx.server()
        let bytes = try nginx.file("range.bin", pattern(5_000))
        let transport = CurlTransport()
        let whole = try await transport.response(to: .test(nginx.url("/range.bin")))
        let tag = try #require(whole.head.headers["ETag"])
        let same = try await transport.response(
            to: .test(nginx.url("/range.bin")) { $0.headers["If-None-Match"] = tag })
        #expect(same.head.status == 304 && same.body.isEmpty)
        let part = try await transport.response(
            to: .test(nginx.url("/range.bin")) { $0.headers["Range"] = "bytes=4000-" })
        #expect(part.head.status == 206 && Array(part.body) == Array(bytes[4_000...]))
        let head = try await transport.response(to: .test(nginx.url("/range.bin")) { $0.method = "HEAD" })
        #expect(head.head.contentLength == 5_000 && head.body.isEmpty)
        let said = try await transport.response(
            to: .test(nginx.url("/said")) { request in
                request.method = "PUT"
                request.headers["X-Said"] = "so"
                request.body = Data("a body".utf8)
            })
        #expect(String(decoding: said.body, as: UTF8.self) == "PUT so")
        #expect(try await transport.response(to: .test(nginx.url("/nowhere"))).head.status == 404)
    }

    @Test("row 45: metrics say how long each phase took and how much arrived")
    func metrics() async throws {
        let nginx = try Nginx.server()
        try nginx.file("metrics.bin", pattern(100_000))
        let transport = CurlTransport()
        let metrics = try await transport.response(to: .secure(nginx.secureURL("/metrics.bin"), nginx)).metrics
        #expect(metrics.connect > .zero && metrics.tls > .zero && metrics.firstByte > .zero)
        #expect(metrics.connect + metrics.tls + metrics.firstByte <= metrics.total)
        #expect((100_000...101_000).contains(metrics.bytesReceived) && metrics.bytesSent > 0)
        #expect(metrics.remoteAddress == "127.0.0.1")
        let again = try await transport.response(to: .secure(nginx.secureURL("/metrics.bin"), nginx)).metrics
        #expect(again.reusedConnection && again.tls == .zero)
    }

    @Test("row 45: a limit of speed, of one transfer and of all, is kept to")
    func speed() async throws {
        let nginx = try Nginx.server()
        try nginx.file("speed.bin", pattern(60_000))
        let request = TransportRequest.test(nginx.url("/speed.bin"))
        let slow = TransportRequest.test(nginx.url("/speed.bin")) { $0.limits.bytesPerSecond = 100_000 }
        var configuration = CurlTransport.Configuration()
        configuration.bytesPerSecond = 100_000
        let clock = ContinuousClock()
        // Only the lower bound is asserted: a busy machine can but take longer.
        let one = try await clock.measure { _ = try await CurlTransport().response(to: slow) }
        #expect(one > .milliseconds(250))
        let all = CurlTransport(configuration)
        let two = try await clock.measure {
            async let first = all.response(to: request)
            async let second = all.response(to: request)
            _ = try await (first, second)
        }
        #expect(two > .milliseconds(500))
    }
}
