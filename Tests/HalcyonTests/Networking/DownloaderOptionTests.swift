import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: overridable steps, retries, Low Data Mode", .timeLimit(.minutes(20)))
struct DownloaderOptionTests {
    /// Adds a header field asynchronously.
    private struct SlowModifier: AsyncImageDownloadRequestModifier {
        func modified(for request: TransportRequest) async -> TransportRequest? {
            await Task.yield()
            var request = request
            request.headers["X-Slow"] = "1"
            return request
        }
    }

    /// Accepts status 404 and refuses short bodies.
    private struct PickyCheck: ImageDownloadResponseCheck {
        func isValidStatusCode(_ code: Int, for response: ResponseHead) -> Bool { code == 200 || code == 404 }
        func refusal(of response: ResponseHead, body: Data) -> String? { body.count < 10 ? "it is too short" : nil }
    }

    @Test("A request modifier changes the request, also asynchronously; without a request the load fails")
    func requestModifierChangesOrRefusesRequest() async throws {
        let server = try HostileServer { visit in
            visit.answer(Array("\(visit.path) \(visit.headers["x-slow"] ?? "-")".utf8))
        }
        let downloader = ImageDownloader.test()
        var options = DownloadOptions()
        options.requestModifier = SlowModifier()
        let slow = try await downloader.download(server.url("/a"), options: options).value
        #expect(String(decoding: slow, as: UTF8.self) == "/a 1")
        options.requestModifier = AnyModifier { _ in .test(server.url("/other")) }
        let moved = try await downloader.download(server.url("/a"), options: options).value
        #expect(String(decoding: moved, as: UTF8.self) == "/other -")
        options.requestModifier = AnyModifier { _ in nil }
        let none = options
        #expect(
            await networkError { try await downloader.download(server.url("/none"), options: none) } == .emptyRequest)
        #expect(server.count("/none") == 0)
    }

    @Test("The response check decides which responses are accepted")
    func responseCheckDecidesAcceptedResponses() async throws {
        let server = try HostileServer { visit in
            visit.answer(
                pattern(visit.path == "/short" ? 5 : 50), status: visit.path == "/gone" ? "404 Gone" : "200 OK")
        }
        let downloader = ImageDownloader.test { $0.responseCheck = PickyCheck() }
        #expect(try await downloader.download(server.url("/gone")).response.status == 404)
        let short = await networkError { try await downloader.download(server.url("/short")) }
        #expect(short == .responseRefused(url: server.url("/short"), reason: "it is too short"))
    }

    @Test("Bad statuses and invalid URLs are errors")
    func badStatusesAndURLsAreErrors() async throws {
        let server = try HostileServer { visit in visit.answer(pattern(50), status: "503 Busy") }
        let downloader = ImageDownloader.test()
        let url = server.url("/a")
        #expect(await networkError { try await downloader.download(url) } == .invalidStatusCode(503, url: url))
        let relative = try #require(URL(string: "a/b.png"))
        #expect(await networkError { try await downloader.download(relative) } == .invalidURL("a/b.png"))
        let file = URL(fileURLWithPath: "/etc/hostname")
        #expect(await networkError { try await downloader.download(file) } == .unsupportedScheme("file"))
    }

    @Test("Retries wait as the strategy says and stop after a success")
    func retriesWaitAndStopAsStrategySays() async throws {
        let tries = Mutex(0)
        let server = try HostileServer { visit in
            let number = tries.withLock { tries in
                tries += 1
                return tries
            }
            visit.answer(pattern(50), status: number < 3 ? "503 Busy" : "200 OK")
        }
        let clock = ManualClock()
        let downloader = ImageDownloader.test(clock: clock)
        var options = DownloadOptions()
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 3, retryInterval: .accumulated(10))
        let load = Task { [options] in try await downloader.download(server.url("/a"), options: options).value }
        for (number, pause) in [10.0, 20].enumerated() {
            await clock.waitForSleepers(1)
            #expect(server.visits.count == number + 1)
            clock.advance(by: pause - 0.1)
            await clock.waitForSleepers(1)
            clock.advance(by: 0.1)
        }
        #expect(try await load.value.count == 50)
        #expect(server.visits.count == 3)
    }

    @Test("A retry interval is fixed, growing or custom; only transient errors are worth a retry")
    func retryIntervalIsFixedGrowingOrCustom() async throws {
        func pauses(_ interval: DelayRetryStrategy.Interval) async throws -> [Duration?] {
            let strategy = DelayRetryStrategy(maxRetryCount: 3, retryInterval: interval)
            var pauses: [Duration?] = []
            for count in 0..<4 {
                let context = RetryContext(
                    key: "http://a/", error: NetworkError.timedOut(.idle), retriedCount: count)
                if case .retry(let pause, _) = await strategy.decision(for: context) {
                    pauses.append(pause)
                } else {
                    pauses.append(nil)
                }
            }
            return pauses
        }
        #expect(try await pauses(.seconds(2)) == [.seconds(2), .seconds(2), .seconds(2), nil])
        #expect(try await pauses(.accumulated(2)) == [.seconds(2), .seconds(4), .seconds(6), nil])
        #expect(try await pauses(.custom { Double(1 << $0) }) == [.seconds(1), .seconds(2), .seconds(4), nil])
        let url = try #require(URL(string: "http://a/"))
        let worth: [NetworkError] = [
            .timedOut(.connect), .truncatedBody(received: 1, expected: 2), .connectionLost(""),
            .invalidStatusCode(500, url: url),
            .invalidStatusCode(429, url: url),
        ]
        let futile: [NetworkError] = [
            .cancelled, .invalidStatusCode(404, url: url), .tls(""), .responseTooLarge(limit: 1),
            .tooManyRedirects(limit: 1),
            .invalidURL(""),
        ]
        #expect(worth.allSatisfy(\.isWorthRetrying) && !futile.contains(where: \.isWorthRetrying))
    }

    @Test("A load cancelled in its transfer or in its pause is not retried")
    func cancelledLoadIsNotRetried() async throws {
        let server = try HostileServer { visit in
            if visit.path == "/silent" { _ = visit.waitForClose() }
            visit.answer([], status: "500 Broken")
        }
        let clock = ManualClock()
        let downloader = ImageDownloader.test(clock: clock)
        var options = DownloadOptions()
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 9, retryInterval: .seconds(1))
        let loading = Task { [options] in
            await networkError { try await downloader.download(server.url("/silent"), options: options) }
        }
        await waitUntil { server.count("/silent") != 0 }
        loading.cancel()
        #expect(await loading.value == .cancelled)
        let waiting = Task { [options] in
            await networkError { try await downloader.download(server.url("/a"), options: options) }
        }
        await clock.waitForSleepers(1)
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        #expect(server.visits.count == 2)
    }

    @Test("In Low Data Mode the low-data URL is loaded, or the load fails")
    func lowDataModeLoadsLowDataURL() async throws {
        let server = try HostileServer { visit in visit.answer(Array(visit.path.utf8)) }
        let downloader = ImageDownloader.test { $0.isNetworkConstrained = { true } }
        var options = DownloadOptions()
        options.lowDataURL = server.url("/small")
        let small = try await downloader.download(server.url("/large"), options: options).value
        #expect(String(decoding: small, as: UTF8.self) == "/small")
        #expect(try await downloader.download(server.url("/large")).value.count == 6)
        options.lowDataURL = nil
        options.allowsConstrainedNetwork = false
        let refused = options
        #expect(
            await networkError { try await downloader.download(server.url("/none"), options: refused) }
                == .constrainedNetwork)
        #expect(server.count("/none") == 0)
        let free = ImageDownloader.test()
        #expect(try await free.download(server.url("/large"), options: refused).value.count == 6)
    }
}
