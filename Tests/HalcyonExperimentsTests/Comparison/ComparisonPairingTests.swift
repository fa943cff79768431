import HalcyonSimulation
import Testing

@testable import HalcyonExperiments

/// Pairing of cells, and refused comparisons.
@Suite("Pairs of a comparison", .timeLimit(.minutes(20))) struct ComparisonPairingTests {
    private let requests = [10, 10, 10, 10]

    private func row(_ fixture: CellFixture, _ hits: Int = 5, build: String? = nil) throws -> ResultRow {
        try fixture.row(requests: requests, hits: [hits, hits + 1, hits, hits], build: build)
    }

    private func compared(
        _ a: String, _ b: String, _ rows: [ResultRow], others: [ResultRow]? = nil
    ) throws(ReplayError) -> Comparison {
        try Comparison(
            try ComparisonSelector(parsing: a), try ComparisonSelector(parsing: b), rows: rows, others: others)
    }

    private func usage(_ body: () throws(ReplayError) -> Comparison) -> String? {
        do throws(ReplayError) { _ = try body() } catch { if case .usage(let text) = error { return text } }
        return nil
    }

    private func data(_ body: () throws(ReplayError) -> Comparison) -> String? {
        do throws(ReplayError) { _ = try body() } catch { if case .data(let text) = error { return text } }
        return nil
    }

    @Test func parametersNotGivenHaveTheirDefaults() throws {
        let rows = try ["0.05", "0.1", "0.2"].map {
            try row(CellFixture(policy: "s3-fifo", settings: ["small": $0]), $0 == "0.1" ? 5 : 6)
        }
        let found = try compared("s3-fifo", "s3-fifo(small=0.20)", rows)
        #expect(found.cells.count == 1 && found.a.cells == 1 && found.b.cells == 1)
        #expect(found.cells[0].a.cells == [rows[1].hash] && found.cells[0].b.cells == [rows[2].hash])
        #expect(try compared("policy=s3-fifo", "small=0.05", rows).cells[0].b.cells == [rows[0].hash])
    }

    @Test func cellsPairWhenAllOtherFieldsAreEqual() throws {
        var rows: [ResultRow] = []
        for trace in ["shop", "feed"] {
            for capacity in ["1%", "10%"] {
                for policy in ["lru", "fifo"] where !(policy == "fifo" && trace == "feed" && capacity == "10%") {
                    rows.append(
                        try row(CellFixture(trace: trace, fingerprint: trace, policy: policy, capacity: capacity)))
                }
            }
        }
        rows.append(try row(CellFixture(policy: "fifo", capacity: "2%")))
        let found = try compared("lru", "fifo", rows)
        #expect(found.cells.map { "\($0.trace) \($0.a.capacity)" } == ["feed 1%", "shop 1%", "shop 10%"])
        #expect(found.cells.allSatisfy { $0.a.capacity == $0.b.capacity })
        #expect((found.a.unpaired, found.b.unpaired) == (1, 1))
        #expect(found.tally == Comparison.Tally(equal: 3))
    }

    @Test func parameterIsComparedWithAllOthersEqual() throws {
        var rows: [ResultRow] = []
        for small in ["0.1", "0.2"] {
            for ghost in ["0.9", "1"] {
                rows.append(try row(CellFixture(policy: "s3-fifo", settings: ["small": small, "ghost": ghost])))
            }
        }
        let found = try compared("small=0.1", "small=0.2", rows)
        #expect(found.cells.count == 2)
        #expect(try compared("p_small=0.1", "small=0.20", rows).cells.count == 2)
    }

    @Test func labelsKnowledgeAndPrefetchingPair() throws {
        let learned = CellFixture(policy: "learned", mode: "per_user", knowledge: "server", seed: 1)
        let rows = try ["given", "without"].map { labels in
            var fixture = learned
            fixture.labels = labels
            return try row(fixture, labels == "given" ? 6 : 5)
        }
        #expect(try compared("labels=given", "labels=without", rows).tally.won == 1)
        // LRU has no knowledge of others, so that it is compared with either kind.
        let lru = try row(CellFixture(mode: "per_user"))
        let own = try row(CellFixture(policy: "learned", mode: "per_user", knowledge: "device", seed: 1))
        let found = try compared("learned", "lru", rows + [lru, own])
        #expect(
            found.cells.map(\.a.knowledge) == [.device, .server] && found.cells.allSatisfy { $0.b.knowledge == nil })
        #expect(try compared("knowledge=device", "knowledge=server", rows + [own]).cells.count == 1)
        let wide = try ["server", "device"].map {
            try row(CellFixture(policy: "learned", settings: ["hidden": "8"], mode: "per_user", knowledge: $0, seed: 1))
        }
        #expect(
            try compared("learned(hidden=8)", "learned", rows + [own] + wide).cells.allSatisfy {
                $0.a.knowledge == $0.b.knowledge
            })
    }

    @Test func buildsAndFoldersPairAcrossResultVersions() throws {
        let (old, new) = (
            try row(CellFixture(version: 1), 5, build: "aaa1"), try row(CellFixture(version: 2), 6, build: "bbb2")
        )
        let note = "The sides have different result versions in 1 cell."
        #expect(try compared("build=bbb", "build=aaa", [old, new]).notes == [note])
        #expect(try compared("result_version=2", "result_version=1", [old, new]).tally.won == 1)
        let folders = try Comparison(.folder("new"), .folder("old"), rows: [new], others: [old])
        #expect(folders.notes == [note] && folders.cells[0].a.resultVersion == 2 && folders.tally.won == 1)
        // Without a comparison of versions, cells of different versions are no pair.
        #expect(
            data { () throws(ReplayError) in try self.compared("lru", "fifo", [old]) }?.contains(
                "B (fifo) has no cells") == true)
    }

    @Test func twoNamesOfOneTraceCountOnce() throws {
        let here = [
            try row(CellFixture(trace: "shop", fingerprint: "1", policy: "lru")),
            try row(CellFixture(trace: "store", fingerprint: "1", policy: "lru", capacity: "10%"), 6),
            try row(CellFixture(trace: "feed", fingerprint: "2", policy: "lru"), 7),
        ]
        let there = [
            try row(CellFixture(trace: "shop", fingerprint: "1", policy: "fifo")),
            try row(CellFixture(trace: "store", fingerprint: "1", policy: "fifo", capacity: "10%"), 4),
            try row(CellFixture(trace: "feed", fingerprint: "2", policy: "fifo")),
        ]
        let found = try compared("lru", "fifo", here + there)
        #expect(found.traces.map(\.trace) == ["feed", "shop"] && found.traces.map(\.cells) == [1, 2])
        #expect(found.notes == ["shop and store have the same requests and count as one trace."])
        // The same cells under another name in another folder.
        var renamed = CellFixture(trace: "shop-2", fingerprint: "1", policy: "lru")
        renamed.version = 3
        let folders = try Comparison(.folder("a"), .folder("b"), rows: [here[0]], others: [try row(renamed, 7)])
        #expect(folders.traces.map(\.trace) == ["shop"] && folders.cells.count == 1)
    }

    @Test func copiesOfATraceWithOtherLabelsAreNoted() throws {
        let rows = try ["a", "b"].flatMap { trace in
            try ["lru", "fifo"].map { policy in
                try row(CellFixture(trace: trace, fingerprint: trace, policy: policy), policy == "lru" ? 5 : 6)
            }
        }
        #expect(
            try compared("lru", "fifo", rows).notes
                == ["a and b have equal counts in every cell: they are not independent traces."])
    }

    @Test func partsOfTheUsersAreLeftOut() throws {
        let rows = [
            try row(CellFixture(policy: "lru")), try row(CellFixture(policy: "fifo")),
            try row(CellFixture(policy: "lru", users: "1/2")), try row(CellFixture(policy: "fifo", users: "1/2")),
        ]
        let found = try compared("lru", "fifo", rows)
        #expect(found.cells.count == 1)
        #expect(found.notes == ["2 parts of the users are left out: 'replay merge' adds them up."])
    }

    @Test func invalidSidesOfAComparisonAreRefused() throws {
        let rows = try ["lru", "fifo", "s3-fifo"].map { try row(CellFixture(policy: $0)) }
        func refusal(_ a: String, _ b: String) -> String? {
            usage { () throws(ReplayError) in try self.compared(a, b, rows) }
        }
        #expect(refusal("lru", "lru") == "A and B are both 'lru': give two different sides.")
        #expect(
            refusal("s3-fifo", "s3-fifo(small=0.1)")
                == "A (s3-fifo) and B (s3-fifo(small=0.1)) select the same 1 cell: give two different sides.")
        #expect(refusal("lru", "result_version=2")?.contains("in common, such as shop, shared: lru at 1%") == true)
        #expect(refusal("trace=shop", "lru")?.hasPrefix("'trace=shop' cannot be a side of a comparison") == true)
        #expect(refusal("lru", "nothing")?.hasPrefix("There is no policy 'nothing'") == true)
        #expect(refusal("lru(small=1)", "fifo") != nil)
        #expect(refusal("speed=1", "fifo")?.hasPrefix("'speed' is neither a field of a cell nor a parameter") == true)
        #expect(
            data { () throws(ReplayError) in try self.compared("lru", "clock", rows) }
                == "No cell of A has a partner in B that agrees in everything else: A (lru) has 1 cell (trace shop; mode shared; "
                + "policy lru; capacity 1%; labels given; prefetching none; result version 2), and B (clock) has no cells."
        )
    }

    @Test("Tiers pair with tiers of the same lifetimes, and Kingfisher's with all")
    func lifetimesPair() throws {
        let equal: [Int64] = [300_000_000, 7 * 86_400_000_000]
        var rows: [ResultRow] = []
        for (policy, hits) in [("learned", 7), ("lru", 5)] {
            rows.append(try row(CellFixture(policy: policy, lifetimes: equal), hits))
            rows.append(try row(CellFixture(policy: policy, lifetimes: []), hits + 1))
        }
        rows.append(try row(CellFixture(policy: "kingfisher", lifetimes: []), 4))
        let found = try compared("learned", "lru", rows)
        let texts = ["memory=1%,disk=16%", "memory=1%,disk=16%,lifetimes=300s/7d"]
        #expect(found.cells.map(\.a.capacity) == texts && found.cells.map(\.b.capacity) == texts)
        #expect((found.a.unpaired, found.b.unpaired) == (0, 0))
        let tiers = try compared("learned", "kingfisher", rows)
        #expect(tiers.cells.map(\.a.capacity) == texts)
        #expect(tiers.cells.map(\.b.capacity) == [texts[0], texts[0]])
        let short = try row(CellFixture(lifetimes: [1_500_000, 90_000])).cell.identity
        #expect(short.capacityText == "memory=1%,disk=16%,lifetimes=1500ms/90ms")
    }

    @Test func ambiguousPairsAreRefused() throws {
        let rows = try [("1%", "given"), ("1%", "permuted uniform #1"), ("10%", "without"), ("20%", "without")].map {
            try row(CellFixture(policy: "learned", capacity: $0, labels: $1, seed: 1))
        }
        #expect(
            usage { () throws(ReplayError) in try self.compared("capacity=1%", "labels=without", rows) }
                == "A (capacity=1%) and B (labels=without) cannot be paired one to one: shop, shared: learned at 1% (seed 1) "
                + "could be compared with shop, shared: learned at 10% (labels without, seed 1) and with shop, shared: learned "
                + "at 20% (labels without, seed 1); choose with --where.")
        // One against two is two pairs.
        #expect(try compared("capacity=1%", "labels=without", Array(rows.dropFirst())).cells.count == 2)
    }

    @Test func differentUnitsAreNotPaired() throws {
        let rows = [
            try CellFixture().row(requests: [10, 10, 20], hits: [1, 2, 3]),
            try CellFixture(policy: "fifo").row(requests: [10, 20, 10], hits: [1, 2, 3]),
        ]
        let text = data { () throws(ReplayError) in try self.compared("lru", "fifo", rows) }
        #expect(text?.contains("count their requests by different units") == true)
    }
}
