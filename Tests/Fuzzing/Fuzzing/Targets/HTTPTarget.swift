import Foundation

@testable import HalcyonCurl
@testable import HalcyonNetworking

extension FuzzTarget {
    /// The head of an answer, what its headers say about freshness, and the values of single headers.
    static let http = FuzzTarget(
        name: "http",
        run: { data in
            guard let url = URL(string: "http://fuzz.example/a") else { return }
            let text = String(decoding: data, as: UTF8.self)
            if let date = HTTPDate.seconds(text, now: 1_700_000_000) {
                guard abs(date) < 1 << 48 else { fatalError("a date beyond all years: \(date)") }
            }
            if let range = ContentRange(text) {
                guard 0 <= range.first, range.first <= range.last, range.total.map({ range.last < $0 }) ?? true
                else {
                    fatalError("a range that makes no sense: \(range)")
                }
            }
            var parser = HeadParser()
            for line in data.split(separator: 10) { Data(line).withUnsafeBytes { parser.add($0) } }
            let head = parser.head(url: url)
            let freshness = Freshness(head, requested: 1_700_000_000, received: 1_700_000_001)
            guard Freshness(encoded: freshness.encoded) == freshness else {
                fatalError("freshness is not read as written")
            }
            _ = Freshness(encoded: data)
            _ = freshness.refreshed(by: head, requested: 1_700_000_002, received: 1_700_000_003)
            for now in [0, 1_700_000_100, Int64.max / 4] {
                _ = FreshnessPolicy().decision(for: freshness, at: now)
                _ = FreshnessPolicy().mayServeAfterError(freshness, at: now)
            }
            var request = TransportRequest(url)
            Validators(head).apply(to: &request)
        },
        seeds: {
            [
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60, stale-while-revalidate=30, private=\"a, b\"\r\nETag: \"v1\"\r\n"
                    + "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nExpires: Sunday, 06-Nov-94 08:49:37 GMT\r\nAge: 7\r\n"
                    + "Last-Modified: Sun Nov  6 08:49:37 1994\r\nVary: Accept\r\nContent-Length: 5\r\n\r\n",
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-9/10\r\nAccept-Ranges: bytes\r\n",
                "bytes 5-9/10", "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                "Sun Nov  6 08:49:37 1994",
            ].map { Data($0.utf8) }
        })
}
