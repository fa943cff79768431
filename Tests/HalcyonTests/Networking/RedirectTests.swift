import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: redirects and authentication, against nginx", .needsNginx, .timeLimit(.minutes(20)))
struct RedirectTests {
    /// Refuses every redirect.
    private struct Stubborn: ImageDownloadRedirectHandler {
        func handleHTTPRedirection(for response: ResponseHead, newRequest: TransportRequest) async -> TransportRequest?
        {
            nil
        }
    }

    /// Redirects to its own URL and adds the original target as a header field.
    private struct Guide: ImageDownloadRedirectHandler {
        let place: URL

        func handleHTTPRedirection(for response: ResponseHead, newRequest: TransportRequest) async -> TransportRequest?
        {
            var request = newRequest
            request.url = place
            request.headers["X-Sent-From"] = response.headers["Location"]
            return request
        }
    }

    /// Gives one password and records its challenges.
    private final class Responder: AuthenticationChallengeResponder {
        let asked = Mutex<[AuthenticationChallenge]>([])
        let password: String

        init(_ password: String) { self.password = password }

        func credential(for challenge: AuthenticationChallenge) async -> Credential? {
            asked.withLock { $0.append(challenge) }
            return challenge.failures < 2 ? Credential(user: "ada", password: password) : nil
        }
    }

    @Test("Redirects are followed up to a limit")
    func redirectsAreFollowedUpToLimit() async throws {
        let nginx = try Nginx.server()
        let bytes = try nginx.file("moved.bin", pattern(2_000))
        let downloader = ImageDownloader.test()
        let result = try await downloader.download(nginx.url("/to/moved.bin"))
        #expect(Array(result.value) == bytes && result.redirects == 1)
        #expect(result.response.url == nginx.url("/moved.bin"))
        #expect(
            await networkError { try await downloader.download(nginx.url("/loop")) } == .tooManyRedirects(limit: 10))
        #expect(try await nginx.visits(to: "/loop", waitingFor: 11).count == 11)
    }

    @Test("A redirect handler can refuse the redirect")
    func handlerCanRefuseRedirect() async throws {
        let nginx = try Nginx.server()
        try nginx.file("stay.bin", pattern(20))
        let url = nginx.url("/to/stay.bin")
        let stubborn = ImageDownloader.test { $0.redirectHandler = Stubborn() }
        #expect(await networkError { try await stubborn.download(url) } == .invalidStatusCode(302, url: url))
    }

    @Test("The request of a redirect handler is sent in place of the redirect, and counts towards the limit")
    func handlerCanReplaceRequest() async throws {
        let server = try HostileServer { visit in
            guard visit.path == "/mirror" else {
                return visit.answer([], status: "302 Found", headers: ["Location: /slow"])
            }
            visit.answer(pattern(30))
        }
        let guided = ImageDownloader.test { $0.redirectHandler = Guide(place: server.url("/mirror")) }
        let result = try await guided.download(server.url("/a"))
        #expect(Array(result.value) == pattern(30) && result.redirects == 1)
        #expect(result.response.url == server.url("/mirror"))
        #expect(server.visits.map(\.path) == ["/a", "/mirror"])
        #expect(server.visits.last?.headers["x-sent-from"] == "/slow")
        // A loop made by the handler ends at the limit, too.
        let lost = ImageDownloader.test { $0.redirectHandler = Guide(place: server.url("/a")) }
        #expect(await networkError { try await lost.download(server.url("/a")) } == .tooManyRedirects(limit: 10))
    }

    @Test("A challenge gets the responder's credential; a wrong password ends the load")
    func challengeGetsCredential() async throws {
        let nginx = try Nginx.server()
        let bytes = try nginx.file("secret.bin", pattern(500))
        let url = nginx.url("/private/secret.bin")
        let none = ImageDownloader.test()
        #expect(await networkError { try await none.download(url) } == .authenticationRefused(url: url))
        let right = Responder("engine")
        let knowing = ImageDownloader.test { $0.authenticationResponder = right }
        #expect(try await Array(knowing.download(url).value) == bytes)
        let asked = right.asked.withLock { $0 }
        #expect(asked.map(\.realm) == ["engine room"] && asked.map(\.scheme) == [.basic])
        let wrong = Responder("loom")
        let guessing = ImageDownloader.test { $0.authenticationResponder = wrong }
        #expect(await networkError { try await guessing.download(url) } == .authenticationRefused(url: url))
        #expect(wrong.asked.withLock { $0.map(\.failures) } == [0, 1, 2])
        // One request without a password; one without and one with the right password; one without and two with a
        // wrong one.
        #expect(try await nginx.visits(to: "/private/secret.bin", waitingFor: 6).count == 1 + 2 + 3)
    }

    @Test("The next request resolves relative targets, changes methods and drops credentials for other origins")
    func nextRequestFollowsRedirectRules() throws {
        func request(_ text: String, _ change: (inout TransportRequest) -> Void = { _ in }) throws -> TransportRequest {
            var request = TransportRequest(try #require(URL(string: text)))
            change(&request)
            return request
        }
        func next(
            _ request: TransportRequest, _ status: Int, _ target: String?
        ) throws -> TransportRequest? {
            var head = ResponseHead(url: request.url, status: status)
            head.headers["Location"] = target
            return try Redirection.next(after: request, head)
        }
        let start = try request("https://a.example/x/y.png") { request in
            request.headers = ["Authorization": "Bearer 1", "Cookie": "c", "Accept": "image/*"]
            request.credential = Credential(user: "ada", password: "engine")
        }
        let near = try #require(try next(start, 302, "../z.png?q=1"))
        #expect(near.url.absoluteString == "https://a.example/z.png?q=1")
        #expect(near.headers["Authorization"] == "Bearer 1" && near.credential != nil)
        for target in ["https://b.example/", "//b.example/", "http://a.example/", "https://a.example:444/"] {
            let far = try #require(try next(start, 307, target))
            #expect(far.headers["authorization"] == nil && far.headers["Cookie"] == nil && far.credential == nil)
            #expect(far.headers["Accept"] == "image/*")
        }
        let post = try request("http://a.example/") { request in
            request.method = "POST"
            request.body = Data([1])
        }
        #expect(try next(post, 302, "/b")?.method == "GET")
        #expect(try next(post, 303, "/b")?.body == nil)
        #expect(try next(post, 308, "/b")?.method == "POST")
        #expect(try next(post, 307, "/b")?.body == Data([1]))
        #expect(try next(start, 200, "/b") == nil)
        #expect(try next(start, 304, "/b") == nil)
        #expect(try next(start, 302, nil) == nil)
        for target in ["file:///etc/passwd", "ftp://a.example/", "https://", "data:image/png;base64,AAAA"] {
            #expect(throws: NetworkError.invalidRedirect(target)) { try next(start, 302, target) }
        }
        let local = try request("http://a.example/") { $0.allowedSchemes = ["http", "file"] }
        #expect(throws: NetworkError.invalidRedirect("file:///etc/passwd")) {
            try next(local, 302, "file:///etc/passwd")
        }
    }
}
