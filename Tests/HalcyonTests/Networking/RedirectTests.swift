import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: redirects, names and passwords, against nginx", .needsNginx, .timeLimit(.minutes(20)))
struct RedirectTests {
    /// Goes nowhere.
    private struct Stubborn: ImageDownloadRedirectHandler {
        func handleHTTPRedirection(for response: ResponseHead, newRequest: TransportRequest) async -> TransportRequest?
        {
            nil
        }
    }

    /// Goes to a place of its own choice, and says so.
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

    /// Knows one password, and how often it was asked.
    private final class Responder: AuthenticationChallengeResponder {
        let asked = Mutex<[AuthenticationChallenge]>([])
        let password: String

        init(_ password: String) { self.password = password }

        func credential(for challenge: AuthenticationChallenge) async -> Credential? {
            asked.withLock { $0.append(challenge) }
            return challenge.failures < 2 ? Credential(user: "ada", password: password) : nil
        }
    }

    @Test("row 42: redirects are followed, and limited")
    func follow() async throws {
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

    @Test("row 43: the redirect handler may stay, or send another request")
    func handler() async throws {
        let nginx = try Nginx.server()
        try nginx.file("stay.bin", pattern(20))
        let url = nginx.url("/to/stay.bin")
        let stubborn = ImageDownloader.test { $0.redirectHandler = Stubborn() }
        #expect(await networkError { try await stubborn.download(url) } == .invalidStatusCode(302, url: url))
    }

    @Test("row 43: what the redirect handler changes is what is sent, to where it says, and counts as a redirect")
    func changed() async throws {
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
        // Who is sent in circles by the handler is stopped, too.
        let lost = ImageDownloader.test { $0.redirectHandler = Guide(place: server.url("/a")) }
        #expect(await networkError { try await lost.download(server.url("/a")) } == .tooManyRedirects(limit: 10))
    }

    @Test("row 43: a place that asks for a name and a password gets them; a wrong password ends")
    func authentication() async throws {
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
        // One without a password, one with the right one; one without and two with a wrong one; and one without.
        #expect(try await nginx.visits(to: "/private/secret.bin", waitingFor: 6).count == 1 + 2 + 3)
    }

    @Test("the next request: relative places, methods, and what another place must not see")
    func rules() throws {
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
