import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: rules of redirects and cookies", .timeLimit(.minutes(20)))
struct RedirectRuleTests {
    private final class Counting: ImageDownloadRedirectHandler {
        let count = Mutex(0)

        func handleHTTPRedirection(
            for response: ResponseHead, newRequest: TransportRequest
        ) async -> TransportRequest? {
            count.withLock { $0 += 1 }
            return newRequest
        }
    }

    private struct Stubborn: ImageDownloadRedirectHandler {
        func handleHTTPRedirection(
            for response: ResponseHead, newRequest: TransportRequest
        ) async -> TransportRequest? { nil }
    }

    private static func url(_ text: String) -> URL { URL(string: text) ?? URL(fileURLWithPath: "/") }

    /// A transport that redirects one URL and answers all others.
    private static func redirecting(_ from: String, to target: String) -> ScriptedTransport {
        ScriptedTransport { request in
            guard request.url.absoluteString == from else {
                return (ResponseHead(url: request.url, status: 200), Data([1]))
            }
            return (ResponseHead(url: request.url, status: 302, headers: ["Location": target]), Data())
        }
    }

    @Test("A redirect from https to http is refused unless the downloader or the call allows it")
    func redirectToHTTPIsRefusedUnlessAllowed() async throws {
        let (secure, plain) = (Self.url("https://a.example/x"), Self.url("http://b.example/y"))
        let transport = Self.redirecting(secure.absoluteString, to: plain.absoluteString)
        let strict = ImageDownloader.test(transport)
        #expect(await networkError { try await strict.download(secure) } == .insecureRedirect(plain))
        #expect(transport.requests.map(\.url) == [secure])
        var options = DownloadOptions()
        options.allowsInsecureRedirects = true
        #expect(try await strict.download(secure, options: options).response.url == plain)
        let lax = ImageDownloader.test(transport) { $0.allowsInsecureRedirects = true }
        #expect(try await lax.download(secure).response.url == plain)
        options.allowsInsecureRedirects = false
        let refused = options
        #expect(await networkError { try await lax.download(secure, options: refused) } == .insecureRedirect(plain))
        // Redirects from http to http or https are allowed.
        let upward = ImageDownloader.test(Self.redirecting(plain.absoluteString, to: secure.absoluteString))
        #expect(try await upward.download(plain).response.url == secure)
    }

    @Test("Loads that differ in whether they allow insecure redirects share no transfer")
    func loadsWithDifferentRedirectRulesShareNoTransfer() async throws {
        let (transport, plain) = (FakeTransport(), Self.url("http://fake/b"))
        let downloader = ImageDownloader.test(transport)
        func load(_ allows: Bool) -> Task<DownloadResult<Data>, any Error> {
            var options = DownloadOptions()
            options.allowsInsecureRedirects = allows
            return Task { [options] in try await downloader.download(Self.url("https://fake/a"), options: options) }
        }
        let (lax, strict) = (load(true), load(false))
        await transport.waitForCalls(2)
        #expect(downloader.transferCount == 2)
        for _ in 0..<2 {
            transport.answer("a", Data(), status: 302, headers: ["Location": plain.absoluteString])
        }
        transport.answer("b", Data([1]))
        #expect(try await lax.value.response.url == plain)
        #expect(await networkError { try await strict.value } == .insecureRedirect(plain))
    }

    @Test("Another origin gets only safe header fields and those the request allows")
    func otherOriginGetsSafeHeadersOnly() async throws {
        let (near, far) = (Self.url("https://a.example/x"), "https://b.example/y")
        func sent(_ change: @escaping @Sendable (inout TransportRequest) -> Void) async throws -> HeaderFields {
            let transport = Self.redirecting(near.absoluteString, to: far)
            let downloader = ImageDownloader.test(transport) { configuration in
                configuration.request = { url in
                    var request = TransportRequest.test(url)
                    request.headers = [
                        "Authorization": "Bearer 1", "cookie": "a=b", "Proxy-Authorization": "c", "X-Api-Key": "d",
                        "X-Client": "e", "Accept": "image/webp", "User-Agent": "f",
                    ]
                    change(&request)
                    return request
                }
            }
            _ = try await downloader.download(near)
            return try #require(transport.requests.last).headers
        }
        #expect(try await sent { _ in } == ["Accept": "image/webp", "User-Agent": "f"])
        #expect(try await sent { $0.sensitiveHeaders = ["accept"] } == ["User-Agent": "f"])
        let more = try await sent { $0.crossOriginHeaders.formUnion(["x-client", "X-Api-Key", "Cookie"]) }
        #expect(more == ["X-Api-Key": "d", "X-Client": "e", "Accept": "image/webp", "User-Agent": "f"])
        let marked = try await sent {
            $0.crossOriginHeaders.formUnion(["X-Client", "X-Api-Key"])
            $0.sensitiveHeaders = ["x-api-key"]
        }
        #expect(marked == ["X-Client": "e", "Accept": "image/webp", "User-Agent": "f"])
        // The same origin gets all fields.
        let transport = Self.redirecting(near.absoluteString, to: "/y")
        let downloader = ImageDownloader.test(transport) { configuration in
            configuration.request = { .test($0) { $0.headers = ["X-Api-Key": "d"] } }
        }
        _ = try await downloader.download(near)
        #expect(transport.requests.last?.headers["X-Api-Key"] == "d")
    }

    @Test("A call's redirect handler overrides the downloader's; loads share a transfer only with the same handler")
    func callsRedirectHandlerOverridesDownloaders() async throws {
        let server = try HostileServer { visit in
            guard visit.path == "/a" else { return visit.answer(pattern(30)) }
            visit.answer([], status: "302 Found", headers: ["Location: /b"])
        }
        let (own, general) = (Counting(), Counting())
        let downloader = ImageDownloader.test { $0.redirectHandler = general }
        var options = DownloadOptions()
        options.redirectHandler = Stubborn()
        let stubborn = options
        #expect(
            await networkError { try await downloader.download(server.url("/a"), options: stubborn) }
                == .invalidStatusCode(302, url: server.url("/a")))
        #expect(general.count.withLock { $0 } == 0)
        options.redirectHandler = own
        _ = try await downloader.download(server.url("/a"), options: options)
        #expect(own.count.withLock { $0 } == 1 && general.count.withLock { $0 } == 0)
        _ = try await downloader.download(server.url("/a"))
        #expect(general.count.withLock { $0 } == 1)

        let fakes = FakeTransport()
        let merging = ImageDownloader.test(fakes)
        for options in [options, options, stubborn, stubborn, DownloadOptions()] {
            merging.download(fake("a"), options: options) { _ in }
        }
        await fakes.waitForCalls(4)
        #expect(merging.transferCount == 4 && merging.waiterCount == 5)
        merging.cancelAll()
    }

    @Test("A received Set-Cookie is never sent back; a Cookie field of the request is")
    func receivedCookiesAreNotSent() async throws {
        let server = try HostileServer { visit in
            guard visit.path == "/a" else { return visit.answer(pattern(30), headers: ["Set-Cookie: later=1"]) }
            visit.answer([], status: "302 Found", headers: ["Location: /b", "Set-Cookie: session=1; Path=/"])
        }
        let downloader = ImageDownloader.test()
        for _ in 0..<2 { _ = try await downloader.download(server.url("/a")) }
        #expect(server.visits.map(\.path) == ["/a", "/b", "/a", "/b"])
        #expect(server.visits.allSatisfy { $0.headers["cookie"] == nil })
        var options = DownloadOptions()
        options.requestModifier = AnyModifier { request in
            var request = request
            request.headers["Cookie"] = "session=2"
            return request
        }
        _ = try await downloader.download(server.url("/a"), options: options)
        #expect(server.visits.suffix(2).map { $0.headers["cookie"] } == ["session=2", "session=2"])
    }
}
