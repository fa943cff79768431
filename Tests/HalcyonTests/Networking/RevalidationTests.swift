import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: conditional requests, against nginx", .needsNginx, .timeLimit(.minutes(20)))
struct RevalidationTests {
    @Test("A 304 keeps the cached bytes and renews freshness and expiration")
    func notModifiedKeepsBytesAndExtendsExpiration() async throws {
        let nginx = try Nginx.server()
        let bytes = try nginx.file("fresh.bin", pattern(3_000))
        let clock = ManualClock()
        let downloader = ImageDownloader.test()
        let memory = MemoryStorage<Data>(clock: clock)
        let url = nginx.url("/fresh/fresh.bin")
        let first = try await downloader.download(url)
        memory.store(value: first.value, forKey: url.absoluteString, expiration: .seconds(100))
        clock.advance(by: 95)
        let stale = first.freshness.freshUntil + 30
        #expect(FreshnessPolicy().decision(for: first.freshness, at: stale) == .revalidate)
        guard case .notModified(let freshness) = try await downloader.revalidate(url, first.freshness, processor: .data)
        else {
            Issue.record("it was sent again")
            return
        }
        let cached = memory.value(forKey: url.absoluteString, extendingExpiration: .expirationTime(.seconds(100)))
        #expect(cached.map { Array($0) } == bytes)
        clock.advance(by: 50)
        #expect(memory.isCached(forKey: url.absoluteString))
        #expect(freshness.validators.etag == first.freshness.validators.etag)
        #expect(
            freshness.freshUntil >= first.freshness.freshUntil
                && freshness.staleWhileRevalidateUntil == freshness.freshUntil + 30)
        let visits = try await nginx.visits(to: "/fresh/fresh.bin", waitingFor: 2)
        #expect(visits.map { $0.contains(" 304 ") } == [false, true])
    }

    @Test("A modified file is sent with a new tag")
    func modifiedFileIsSentAgain() async throws {
        let nginx = try Nginx.server()
        try nginx.file("changing.bin", pattern(100))
        let downloader = ImageDownloader.test()
        let url = nginx.url("/changing.bin")
        let first = try await downloader.download(url)
        let bytes = try nginx.file("changing.bin", pattern(200, seed: 9))
        guard case .modified(let second) = try await downloader.revalidate(url, first.freshness, processor: .data)
        else {
            Issue.record("the change was not seen")
            return
        }
        #expect(Array(second.value) == bytes && second.freshness.validators.etag != first.freshness.validators.etag)
    }

    @Test("The result's freshness follows the Cache-Control of a real server")
    func freshnessFollowsServersCacheControl() async throws {
        let nginx = try Nginx.server()
        try nginx.file("control.bin", pattern(10))
        let downloader = ImageDownloader.test()
        let before = SystemClock().now / 1_000_000
        let fresh = try await downloader.download(nginx.url("/fresh/control.bin")).freshness
        let after = SystemClock().now / 1_000_000
        // A minute after the server's answer, whose date has whole seconds.
        #expect((before + 59...after + 60).contains(fresh.freshUntil))
        #expect(fresh.staleWhileRevalidateUntil == fresh.freshUntil + 30 && fresh.isStorable)
        #expect(try await downloader.download(nginx.url("/unstored/control.bin")).freshness.isStorable == false)
    }
}
