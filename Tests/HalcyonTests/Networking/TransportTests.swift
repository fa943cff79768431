import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

// Serialized: the cases of one test write the same file of the one nginx.
@Suite("Transport: against nginx", .needsNginx, .serialized, .timeLimit(.minutes(20)))
struct TransportTests {
    @Test(
        "A URL that is too long is called that; one of the greatest length is sent", arguments: TransportKind.having())
    func tooLongURLIsNamed(kind: TransportKind) async throws {
        let server = try HostileServer { visit in visit.answer([UInt8](String(visit.path.utf8.count).utf8)) }
        let path = String(repeating: "a", count: 524_288 - server.url("/").absoluteString.utf8.count)
        let error = await networkError {
            try await kind.transport().response(to: kind.request(server.url("/" + path + "a")))
        }
        #expect(error == .urlTooLong(limit: 524_288))
        #expect(error?.description == "The URL is longer than the 524288 bytes that can be sent.")
        let answer = try await CurlTransport().response(to: .test(server.url("/" + path)))
        #expect(String(decoding: answer.body, as: UTF8.self) == String(path.utf8.count + 1))
        // Header fields that are too long are not taken for those of the response.
        let long = TransportRequest.test(server.url("/")) {
            $0.headers["X-Long"] = String(repeating: "a", count: 1 << 20)
        }
        guard case .transport(27, let reason)? = await networkError({ try await CurlTransport().response(to: long) })
        else {
            Issue.record("it was sent")
            return
        }
        #expect(reason == "The header fields of the request are longer than 1 MB")
    }

    @Test("Each error is a sentence with one full stop, however its reason ends")
    func sentencesEndWithOneFullStop() {
        let errors: [(String) -> NetworkError] = [
            { .responseRefused(url: fake("a"), reason: $0) }, { .invalidResponse($0) }, { .cannotFindHost($0) },
            { .cannotConnect($0) }, { .connectionLost($0) }, { .tls($0) }, { .transport(code: 7, $0) },
        ]
        for error in errors {
            let expected = error("It broke").description
            #expect(expected.hasSuffix(".") && !expected.contains(".."))
            for end in [".", "..", ". ", ".\n", " "] { #expect(error("It broke" + end).description == expected) }
        }
    }

    @Test("HTTP/1.1 reuses its connection for the next transfer", arguments: TransportKind.having())
    func connectionIsReused(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        let bytes = try nginx.file("keep.bin", pattern(40_000))
        let transport = kind.transport()
        let first = try await transport.response(to: kind.request(nginx.url("/keep.bin")))
        let second = try await transport.response(to: kind.request(nginx.url("/keep.bin")))
        #expect(first.head.status == 200 && Array(first.body) == bytes)
        #expect(Array(second.body) == bytes)
        if kind.has(.connectionReuse) { #expect(!first.metrics.reusedConnection && second.metrics.reusedConnection) }
        if kind.has(.httpVersionReport) { #expect(first.metrics.httpVersion == "1.1") }
        #expect(first.head.contentLength == 40_000 && first.head.headers["etag"] != nil)
    }

    @Test(
        "Twenty concurrent HTTP/2 transfers share one connection",
        arguments: TransportKind.having(.customAuthorities, .connectionReuse, .httpVersionReport))
    func concurrentTransfersShareOneConnection(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        let bytes = try nginx.file("multi.bin", pattern(30_000))
        let transport = kind.transport()
        let request = TransportRequest.secure(nginx.secureURL("/multi.bin"), nginx)
        let first = try await transport.response(to: request)
        #expect(first.metrics.httpVersion == "2" && first.metrics.tls > .zero)
        // The later rounds use handles that shared the connection before.
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

    @Test(
        "An untrusted, misnamed or unpinned certificate is refused unless verification is off",
        arguments: TransportKind.having())
    func untrustedCertificateIsRefused(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        try nginx.file("tls.bin", pattern(10))
        let transport = kind.transport()
        func isRefused(_ request: TransportRequest) async -> Bool {
            let error = await networkError { try await transport.response(to: request) }
            if case .tls = error { return true }
            // Without precise errors, only the code of libcurl or Foundation is reported.
            if !kind.has(.preciseErrors), case .transport = error { return true }
            Issue.record("\(String(describing: error))")
            return false
        }
        #expect(await isRefused(kind.request(nginx.secureURL("/tls.bin"))))
        if kind.has(.customAuthorities) {
            #expect(await isRefused(.secure(nginx.misnamedURL("/tls.bin"), nginx)))
            if kind.has(.pinnedPublicKey) {
                let pinned = TransportRequest.secure(nginx.secureURL("/tls.bin"), nginx) {
                    $0.tls.pinnedPublicKey = "sha256//" + Data(repeating: 0, count: 32).base64EncodedString()
                }
                #expect(await isRefused(pinned))
            }
        }
        if kind.has(.unverifiedTLS) {
            let unverified = kind.request(nginx.misnamedURL("/tls.bin")) { $0.tls.isVerified = false }
            #expect(try await transport.response(to: unverified).head.status == 200)
        }
    }

    @Test("Only http and https are allowed by default", arguments: TransportKind.having())
    func onlyHTTPSchemesByDefault(_ kind: TransportKind) async throws {
        let transport = kind.transport()
        let nginx = try Nginx.server()
        try nginx.file("scheme.bin", pattern(10))
        let file = URL(fileURLWithPath: nginx.folder.path + "/files/scheme.bin")
        #expect(
            await networkError { try await transport.response(to: kind.request(file)) } == .unsupportedScheme("file"))
        let allowed = kind.request(file) { $0.allowedSchemes = ["file"] }
        guard kind.has(.otherSchemes) else { return }
        #expect(try await Array(transport.response(to: allowed).body) == pattern(10))
    }

    @Test("A body compressed in chunks arrives decoded", arguments: TransportKind.having())
    func compressedBodyIsDecoded(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        let text = Array(String(repeating: "a picture of nothing, ", count: 5_000).utf8)
        try nginx.file("text.bin", text)
        let transport = kind.transport()
        let response = try await transport.response(to: kind.request(nginx.url("/gzip/text.bin")))
        #expect(response.head.headers["content-encoding"] == "gzip")
        #expect(response.head.headers["transfer-encoding"] == "chunked")
        #expect(response.body == Data(text))
        if kind.has(.wireByteCounts) { #expect(response.metrics.bytesReceived < 10_000) }
        let plain = try await transport.response(
            to: kind.request(nginx.url("/gzip/text.bin")) { $0.acceptsCompression = false })
        #expect(plain.head.headers["content-encoding"] == nil && Array(plain.body) == text)
    }

    @Test("The response limit counts decompressed bytes", arguments: TransportKind.having())
    func limitCountsDecompressedBytes(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        try nginx.file("bomb.bin", [UInt8](repeating: 0, count: 4 << 20))
        let request = kind.request(nginx.url("/gzip/bomb.bin")) { $0.limits.responseBytes = 1 << 20 }
        #expect(
            await networkError { try await kind.transport().response(to: request) }
                == .responseTooLarge(limit: 1 << 20))
    }

    @Test(
        "Conditional, range, HEAD and PUT requests get their responses, and a missing file gets 404",
        arguments: TransportKind.having())
    func requestVariantsGetTheirResponses(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        let bytes = try nginx.file("range.bin", pattern(5_000))
        let transport = kind.transport()
        let whole = try await transport.response(to: kind.request(nginx.url("/range.bin")))
        let tag = try #require(whole.head.headers["ETag"])
        let same = try await transport.response(
            to: kind.request(nginx.url("/range.bin")) { $0.headers["If-None-Match"] = tag })
        #expect(same.head.status == 304 && same.body.isEmpty)
        let part = try await transport.response(
            to: kind.request(nginx.url("/range.bin")) { $0.headers["Range"] = "bytes=4000-" })
        #expect(part.head.status == 206 && Array(part.body) == Array(bytes[4_000...]))
        let head = try await transport.response(to: kind.request(nginx.url("/range.bin")) { $0.method = "HEAD" })
        #expect(head.head.contentLength == 5_000 && head.body.isEmpty)
        let said = try await transport.response(
            to: kind.request(nginx.url("/said")) { request in
                request.method = "PUT"
                request.headers["X-Said"] = "so"
                request.body = Data("a body".utf8)
            })
        #expect(String(decoding: said.body, as: UTF8.self) == "PUT so")
        #expect(try await transport.response(to: kind.request(nginx.url("/nowhere"))).head.status == 404)
    }

    @Test(
        "Metrics report the duration of each phase and the transferred bytes",
        arguments: TransportKind.having(
            .customAuthorities, .phaseTimings, .wireByteCounts, .peerAddress, .connectionReuse))
    func metricsReportPhasesAndBytes(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        try nginx.file("metrics.bin", pattern(100_000))
        let transport = kind.transport()
        let metrics = try await transport.response(to: .secure(nginx.secureURL("/metrics.bin"), nginx)).metrics
        #expect(metrics.connect > .zero && metrics.tls > .zero && metrics.firstByte > .zero)
        #expect(metrics.connect + metrics.tls + metrics.firstByte <= metrics.total)
        #expect((100_000...101_000).contains(metrics.bytesReceived) && metrics.bytesSent > 0)
        #expect(metrics.remoteAddress == "127.0.0.1")
        let again = try await transport.response(to: .secure(nginx.secureURL("/metrics.bin"), nginx)).metrics
        #expect(again.reusedConnection && again.tls == .zero)
    }

    @Test(
        "Every transport reports queue time, total and bytes; unmeasured values are zero",
        arguments: TransportKind.having())
    func everyTransportReportsTotalAndBytes(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        try nginx.file("counted.bin", pattern(100_000))
        let request = kind.request(nginx.url("/counted.bin")) { request in
            request.method = "POST"
            request.body = Data(count: 5_000)
        }
        let clock = ContinuousClock()
        var metrics = TransferMetrics()
        let elapsed = try await clock.measure {
            // nginx answers a POST to a file with 405 and a short page.
            metrics = try await kind.transport().response(to: request).metrics
        }
        #expect(metrics.total > .zero && metrics.total + metrics.queued <= elapsed)
        #expect(metrics.bytesSent >= 5_000 && metrics.bytesReceived > 0)
        let get = try await kind.transport().response(to: kind.request(nginx.url("/counted.bin"))).metrics
        #expect((100_000...101_000).contains(get.bytesReceived))
        if !kind.has(.phaseTimings) { #expect(get.nameLookup + get.connect + get.tls + get.firstByte == .zero) }
        if !kind.has(.peerAddress) { #expect(get.remoteAddress.isEmpty) }
        if !kind.has(.httpVersionReport) { #expect(get.httpVersion.isEmpty) }
        if !kind.has(.connectionReuse) { #expect(!get.reusedConnection) }
    }

    @Test(
        "The speed limits of one transfer and of all transfers are respected",
        arguments: TransportKind.having(.speedLimit)
    )
    func speedLimitIsRespected(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        try nginx.file("speed.bin", pattern(60_000))
        let request = kind.request(nginx.url("/speed.bin"))
        let slow = kind.request(nginx.url("/speed.bin")) { $0.limits.bytesPerSecond = 100_000 }
        let clock = ContinuousClock()
        // Only the lower bound is asserted: a busy machine can take longer.
        let one = try await clock.measure { _ = try await kind.transport().response(to: slow) }
        #expect(one > .milliseconds(250))
        // The limit of all transfers is libcurl's only.
        var configuration = CurlTransport.Configuration()
        configuration.bytesPerSecond = 100_000
        let all = CurlTransport(configuration)
        let two = try await clock.measure {
            async let first = all.response(to: request)
            async let second = all.response(to: request)
            _ = try await (first, second)
        }
        #expect(two > .milliseconds(500))
    }

    @Test(
        "The transport delivers redirects without following them, and stores no cookies",
        arguments: TransportKind.having())
    func transportDeliversRedirects(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in
            switch visit.path {
            case "/a":
                visit.answer([1, 2], status: "302 Found", headers: ["Location: /b", "Set-Cookie: id=1"])
            case "/targetless": visit.answer([], status: "307 Temporary Redirect", headers: ["Set-Cookie: id=2"])
            default: visit.answer([3])
            }
        }
        let transport = kind.transport()
        let redirect = try await transport.response(to: kind.request(server.url("/a")))
        #expect(redirect.head.status == 302 && redirect.head.headers["location"] == "/b")
        #expect(Array(redirect.body) == [1, 2] && server.count("/b") == 0)
        #expect(try await transport.response(to: kind.request(server.url("/targetless"))).head.status == 307)
        #expect(try await Array(transport.response(to: kind.request(server.url("/b"))).body) == [3])
        #expect(server.visits.allSatisfy { $0.headers["cookie"] == nil })
    }

    @Test(
        "A downloader follows redirects and answers challenges over every transport", arguments: TransportKind.having())
    func downloaderFollowsRedirectsOverEveryTransport(_ kind: TransportKind) async throws {
        struct Ada: AuthenticationChallengeResponder {
            func credential(for challenge: AuthenticationChallenge) async -> Credential? {
                challenge.failures == 0 ? Credential(user: "ada", password: "engine") : nil
            }
        }
        let nginx = try Nginx.server()
        let bytes = try nginx.file("downloaded.bin", pattern(20_000))
        let downloader = ImageDownloader.test(kind.transport()) { configuration in
            configuration.request = { kind.request($0) }
            configuration.authenticationResponder = Ada()
        }
        let redirected = try await downloader.download(nginx.url("/to/downloaded.bin"))
        #expect(Array(redirected.value) == bytes && redirected.redirects == 1)
        let challenged = try await downloader.download(nginx.url("/private/downloaded.bin"))
        #expect(Array(challenged.value) == bytes)
        // The credential is not stored: without the responder, the server's challenge ends the next load.
        let stranger = ImageDownloader.test(kind.transport()) { $0.request = { kind.request($0) } }
        let place = nginx.url("/private/downloaded.bin")
        #expect(await networkError { try await stranger.download(place) } == .authenticationRefused(url: place))
    }

    @Test(
        "A receiver gets one head, then pieces, then one end, however the transfer ends",
        arguments: TransportKind.having())
    func receiverCallsAreOrdered(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        try nginx.file("order.bin", pattern(300_000))
        let transport = kind.transport()
        let counters = (0..<60).map { _ in CountingReceiver() }
        for (index, counter) in counters.enumerated() {
            let request = kind.request(nginx.url("/order.bin")) { request in
                if index % 3 == 1 { request.limits.responseBytes = 200_000 }
            }
            let transfer = transport.start(request, receiver: counter)
            // Some are cancelled in the middle.
            if index % 3 == 2 { counter.whenPast(50_000) { transfer.cancel() } }
        }
        for (index, counter) in counters.enumerated() {
            switch (index % 3, await counter.end()) {
            case (0, .success): #expect(counter.count == 300_000)
            case (1, .failure(.responseTooLarge)): #expect(counter.count <= 200_000)
            case (2, .failure(.cancelled)), (2, .success): #expect(counter.count > 50_000)
            case (_, let end): Issue.record("\(index): \(end)")
            }
            #expect(counter.isOrdered)
        }
    }
}
