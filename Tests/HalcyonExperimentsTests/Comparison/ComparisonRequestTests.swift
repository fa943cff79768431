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

    private func request(_ pairs: [(a: [String], b: [String])]) throws -> ComparisonRequest {
        let document: [String: Any] = [
            "schema": ComparisonRequest.schema, "folders": [store.folder],
            "comparisons": [["pairs": pairs.map { ["a": $0.a, "b": $0.b] }]],
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
        #expect(fault { _ = try request([]) } == "test: has a comparison without pairs.")
        let other = Data(#"{"schema": "x", "folders": [], "comparisons": []}"#.utf8)
        #expect(
            fault { _ = try ComparisonRequest(json: other, source: "test") }
                == "test: has the schema 'x'; halcyon.comparison-request/1 is needed.")
    }
}
