import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

/// The public suite of tests for HTTP caches, as the page docs/http-caching.md lists it. Each test that applies to a private cache of
/// images is sent through a manager, and must have the result that the page states.
@Suite("Public tests for HTTP caches", .timeLimit(.minutes(20)))
struct HTTPCacheSuiteTests {
    /// A test of the page.
    struct Row: CustomTestStringConvertible, Sendable {
        let id: String
        /// What happens at each exchange after the first, here and as the suite expects it.
        let here: [String]
        let suite: [String]
        let exchanges: [Exchange]

        var testDescription: String { id }
    }

    /// A request, its response, and the pause behind it.
    struct Exchange: Sendable {
        var query = ""
        var sent = HeaderFields()
        var isClosed = false
        var status = 200
        /// The fields; a number of seconds stands for a date relative to the response.
        var fields: [(name: String, value: String)] = []
        var pause = 0.0

        /// Reads an exchange: `?query (request fields) closed status response fields wait 3s`, of which each part may be missing.
        init(_ text: String) throws {
            var words = text
            func taken(_ pattern: Regex<(Substring, Substring)>) -> String? {
                guard let match = words.firstMatch(of: pattern) else { return nil }
                words.removeSubrange(match.range)
                return String(match.1)
            }
            query = taken(/^(\?\S+) ?/) ?? ""
            for field in Self.fields(taken(/^\((.*?)\) ?/) ?? "") { sent.add(field.name, field.value) }
            isClosed = taken(/^(closed) ?/) != nil
            status = taken(/^(\d\d\d)(?: |$)/).flatMap(Int.init) ?? 200
            pause = taken(/\s?wait (\d+)s$/).flatMap(Double.init) ?? 0
            if words != "-" { fields = Self.fields(words) }
        }

        private static func fields(_ text: String) -> [(name: String, value: String)] {
            text.split(separator: " // ").map { field in
                let parts = field.split(separator: ":", maxSplits: 1)
                return (String(parts[0]), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
            }
        }
    }

    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("docs/http-caching.md")

    /// The tests in the first block of the page, and the names in the second.
    static func listed() throws -> (rows: [Row], skipped: [String]) {
        let blocks = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```text\n").dropFirst()
            .map { $0.components(separatedBy: "\n```")[0] }
        guard blocks.count == 2 else { throw CocoaError(.fileReadCorruptFile) }
        var rows: [Row] = []
        var lines = blocks[0].split(separator: "\n").map(String.init)[...]
        while let head = lines.popFirst() {
            guard let colon = head.firstIndex(of: ":") else { throw CocoaError(.fileReadCorruptFile) }
            let results = head[head.index(after: colon)...].components(separatedBy: "; the suite: ")
            var texts: [String] = []
            while let line = lines.first, line.hasPrefix("  ") {
                lines.removeFirst()
                let text = line.trimmingCharacters(in: .whitespaces)
                if line.hasPrefix("      ") { texts[texts.count - 1] += " " + text } else { texts.append(text) }
            }
            func words(_ text: String) -> [String] {
                text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            }
            rows.append(
                Row(
                    id: String(head[..<colon]), here: words(results[0]), suite: words(results.last ?? ""),
                    exchanges: try texts.map(Exchange.init)))
        }
        let skipped = blocks[1].split(separator: "\n").filter { $0.hasPrefix("  ") }
            .flatMap { $0.split(separator: " ") }.map(String.init)
        return (rows, skipped)
    }

    /// A server that answers the exchanges of a test in turn.
    private final class Origin: Transport {
        private struct Ended: Transfer {
            func cancel() {}
            func pause() {}
            func resume() {}
            func setPriority(_ priority: TransferPriority) {}
        }

        private struct State {
            var exchange: Exchange?
            var tag: String?
            var changed: String?
            var requests: [TransportRequest] = []
        }

        private let clock: ManualClock
        private let file: Data
        private let state = Mutex(State())

        init(_ file: Data, _ clock: ManualClock) { (self.file, self.clock) = (file, clock) }

        /// Answers as an exchange says from now on, and forgets the requests.
        func begin(_ exchange: Exchange) {
            state.withLock {
                $0.exchange = exchange
                $0.requests = []
            }
        }

        var requests: [TransportRequest] { state.withLock { $0.requests } }

        func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
            let head = state.withLock { state -> ResponseHead? in
                state.requests.append(request)
                guard let exchange = state.exchange, !exchange.isClosed else { return nil }
                var head = ResponseHead(url: request.url, status: exchange.status)
                for (name, value) in exchange.fields {
                    head.headers.add(name, value.wholeMatch(of: /[+-]\d+s/) == nil ? value : date(value))
                }
                let (tag, changed) = (request.headers["If-None-Match"], request.headers["If-Modified-Since"])
                if let tag, tag == state.tag && exchange.status == 200 { head.status = 304 }
                if tag == nil, let changed, changed == state.changed && exchange.status == 200 { head.status = 304 }
                // A test that expects a new response sends one.
                if head.headers["ETag"].map({ $0 != state.tag }) ?? false { head.status = exchange.status }
                if head.status != 304 {
                    (state.tag, state.changed) = (head.headers["ETag"], head.headers["Last-Modified"])
                }
                return head
            }
            guard let head else {
                receiver.finished(.failure(.connectionLost("closed")))
                return Ended()
            }
            receiver.received(head)
            if head.status != 304 { file.withUnsafeBytes { receiver.received($0) } }
            receiver.finished(.success(TransferMetrics()))
            return Ended()
        }

        /// The date so many seconds from now, as HTTP writes it.
        private func date(_ seconds: String) -> String {
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.timeZone = TimeZone(identifier: "GMT")
            formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            let offset = Double(seconds.dropLast()) ?? 0
            return formatter.string(from: Date(timeIntervalSince1970: Double(clock.now / 1_000_000) + offset))
        }
    }

    @Test("Each test of the public suite has the result that the page states", arguments: try Self.listed().rows)
    func pageStatesWhatHappens(row: Row) async throws {
        // 2026-11-28.
        let clock = ManualClock(seconds: 1_795_824_000)
        let sample = try EncodedPicture()
        let origin = Origin(sample.file, clock)
        let fixture = try ManagerFixture(origin, clock: clock)
        var results: [String] = []
        for (number, exchange) in row.exchanges.enumerated() {
            origin.begin(exchange)
            let options = ImageOptions {
                $0.freshness = FreshnessPolicy()
                $0.waitForCache = true
                if exchange.sent.fields.isEmpty { return }
                $0.requestModifier = AnyModifier { request in
                    var request = request
                    for field in exchange.sent.fields { request.headers.add(field.name, field.value) }
                    return request
                }
            }
            let url = try #require(URL(string: fake("a").absoluteString + exchange.query))
            let image = try? await fixture.manager.image(for: url, options: options).image
            await waitUntil { fixture.manager.loader.revalidating.withLock { $0.isEmpty } }
            if number > 0 { results.append(result(image != nil, origin.requests, exchange)) }
            clock.advance(by: exchange.pause)
        }
        #expect(results == row.here)
        // A difference is stated on the page.
        for (here, suite) in zip(row.here, row.suite) where row.here == row.suite {
            #expect(here == suite)
        }
    }

    private func result(_ isShown: Bool, _ requests: [TransportRequest], _ exchange: Exchange) -> String {
        guard isShown else { return "error" }
        guard let first = requests.first else { return "reused" }
        // The server has failed, or is asked in the background.
        if exchange.isClosed || exchange.status >= 500 || first.priority == .low { return "reused" }
        let isConditional = first.headers["If-None-Match"] != nil || first.headers["If-Modified-Since"] != nil
        return isConditional ? "asked" : "loaded"
    }

    @Test("Each test of the public suite has an answer on the page, and one alone")
    func everyTestHasAnAnswer() throws {
        let (rows, skipped) = try Self.listed()
        let ids = rows.map(\.id) + skipped
        #expect(Set(ids).count == ids.count && ids.count == 370)
    }
}
