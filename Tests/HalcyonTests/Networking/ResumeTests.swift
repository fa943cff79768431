import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: resumed loads", .timeLimit(.minutes(20)))
struct ResumeTests {
    /// A server that truncates the first answer after `count` bytes and supports ranges.
    private static func server(
        _ bytes: [UInt8], cutAfter count: Int, tag: @escaping @Sendable (Int) -> String = { _ in "\"v1\"" },
        ranges: Bool = true
    ) throws -> HostileServer {
        let visits = Mutex(0)
        return try HostileServer { visit in
            let number = visits.withLock { visits in
                visits += 1
                return visits
            }
            let tag = tag(number)
            let common = ["ETag: \(tag)"] + (ranges ? ["Accept-Ranges: bytes"] : [])
            if number == 1 {
                let head = (["HTTP/1.1 200 OK", "Content-Length: \(bytes.count)"] + common).joined(separator: "\r\n")
                visit.send(Array(head.utf8) + [13, 10, 13, 10] + bytes[..<count])
                visit.close()
            } else if let range = visit.headers["range"], visit.headers["if-range"] == tag,
                let start = Int(range.dropFirst(6).dropLast())
            {
                visit.answer(
                    Array(bytes[start...]), status: "206 Partial Content",
                    headers: common + ["Content-Range: bytes \(start)-\(bytes.count - 1)/\(bytes.count)"])
            } else {
                visit.answer(bytes, headers: common)
            }
        }
    }

    @Test("Removed bytes of an interrupted transfer are requested again")
    func removedBytesAreRequestedAgain() async throws {
        let bytes = pattern(50_000)
        let server = try Self.server(bytes, cutAfter: 30_000)
        let downloader = ImageDownloader.test()
        _ = await networkError { try await downloader.download(server.url("/a")) }
        #expect(downloader.resumableBytes == 30_000)
        downloader.removeResumableBytes()
        #expect(downloader.resumableBytes == 0)
        #expect(try await Array(downloader.download(server.url("/a")).value) == bytes)
        #expect(server.visits.map { $0.headers["range"] } == [nil, nil])
    }

    @Test("A truncated load is resumed where it ended")
    func truncatedLoadIsResumed() async throws {
        let bytes = pattern(50_000)
        let server = try Self.server(bytes, cutAfter: 30_000)
        let downloader = ImageDownloader.test()
        let seen = Mutex<[Int]>([])
        var options = DownloadOptions()
        options.callbackQueue = .untouch
        options.onProgress = { progress in
            seen.withLock { $0.append(progress.expected == 50_000 ? progress.received : -1) }
        }
        #expect(
            await networkError { try await downloader.download(server.url("/a")) }
                == .truncatedBody(received: 30_000, expected: 50_000))
        let result = try await downloader.download(server.url("/a"), options: options)
        #expect(Array(result.value) == bytes && result.metrics.bytesReceived < 21_000)
        #expect(server.visits.map { $0.headers["range"] } == [nil, "bytes=30000-"])
        #expect(seen.withLock { $0.allSatisfy { $0 > 30_000 } && $0.last == 50_000 })
        _ = try await downloader.download(server.url("/a"))
        #expect(server.visits.last?.headers["range"] == nil)
    }

    @Test("A cancelled load is resumed where it ended")
    func cancelledLoadIsResumed() async throws {
        let bytes = pattern(50_000)
        let visits = Mutex(0)
        let server = try HostileServer { visit in
            let isFirst = visits.withLock { visits in
                visits += 1
                return visits == 1
            }
            let common = "Accept-Ranges: bytes\r\nETag: \"v1\"\r\n"
            if isFirst {
                visit.send("HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\(common)\r\n")
                visit.send(bytes[..<10_000])
                _ = visit.waitForClose()
            } else {
                visit.send("HTTP/1.1 206 Partial Content\r\nContent-Length: 40000\r\n\(common)")
                visit.send("Content-Range: bytes 10000-49999/50000\r\n\r\n")
                visit.send(bytes[10_000...])
            }
        }
        let downloader = ImageDownloader.test()
        let arrived = AsyncStream<Void>.makeStream()
        var options = DownloadOptions()
        options.callbackQueue = .untouch
        options.onProgress = { if $0.received == 10_000 { arrived.continuation.yield() } }
        let load = Task { [options] in try await downloader.download(server.url("/a"), options: options) }
        for await _ in arrived.stream { break }
        load.cancel()
        await #expect(throws: NetworkError.cancelled) { try await load.value }
        await waitUntil { downloader.resumableBytes >= 10_000 }
        #expect(try await Array(downloader.download(server.url("/a")).value) == bytes)
        #expect(server.visits.last?.headers["range"] == "bytes=10000-")
    }

    @Test("A changed body, or one without a strong and quoted tag, is loaded from its first byte")
    func changedOrUntaggedBodyIsLoadedWhole() async throws {
        let bytes = pattern(50_000)
        let changed = try Self.server(bytes, cutAfter: 30_000, tag: { $0 == 1 ? "\"v1\"" : "\"v2\"" })
        let downloader = ImageDownloader.test()
        _ = await networkError { try await downloader.download(changed.url("/a")) }
        #expect(try await Array(downloader.download(changed.url("/a")).value) == bytes)
        #expect(changed.visits.last?.headers["if-range"] == "\"v1\"")
        for server in [
            try Self.server(bytes, cutAfter: 30_000, tag: { _ in "W/\"v1\"" }),
            try Self.server(bytes, cutAfter: 30_000, tag: { _ in "v1" }),
            try Self.server(bytes, cutAfter: 30_000, ranges: false),
        ] {
            _ = await networkError { try await downloader.download(server.url("/a")) }
            #expect(try await Array(downloader.download(server.url("/a")).value) == bytes)
            #expect(server.visits.allSatisfy { $0.headers["range"] == nil })
        }
    }

    @Test("After a wrong range the next load requests the whole body")
    func wrongRangeIsRequestedWhole() async throws {
        let bytes = pattern(1_000)
        let server = try HostileServer { visit in
            if visit.headers["range"] != nil {
                visit.answer(
                    Array(bytes[..<500]), status: "206 Partial Content", headers: ["Content-Range: bytes 0-499/1000"])
            } else if visit.headers["x-whole"] == nil {
                visit.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\n\r\n")
                visit.send(bytes[..<600])
                visit.close()
            }
        }
        let downloader = ImageDownloader.test()
        for _ in 0..<2 {
            #expect(
                await networkError { try await downloader.download(server.url("/a")) }
                    == .truncatedBody(received: 600, expected: 1_000))
        }
        #expect(server.visits.map { $0.headers["range"] } == [nil, "bytes=600-", nil])
    }

    @Test("A part joins a beginning only if its strong validator and its Content-Range match")
    func partJoinsOnlyMatchingBeginning() throws {
        var head = ResponseHead(url: fake("a"), status: 200)
        head.headers = ["ETag": "\"v1\"", "Accept-Ranges": "bytes", "Content-Length": "1000"]
        let tagged = try #require(PartialBody(head, Data(count: 400)))
        head.headers = [
            "Last-Modified": "Tue, 14 Nov 2023 22:11:40 GMT", "Date": "Tue, 14 Nov 2023 22:11:41 GMT",
            "Accept-Ranges": "bytes",
        ]
        let dated = try #require(PartialBody(head, Data(count: 400)))
        func isContinued(
            _ partial: PartialBody, _ range: String?, status: Int = 206,
            _ change: (inout HeaderFields) -> Void = { _ in }
        ) -> Bool {
            var part = ResponseHead(url: fake("a"), status: status)
            part.headers = [
                "ETag": "\"v1\"", "Last-Modified": "Tue, 14 Nov 2023 22:11:40 GMT", "Content-Length": "600",
            ]
            part.headers["Content-Range"] = range
            change(&part.headers)
            return partial.isContinued(by: part)
        }
        for partial in [tagged, dated] {
            #expect(isContinued(partial, "bytes 400-999/1000"))
            #expect(isContinued(partial, "bytes 400-999/1000") { $0["Content-Length"] = nil })
            #expect(isContinued(partial, "bytes 400-499/1000") { $0["Content-Length"] = "100" })
            #expect(isContinued(partial, "bytes 400-999/*"))
            #expect(!isContinued(partial, "bytes 400-999/1000", status: 200))
            #expect(!isContinued(partial, "bytes 300-999/1000") { $0["Content-Length"] = "700" })
            #expect(!isContinued(partial, "bytes 400-999/1000") { $0["Content-Length"] = "500" })
            #expect(!isContinued(partial, "bytes 400-999/1000") { $0["Content-Encoding"] = "gzip" })
            #expect(!isContinued(partial, nil))
        }
        // The first response stated a length of a thousand bytes.
        #expect(!isContinued(tagged, "bytes 400-999/1001"))
        #expect(!isContinued(tagged, "bytes 400-1099/*") { $0["Content-Length"] = "700" })
        for tag in [nil, "\"v2\"", "W/\"v1\""] {
            #expect(!isContinued(tagged, "bytes 400-999/1000") { $0["ETag"] = tag })
        }
        for date in [nil, "Tue, 14 Nov 2023 22:11:41 GMT"] {
            #expect(!isContinued(dated, "bytes 400-999/1000") { $0["Last-Modified"] = date })
        }
        // Weak validators allow no continuation.
        head.headers["Date"] = head.headers["Last-Modified"]
        #expect(PartialBody(head, Data(count: 400)) == nil)
        head.headers = ["ETag": "W/\"v1\"", "Accept-Ranges": "bytes"]
        #expect(PartialBody(head, Data(count: 400)) == nil)
        // A part that was not requested is no beginning.
        head = ResponseHead(url: fake("a"), status: 206, headers: ["ETag": "\"v1\"", "Accept-Ranges": "bytes"])
        #expect(PartialBody(head, Data(count: 400)) == nil)
    }

    @Test("Bytes of two versions are never joined: the new version is loaded from its first byte")
    func bytesOfTwoVersionsAreNeverJoined() async throws {
        let (old, new) = (pattern(1_000), pattern(1_000, seed: 2))
        // The server ignores If-Range and sends a range of another version.
        for headers in [["ETag: \"v2\""], ["ETag: W/\"v1\""], []] {
            let visits = Mutex(0)
            let server = try HostileServer { visit in
                let isFirst = visits.withLock { visits in
                    visits += 1
                    return visits == 1
                }
                if isFirst {
                    visit.send(
                        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"v1\"\r\nAccept-Ranges: bytes\r\n\r\n")
                    visit.send(old[..<600])
                    visit.close()
                } else if visit.headers["range"] != nil {
                    visit.answer(
                        Array(new[600...]), status: "206 Partial Content",
                        headers: headers + ["Content-Range: bytes 600-999/1000"])
                } else {
                    visit.answer(new)
                }
            }
            let downloader = ImageDownloader.test()
            _ = await networkError { try await downloader.download(server.url("/a")) }
            #expect(try await Array(downloader.download(server.url("/a")).value) == new)
            #expect(server.visits.map { $0.headers["range"] } == [nil, "bytes=600-", nil])
        }
    }

    @Test("A part that ends early is an error that the next load continues; an unrequested part is an error")
    func shortPartIsContinuedByNextLoad() async throws {
        let bytes = pattern(1_000)
        let server = try HostileServer { visit in
            let common = ["ETag: \"v1\"", "Accept-Ranges: bytes"]
            if visit.path == "/unasked" {
                visit.answer(
                    Array(bytes[500...]), status: "206 Partial Content",
                    headers: common + ["Content-Range: bytes 500-999/1000"])
            } else if visit.path == "/whole" {
                visit.answer(bytes, status: "206 Partial Content", headers: ["Content-Range: bytes 0-999/1000"])
            } else if let start = visit.headers["range"].flatMap({ Int($0.dropFirst(6).dropLast()) }) {
                let end = min(start + 300, 1_000)
                visit.answer(
                    Array(bytes[start..<end]), status: "206 Partial Content",
                    headers: common + ["Content-Range: bytes \(start)-\(end - 1)/1000"])
            } else {
                visit.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"v1\"\r\nAccept-Ranges: bytes\r\n\r\n")
                visit.send(bytes[..<200])
                visit.close()
            }
        }
        let downloader = ImageDownloader.test()
        for received in [200, 500, 800] {
            #expect(
                await networkError { try await downloader.download(server.url("/a")) }
                    == .truncatedBody(received: Int64(received), expected: 1_000))
        }
        #expect(try await Array(downloader.download(server.url("/a")).value) == bytes)
        #expect(
            await networkError { try await downloader.download(server.url("/unasked")) }
                == .invalidResponse("it is a part that was not requested"))
        #expect(try await Array(downloader.download(server.url("/whole")).value) == bytes)
    }

    @Test("A beginning survives a 503 and is resumed afterwards")
    func beginningSurvivesServiceUnavailable() async throws {
        let bytes = pattern(1_000)
        let visits = Mutex(0)
        let server = try HostileServer { visit in
            let number = visits.withLock { visits in
                visits += 1
                return visits
            }
            let common = "ETag: \"v1\"\r\nAccept-Ranges: bytes\r\n"
            switch number {
            case 1:
                visit.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\(common)\r\n")
                visit.send(bytes[..<200])
                visit.close()
            case 2: visit.answer([], status: "503 Busy")
            default:
                visit.send("HTTP/1.1 206 Partial Content\r\nContent-Length: 800\r\n\(common)")
                visit.send("Content-Range: bytes 200-999/1000\r\n\r\n")
                visit.send(bytes[200...])
            }
        }
        let downloader = ImageDownloader.test()
        for _ in 0..<2 { _ = await networkError { try await downloader.download(server.url("/a")) } }
        #expect(try await Array(downloader.download(server.url("/a")).value) == bytes)
        #expect(server.visits.map { $0.headers["range"] } == [nil, "bytes=200-", "bytes=200-"])
    }

    @Test("The newest beginnings are kept within the limit")
    func newestBeginningsAreKeptWithinLimit() throws {
        let url = try #require(URL(string: "http://a.example/"))
        let kept = PartialBodies(limit: 1_000)
        var head = ResponseHead(url: url, status: 200)
        head.headers = ["ETag": "\"1\"", "Accept-Ranges": "bytes"]
        func key(_ number: Int) -> MergeKey { MergeKey(TransportRequest(url.appendingPathComponent("\(number)"))) }
        for number in 0..<5 {
            kept.keep(try #require(PartialBody(head, Data(count: 300))), for: key(number))
            #expect(kept.bytes <= 1_000)
        }
        kept.keep(try #require(PartialBody(head, Data(count: 1_001))), for: key(9))
        #expect((0..<5).map { kept.take(key($0)) != nil } == [false, false, true, true, true])
        #expect(kept.take(key(9)) == nil && kept.bytes == 0)
    }

    @Test("An invalid Content-Range is refused")
    func invalidContentRangeIsRefused() {
        #expect(ContentRange("bytes 5-9/10")?.first == 5)
        #expect(ContentRange("bytes 5-9/*")?.total == nil)
        for text in [
            "", "bytes", "bytes 9-5/10", "bytes 5-9/9", "bytes -5-9/10", "items 5-9/10", "bytes 5-9", "bytes */10",
        ] {
            #expect(ContentRange(text) == nil, "\(text)")
        }
        #expect(ContentRange(nil) == nil)
    }
}
