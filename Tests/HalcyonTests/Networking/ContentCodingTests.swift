import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Transport: content codings", .timeLimit(.minutes(20)))
struct ContentCodingTests {
    /// "hello" in each coding, as gzip, zlib, brotli and zstd write it.
    private static let hello: [(coding: String, bytes: [UInt8])] = [
        ("gzip", [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0]),
        ("x-gzip", [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0]),
        ("deflate", [120, 156, 203, 72, 205, 201, 201, 7, 0, 6, 44, 2, 21]),
        ("br", [11, 2, 128, 104, 101, 108, 108, 111, 3]),
        ("zstd", [40, 181, 47, 253, 0, 88, 41, 0, 0, 104, 101, 108, 108, 111]),
        ("identity", Array("hello".utf8)), ("none", Array("hello".utf8)),
    ]

    @Test(
        "A coding that names no compression is ignored, as by browsers: the plain body is delivered",
        arguments: ["UTF-8", "binary", "aws-chunked", "none, utf-8", "chunked", "gzip, aws-chunked"])
    func unknownCodingOfPlainBodyIsIgnored(_ coding: String) async throws {
        let bytes = pattern(70_000)
        let server = try HostileServer { visit in visit.answer(bytes, headers: ["Content-Encoding: \(coding)"]) }
        let downloader = ImageDownloader.test()
        let result = try await downloader.download(server.url("/a"))
        #expect(Array(result.value) == bytes && result.response.headers["Content-Encoding"] == coding)
        // libcurl refuses to read it, so that it is requested a second time, without compression.
        #expect(server.visits.count == 2 && server.visits.last?.headers["accept-encoding"] == "identity")
        #expect(downloader.transferCounts.receivedBytes == 70_000)
        // A coding of an answer without a body costs no second request.
        var head = TransportRequest.test(server.url("/b"))
        head.method = "HEAD"
        _ = try await CurlTransport().response(to: head)
        #expect(server.count("/b") == 1)
    }

    @Test("Only a GET is requested a second time; the error of another method is one sentence")
    func postIsNotRequestedAgain() async throws {
        let server = try HostileServer { visit in visit.answer([1], headers: ["Content-Encoding: UTF-8"]) }
        let request = TransportRequest.test(server.url("/a")) { ($0.method, $0.body) = ("POST", Data([1])) }
        let error = await networkError { try await CurlTransport().response(to: request) }
        guard case .invalidResponse? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(server.visits.count == 1 && error?.description.contains("..") == false)
    }

    @Test("A body is decompressed, whether compression was requested or not", arguments: TransportKind.having())
    func compressedBodyIsDecompressed(kind: TransportKind) async throws {
        let server = try HostileServer { visit in
            let coding = String(visit.path.dropFirst())
            let bytes = Self.hello.first { $0.coding == coding }?.bytes ?? []
            visit.answer(bytes, headers: ["Content-Encoding: \(coding)"])
        }
        // Foundation on Linux has a libcurl of its own, which was built with zlib alone.
        let codings = Self.hello.map(\.coding).filter { kind.has(.preciseErrors) || !["br", "zstd"].contains($0) }
        for coding in codings {
            for accepts in [true, false] {
                let request = kind.request(server.url("/\(coding)")) { $0.acceptsCompression = accepts }
                let body = try await kind.transport().response(to: request).body
                #expect(String(decoding: body, as: UTF8.self) == "hello", "\(coding), \(accepts)")
            }
            #expect(server.count("/\(coding)") == 2)
        }
        let accepted = server.visits.map { $0.headers["accept-encoding"] ?? "" }
        #expect(accepted.enumerated().allSatisfy { ($0.element == "identity") == ($0.offset % 2 == 1) })
    }

    @Test("Codings are read from all fields, in any case, without those that change nothing")
    func codingsAreReadFromAllFields() {
        var head = ResponseHead(url: fake("a"), status: 200)
        #expect(head.contentCodings == [] && !head.isCompressed)
        head.headers.add("Content-Encoding", "Identity, GZIP ,")
        #expect(head.contentCodings == ["gzip"] && head.isCompressed)
        head.headers.add("content-encoding", "br")
        #expect(head.contentCodings == ["gzip", "br"] && head.isCompressed)
        head.headers.add("Content-Encoding", "UTF-8")
        #expect(head.contentCodings == ["gzip", "br", "utf-8"] && !head.isCompressed)
    }
}
