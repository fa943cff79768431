import Foundation
import HalcyonSimulation
import HalcyonTestSupport
import Testing

@testable import HalcyonExperiments

/// Comparisons of cells that a request names.
@Suite("Request of comparisons", .timeLimit(.minutes(20))) struct ComparisonRequestTests {
    private let folder: TemporaryFolder
    private let store: ResultStore

    init() throws {
        folder = try TemporaryFolder()
        store = ResultStore(folder: "\(folder.path)/results")
        try store.prepare()
    }

    /// Stores a cell and returns its name.
    private func add(_ fixture: CellFixture, requests: [Int] = [10, 10, 10, 10], hits: [Int]) throws -> String {
        let cell = try fixture.cell(requests: requests, hits: hits)
        try store.add(cell, nil)
        return cell.identity.hash
    }

    private func request(
        _ pairs: [(a: [String], b: [String])], countingAs traces: [String] = []
    ) throws -> ComparisonRequest {
        var items: [[String: Any]] = pairs.map { ["a": $0.a, "b": $0.b] }
        for (place, trace) in traces.enumerated() { items[place]["trace"] = trace }
        let document: [String: Any] = [
            "schema": ComparisonRequest.schema, "folders": [store.folder], "comparisons": [["pairs": items]],
        ]
        return try ComparisonRequest(json: JSONSerialization.data(withJSONObject: document), source: "test")
    }

    private func fault(_ body: () throws -> Void) -> String? {
        do { try body() } catch ReplayError.data(let text) { return text } catch { return "\(error)" }
        return nil
    }

    @Test("A request has the figures of the selection with the same pairs")
    func figuresOfASelection() throws {
        let lru = try add(CellFixture(policy: "lru"), hits: [6, 7, 5, 8])
        let seeds = try [(1, [4, 6, 4, 4]), (2, [5, 6, 5, 4])].map { seed, hits in
            try add(CellFixture(policy: "random", seed: UInt64(seed)), hits: hits)
        }
        var other = CellFixture(policy: "lru")
        other.capacity = "10%"
        let larger = try add(other, hits: [8, 7, 7, 9])
        other.policy = "random"
        other.seed = 1
        let largerRandom = try add(other, hits: [7, 7, 6, 9])
        let report = try request([([larger], [largerRandom]), ([lru], seeds.reversed())]).run()
        let found = try #require(report.comparisons.first)
        let selected = try Comparison(.policy("lru"), .policy("random"), rows: store.rows())
        #expect(found.cells.map(\.difference) == selected.cells.reversed().map(\.difference))
        #expect(found.cells.map(\.interval) == selected.cells.reversed().map(\.interval))
        #expect(found.cells.map(\.adjustedPValue) == selected.cells.reversed().map(\.adjustedPValue))
        #expect(found.pooled.intervalOfTheseTraces == selected.pooled.intervalOfTheseTraces)
        #expect((found.a.cells, found.b.cells) == (2, 3))
    }

    /// Each unit has 10 requests. The differences of both forms are added by unit before the variance is taken:
    ///
    ///     d = [2 + 1, 1 + 0, 1 + 1, 4 + 2] / 2, in hits a unit; their mean is 1.5, so 0.15.
    ///
    /// From scipy:
    ///
    ///     python3 -c "
    ///     from scipy.stats import t
    ///     d = [0.15, 0.05, 0.1, 0.3]; m = 0.15
    ///     se = (sum((x - m) ** 2 for x in d) / 3 / 4) ** 0.5
    ///     print(m - t.ppf(0.975, 3) * se, m + t.ppf(0.975, 3) * se)"
    ///     -0.0218717440929454 0.3218717440929454
    ///
    /// The mean over traces is that of 0.15 and of 0.3, the trace whose pair counts as itself.
    @Test("Two forms of a trace that count as one are averaged, by unit")
    func formsOfOneTrace() throws {
        func pair(_ trace: String, _ fingerprint: String, a: [Int], b: [Int]) throws -> (a: [String], b: [String]) {
            let lru = CellFixture(trace: trace, fingerprint: fingerprint, policy: "lru")
            let fifo = CellFixture(trace: trace, fingerprint: fingerprint, policy: "fifo")
            return ([try add(lru, hits: a)], [try add(fifo, hits: b)])
        }
        let sized = try pair("web", "aa", a: [6, 7, 5, 8], b: [4, 6, 4, 4])
        let uniform = try pair("web_objects", "bb", a: [5, 6, 5, 6], b: [4, 6, 4, 4])
        let other = try pair("shop", "cc", a: [7, 9, 7, 7], b: [4, 6, 4, 4])
        let pairs = [sized, uniform, other]
        let found = try request(pairs, countingAs: ["web", "web"]).run().comparisons[0]
        #expect(found.traces.map(\.trace) == ["shop", "web"])
        #expect(found.traces.map(\.cells) == [1, 2])
        let web = try #require(found.traces.last)
        let interval = try #require(web.interval)
        #expect(isNear(web.difference, 0.15, to: 1e-12))
        #expect(isNear(interval.low, -0.0218717440929454, to: 1e-9))
        #expect(isNear(interval.high, 0.3218717440929454, to: 1e-9))
        #expect(found.pooled.traces == 2)
        #expect(isNear(found.pooled.difference, 0.225, to: 1e-12))
        #expect(found.notes.contains("web and web_objects count as one trace, web."))
        let apart = try request(pairs).run().comparisons[0]
        #expect(apart.pooled.traces == 3)
        #expect(isNear(apart.pooled.difference, 0.2, to: 1e-12))
    }

    /// Two cells: the quantile for both together is that of 1 − 0.05 / 2 / 2 with three degrees of freedom.
    ///
    ///     python3 -c "from scipy.stats import t; print(t.ppf(1 - 0.05 / 4, 3) / t.ppf(0.975, 3))"
    ///     1.312366162838425
    @Test("The interval for all cells together is that of Bonferroni")
    func familyInterval() throws {
        let lru = try add(CellFixture(policy: "lru"), hits: [6, 7, 5, 8])
        let fifo = try add(CellFixture(policy: "fifo"), hits: [4, 6, 4, 4])
        let sieve = try add(CellFixture(policy: "sieve"), hits: [5, 6, 4, 4])
        let cells = try request([([lru], [fifo]), ([lru], [sieve])]).run().comparisons[0].cells
        let (own, family) = (try #require(cells[0].interval), try #require(cells[0].familyInterval))
        #expect(isNear((family.high - family.low) / (own.high - own.low), 1.312366162838425, to: 1e-8))
        let alone = try request([([lru], [fifo])]).run().comparisons[0].cells[0]
        #expect(alone.familyInterval == alone.interval)
    }

    @Test("Cells that cannot be compared are named in one sentence")
    func refusals() throws {
        let lru = try add(CellFixture(policy: "lru"), hits: [6, 7, 5, 8])
        let fifo = try add(CellFixture(policy: "fifo"), hits: [4, 6, 4, 4])
        let feed = try add(CellFixture(trace: "feed", fingerprint: "bb", policy: "fifo"), hits: [4, 6, 4, 4])
        let few = try add(CellFixture(policy: "sieve"), requests: [20, 20], hits: [9, 9])
        let mixed = fault { _ = try request([([lru, fifo], [fifo])]).run() }
        #expect(mixed?.contains("are on one side, and differ in more than seed and permutation.") == true)
        #expect(fault { _ = try request([([lru], [feed])]).run() }?.hasSuffix("are of different requests.") == true)
        #expect(fault { _ = try request([([lru], [few])]).run() }?.contains("by different units") == true)
        #expect(fault { _ = try request([([lru], ["ab"])]).run() }?.hasSuffix("no cell ab is stored.") == true)
        #expect(fault { _ = try request([([lru], [])]) } == "test: has a pair with a side without cells.")
        #expect(
            fault { _ = try request([([lru], [fifo])], countingAs: [""]) }
                == "test: has a pair that counts as a trace without a name.")
        #expect(fault { _ = try request([]) } == "test: has a comparison without pairs.")
        let other = Data(#"{"schema": "x", "folders": [], "comparisons": []}"#.utf8)
        #expect(
            fault { _ = try ComparisonRequest(json: other, source: "test") }
                == "test: has the schema 'x'; halcyon.comparison-request/1 is needed.")
    }
}
