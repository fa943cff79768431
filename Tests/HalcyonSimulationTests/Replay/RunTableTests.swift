import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonTestSupport
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Table of runs", .timeLimit(.minutes(20)))
struct RunTableTests {
    private func runs(_ trace: Trace, _ policies: [String], _ capacity: String, seeds: Range<UInt64> = 1..<2)
        async throws
        -> [RunResult]
    {
        let jobs = try policies.flatMap { name in
            try seeds.map { seed in
                ReplayJob(
                    policy: try PolicyCatalogue.standard.policy(name), capacity: try CapacityRequest(parsing: capacity),
                    options: ReplayOptions(seed: seed))
            }
        }
        return try await Sweep(trace: trace, jobs: jobs).run()
    }

    /// The figures of a column in the row of each policy.
    private func column(_ title: String, _ text: String) throws -> [String: String] {
        let lines = text.split(separator: "\n").map(String.init)
        let header = try #require(lines.first { $0.hasPrefix("policy") })
        let end = try #require(header.range(of: title)).upperBound
        var values: [String: String] = [:]
        for line in lines.drop(while: { $0 != header }).dropFirst().prefix(while: { !$0.hasPrefix("  note") }) {
            let cells = line[..<end].components(separatedBy: "  ").filter { !$0.isEmpty }
            values[String(line.prefix { $0 != " " })] = cells.last?.trimmingCharacters(in: .whitespaces)
        }
        return values
    }

    @Test(
        "The gap closed by a policy that refused objects is relative to belady(bypass=on)")
    func gapOfARefusingPolicyUsesBeladyWithBypass() async throws {
        // A B A B A with room for one: Belady must admit and has 0 hits; with bypassing it has 2.
        let trace = TinyTraces.unit([0, 1, 0, 1, 0])
        let small = try await runs(trace, ["lru", "belady", "belady(bypass=on)", "lru(admit=bloom)"], "1")
        #expect(small.map(\.hits).prefix(3) == [0, 0, 2])
        let summary = TraceSummary(trace, path: "t")
        let text = ReplayReport(trace: summary, runs: small).table()
        #expect(text.contains("of lru(admit=bloom), which refused objects, to belady(bypass=on)."))
        #expect(try column("gap closed", text)["belady(bypass=on)"] == "100.00 %")
        // LRU admits every object, and Belady leaves no gap to it here.
        #expect(try column("gap closed", text)["lru"] == "-")

        let large = TinyTraces.scrambled(count: 30_000, objects: 3_000)
        let many = try await runs(large, ["lru", "belady", "s3-fifo"], "1000")
        #expect(
            ReplayReport(trace: TraceSummary(large, path: "t"), runs: many).table()
                .contains("note: gap closed: from lru to belady.\n"))
    }

    @Test("The gap closed does not depend on the other policies of the table")
    func gapDoesNotDependOnTheOtherPolicies() async throws {
        let trace = TinyTraces.scrambled(count: 5_000, objects: 400)
        let summary = TraceSummary(trace, path: "t")
        let all = try await runs(
            trace, ["belady-size", "belady(bypass=on)", "belady", "lru", "lru(admit=bloom)", "fifo"], "5%")
        let few = try await runs(trace, ["lru(admit=bloom)", "lru", "fifo", "belady(bypass=on)", "belady"], "5%")
        let (first, second) = (
            try column("gap closed", ReplayReport(trace: summary, runs: all).table()),
            try column("gap closed", ReplayReport(trace: summary, runs: few).table())
        )
        #expect(first["lru(admit=bloom)"] == second["lru(admit=bloom)"] && first["fifo"] == second["fifo"])
        // The exact share, from the counts.
        let hits = Dictionary(uniqueKeysWithValues: few.map { ($0.label, Double($0.hits)) })
        let (lru, top) = (try #require(hits["lru"]), try #require(hits["belady(bypass=on)"]))
        let share = try (#require(hits["lru(admit=bloom)"]) - lru) / (top - lru)
        #expect(second["lru(admit=bloom)"] == share.percent)
        // Without its reference, a policy has no figure instead of another one.
        let missing = try await runs(trace, ["lru(admit=bloom)", "lru", "fifo", "belady"], "5%")
        let third = try column("gap closed", ReplayReport(trace: summary, runs: missing).table())
        #expect(third["lru(admit=bloom)"] == "-" && third["fifo"] == second["fifo"])
    }

    /// S3-FIFO may refuse an object as large as its small queue. With unit sizes and 76 places in that queue it never
    /// does.
    @Test("A policy that refuses nothing in a run is compared with belady, whatever it may do elsewhere")
    func policyThatRefusedNothingIsComparedWithBelady() async throws {
        let trace = TinyTraces.scrambled(count: 20_000, objects: 3_000)
        let runs = try await runs(trace, ["lru", "s3-fifo", "belady"], "763")
        #expect(runs[1].admissionsRefused == 0 && runs[1].traits.contains("has_admission"))
        let text = ReplayReport(trace: TraceSummary(trace, path: "t"), runs: runs).table()
        let hits = runs.map { Double($0.hits) }
        #expect(try column("gap closed", text)["s3-fifo"] == ((hits[1] - hits[0]) / (hits[2] - hits[0])).percent)
        #expect(text.contains("note: gap closed: from lru to belady.\n"))
    }

    @Test("With variable sizes the table notes that belady is not the optimum")
    func tableNotesThatBeladyIsNoOptimumWithVariableSizes() async throws {
        let trace = TinyTraces.sized([0, 1, 2, 0, 1, 2], sizes: [10, 20, 30])
        let runs = try await runs(trace, ["lru", "belady"], "30")
        let note = "sizes vary, so belady is a mark and not the optimum."
        #expect(ReplayReport(trace: TraceSummary(trace, path: "t"), runs: runs).table().contains(note))
        let equal = TinyTraces.sized([0, 1, 2, 0, 1, 2], sizes: [10, 10, 10])
        let others = try await self.runs(equal, ["lru", "belady"], "20")
        #expect(!ReplayReport(trace: TraceSummary(equal, path: "t"), runs: others).table().contains(note))
    }

    @Test("Several seeds give one row with mean and Student's interval, and a JSON run each")
    func seedsGiveOneRowWithMeanAndInterval() async throws {
        let trace = TinyTraces.scrambled(count: 4_000, objects: 300)
        let runs = try await runs(trace, ["random"], "10%", seeds: 1..<6)
        let report = ReplayReport(trace: TraceSummary(trace, path: "t"), runs: runs)
        let mean = try #require(report.means.first)
        #expect(report.means.count == 1 && mean.seeds == [1, 2, 3, 4, 5] && report.runs.count == 5)
        let ratios = runs.map(\.objectHitRatio)
        let centre = ratios.reduce(0, +) / 5
        let deviation = (ratios.reduce(0) { $0 + ($1 - centre) * ($1 - centre) } / 4).squareRoot()
        #expect(abs(mean.objectHitRatio.mean - centre) < 1e-12)
        #expect(abs(mean.objectHitRatio.deviation - deviation) < 1e-12)
        // The 97.5 % quantile of Student's t with 4 degrees of freedom, from a printed table: 2.776.
        #expect(abs(mean.objectHitRatio.margin - 2.776445 * deviation / 5.0.squareRoot()) < 1e-6)
        let text = report.table()
        #expect(text.components(separatedBy: "\nrandom ").count == 2 && text.contains(" ± "))
        #expect(text.contains("note: 5 seeds (--seeds): ± is "))
    }

    @Test(
        "A mean has no more digits than its margin",
        arguments: [
            (0.35544, 0.00042, "35.54 ± 0.04 %"), (0.35544, 0.0012, "35.5 ± 0.1 %"), (0.35544, 0.0142, "36 ± 1 %"),
            (0.35544, 0, "35.54 ± 0.00 %"), (0.35544, 0.00099, "35.5 ± 0.1 %"), (0.5, 0.2, "50 ± 20 %"),
        ])
    func meanHasNoMoreDigitsThanItsMargin(mean: Double, margin: Double, expected: String) {
        #expect(RunTable.percent(mean, margin: margin, runs: 5) == expected)
        #expect(RunTable.percent(mean, margin: margin, runs: 1) == mean.percent)
    }

    @Test("Rows are in the order of a column, and only requested columns appear")
    func rowsFollowTheOrderAndColumnsTheRequest() async throws {
        let trace = TinyTraces.scrambled(count: 4_000, objects: 300)
        let runs = try await runs(trace, ["mru", "lru", "belady", "fifo"], "10%")
        let report = ReplayReport(trace: TraceSummary(trace, path: "t"), runs: runs)
        var options = TableOptions()
        options.order = .hitRatio
        options.columns = [.missRatio, .evictions]
        let lines = report.table(options).split(separator: "\n").map(String.init)
        let table = lines.drop { !$0.hasPrefix("policy") }.prefix { !$0.hasPrefix("  note") }
        let ordered = runs.sorted { $0.hits > $1.hits }.map(\.policy)
        #expect(table.dropFirst().map { String($0.prefix { $0 != " " }) } == ordered)
        #expect(
            table.first?.components(separatedBy: "  ").filter { !$0.isEmpty }.map { $0.trimmingSpaces } == [
                "policy", "miss ratio", "evictions",
            ])
        let best = try #require(runs.map(\.objectHitRatio).max())
        #expect(table.dropFirst().first?.contains((1 - best).percent) == true)
        options = TableOptions()
        options.showsMissRatio = true
        #expect(report.table(options).contains("policy  miss ratio") && !report.table(options).contains("hit ratio"))
    }

    @Test("A trace without times gives a note about policies and options that use them")
    func traceWithoutTimesWarnsAboutPoliciesThatUseThem() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("t.csv", "key\na\nb\na\n")
        let trace = try Trace.load(path)
        let kingfisher = try ReplayJob.kingfisher(capacity: .number(2)).run(over: ReplayInput(trace))
        let lru = try ReplayJob(policy: ConfiguredPolicy(LRU.self), capacity: .number(2)).run(over: ReplayInput(trace))
        let summary = TraceSummary(trace, path: path)
        #expect(!summary.hasTimes)
        #expect(
            ReplayReport(trace: summary, runs: [kingfisher, lru]).table()
                .contains("note: the trace has no times; kingfisher depends on the assumed second per request."))
        #expect(!ReplayReport(trace: summary, runs: [lru]).table().contains("assumed"))
    }
}
