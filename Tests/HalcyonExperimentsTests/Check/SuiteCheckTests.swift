import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTestSupport
import Testing

@testable import HalcyonExperiments

@Suite("Checking a suite", .timeLimit(.minutes(20)))
struct SuiteCheckTests {
    let fixture: CheckFixture

    init() throws { fixture = try CheckFixture() }

    @Test("The stored hits of LRU by the book are reproduced; a stored count that is one more or less is missed")
    func exactHits() async throws {
        let suite = try fixture.suite("policies: lru, capacities: 40")
        #expect(try await fixture.accept(suite) == CheckReport.Acceptance(stored: 1, removed: 0))
        let hits = fixture.lruHits(40)
        let reached = try await fixture.check(suite)
        #expect(reached.isPassed && reached.moved.isEmpty && reached.leftovers == 0)
        #expect(reached.runs.map(\.hits) == [hits] && reached.runs.map(\.recordedHits) == [hits])
        #expect(reached.runs.map(\.requests) == [CheckFixture.requests])
        #expect(reached.summary == "1 run on 1 trace: none missed, none moved.")
        for stored in [hits - 1, hits + 1] {
            try fixture.edit { $0.counts.hits = stored }
            let missed = try await fixture.check(suite)
            #expect(!missed.isPassed && missed.missed.count == 1 && missed.moved.count == 1)
            #expect(
                missed.missed.map(missed.misses(of:)) == [
                    [
                        "It moved within result version \(Halcyon.resultVersion): hits \(hits.grouped) (stored "
                            + "\(stored.grouped)). \(fixture.advice)"
                    ]
                ])
            #expect(missed.text().contains(stored < hits ? "  +1  " : "  -1  "))
        }
    }

    private static let edits: [(change: @Sendable (inout StoredCell) -> Void, name: String)] = [
        ({ $0.counts.evictions += 1 }, "evictions "), ({ $0.counts.hitSize -= 1 }, "hit size "),
        ({ $0.counts.memoryHits = 3 }, "memory hits 0 (stored 3)"), ({ $0.units.hits[0] += 1 }, "counts by unit"),
        ({ $0.series.hits[0] += 1 }, "hits over time"), ({ $0.capacity += 1 }, "capacity"),
        ({ $0.trace.objects += 1 }, "other figures"),
    ]

    @Test("A stored figure besides the hits that differs is missed and named", arguments: edits.indices)
    func otherFigures(edit: Int) async throws {
        let suite = try fixture.suite("policies: lru, capacities: 40")
        try await fixture.accept(suite)
        try fixture.edit(Self.edits[edit].change)
        let report = try await fixture.check(suite)
        #expect(!report.isPassed && report.runs[0].changes.count == 1)
        #expect(report.runs[0].changes[0].hasPrefix(Self.edits[edit].name))
    }

    @Test("Other names of the trace and the policy in the stored cell are no difference")
    func names() async throws {
        let suite = try fixture.suite("policies: lru, capacities: 40")
        try await fixture.accept(suite)
        try fixture.edit { ($0.trace.name, $0.label) = ("other", "LRU") }
        #expect(try await fixture.check(suite).isPassed)
    }

    @Test("A run is missed whose result is not stored: a new one, and a parameter that changed")
    func notStored() async throws {
        let suite = try fixture.suite("policies: s3-fifo, capacities: 40")
        let new = try await fixture.check(suite)
        #expect(
            !new.isPassed && new.notStored.count == 1 && new.summary.hasSuffix(": 1 missed, none moved, 1 not stored."))
        #expect(
            new.junit.contains("errors=\"1\"")
                && new.junit.contains("<error type=\"not stored\" message=\"Its result is not stored in "))
        #expect(new.text().contains("NOT STORED"))
        try await fixture.accept(suite)
        #expect(try await fixture.check(suite).isPassed)

        let changed = try await fixture.check(fixture.suite("policies: s3-fifo(small=0.2), capacities: 40"))
        #expect(changed.notStored.count == 1 && changed.leftovers == 1)
        #expect(
            changed.text().contains("\n1 stored cell in \(fixture.store.folder) belongs to no run: a run was deleted, ")
        )
    }

    @Test("Another result version fails the check as a whole, lists what moved, and limits still hold")
    func versions() async throws {
        let limit = "limits: [{policy: lru, floor: 0.01}]"
        let suite = try fixture.suite("policies: lru, capacities: [40, 80], \(limit)")
        try await fixture.accept(suite)
        try fixture.edit {
            $0.identity.resultVersion = 1
            if $0.identity.capacity == "80" { $0.counts.hits += 1 }
        }
        let report = try await fixture.check(suite)
        let sentence =
            "The stored cells in \(fixture.store.folder) have result version 1, and this build has \(Halcyon.resultVersion): "
            + "record them with --accept --reason \"…\"."
        #expect(report.versionFault == sentence)
        #expect(!report.isPassed && report.missed.isEmpty && report.leftovers == 0)
        #expect(report.moved.map(\.capacity) == ["80"])
        #expect(report.text().contains("\n\(sentence)\n2 runs on 1 trace: none missed, 1 moved.\n"))
        #expect(report.markdown.contains("❌") && report.markdown.contains("have result version 1, and this build has"))
        let hits = fixture.lruHits(80)
        #expect(report.junit.contains("<failure type=\"version\" message=\"The stored cells in "))
        #expect(
            report.junit.contains("lru at 80: hits \(hits.grouped) (stored \((hits + 1).grouped))</failure>"))

        let low = try await fixture.check(
            fixture.suite("policies: lru, capacities: [40, 80], limits: [{policy: lru, floor: 0.99}]"))
        #expect(low.missed.count == 2)
        try fixture.edit { $0.identity.resultVersion = 999 }
        #expect(
            try await fixture.check(suite).versionFault
                == "The stored cells in \(fixture.store.folder) have result version 999, and this build has "
                + "\(Halcyon.resultVersion): use a build with result version 999.")
    }

    @Test("Cells of older versions beside those of this build are ignored")
    func olderCells() async throws {
        let suite = try fixture.suite("policies: lru, capacities: 40")
        try await fixture.accept(suite)
        var old = try #require(try fixture.store.cells().first)
        old.identity.resultVersion = 1
        old.counts.hits = 0
        try fixture.store.add(old, nil)
        let report = try await fixture.check(suite)
        #expect(report.isPassed && report.moved.isEmpty && report.leftovers == 0)
    }

    @Test("A floor at the hit ratio of LRU by the book is reached; one above it is missed")
    func floors() async throws {
        func report(_ floor: Double) async throws -> CheckReport {
            try await fixture.check(
                fixture.suite("policies: lru, capacities: 40, limits: [{policy: lru, floor: \(floor)}]"),
                limitsOnly: true)
        }
        let ratio = fixture.lru(40)
        let reached = try await report(ratio)
        #expect(reached.isPassed && reached.runs.map(\.hitRatio) == [ratio])
        #expect(reached.summary == "1 run on 1 trace: none missed, counts not compared.")
        let missed = try await report(ratio + 0.01)
        #expect(!missed.isPassed && missed.notStored.isEmpty)
        #expect(
            missed.missed.map(missed.misses(of:))
                == [["The hit ratio is \(ratio.percent), and the floor is \((ratio + 0.01).percent)."]])
    }

    @Test("A limit holds for the runs that it names and for no other")
    func coverage() async throws {
        _ = try fixture.folder.file("other.csv", fixture.csv)
        let suite = try fixture.suite(
            "policies: [lru, fifo], capacities: [10, 40], modes: [shared, per_user], limits: ["
                + "{policy: lru, trace: other, floor: 1}, {policy: fifo, mode: shared, capacity: 40, floor: 1}]",
            "policies: lru, capacities: 20", traces: "small.csv, other.csv")
        let missed = try await fixture.check(suite, limitsOnly: true).missed.map(\.name)
        #expect(
            missed == [
                "small, shared: fifo at 40", "other, shared: lru at 10", "other, shared: lru at 40",
                "other, shared: fifo at 40", "other, per user: lru at 10", "other, per user: lru at 40",
            ])
    }

    @Test(
        "A limit that holds for no run is refused: of labels that the policy does not have, and of a second name of a run",
        arguments: [
            ("policies: [lru, learned], labels: [permuted uniform], capacities: 20", "lru"),
            ("policies: [s3-fifo, s3-fifo(small=0.1)], capacities: 20", "s3-fifo(small=0.1)"),
        ])
    func limitOfNoRun(fields: String, policy: String) async throws {
        let rows = fixture.trace.entries.map { "o\($0),c\($0 % 5)\n" }
        _ = try fixture.folder.file("labelled.csv", "key,category\n" + rows.joined())
        let suite = try fixture.suite(
            "\(fields), limits: [{policy: \(policy), floor: 0}]", traces: "labelled.csv")
        await #expect(
            throws: ReplayError.data("\(suite.path): the limit of \(policy) in 'e0' holds for no run.")
        ) { try await fixture.check(suite, limitsOnly: true) }
    }

    @Test("A deleted run whose cell is stored fails the check of accepted results, and no other check")
    func deletedRun() async throws {
        try await fixture.accept(fixture.suite("policies: [lru, fifo], capacities: 40"))
        let smaller = try fixture.suite("policies: lru, capacities: 40")
        let report = try await fixture.check(smaller)
        let sentence =
            "1 stored cell in \(fixture.store.folder) belongs to no run: a run was deleted, or a parameter, a "
            + "default or a policy's version changed. If that is meant, remove it with --accept --reason \"…\"."
        #expect(!report.isPassed && report.missed.isEmpty && report.leftoverFault == sentence)
        #expect(report.text().hasPrefix(sentence + "\n1 run on 1 trace: none missed, none moved.\n"))
        #expect(report.markdown.contains("❌") && report.markdown.contains(" belongs to no run: a run was deleted, "))
        #expect(report.junit.contains("tests=\"2\" failures=\"1\" errors=\"0\""))
        #expect(report.junit.contains("<failure type=\"leftover\" message=\"1 stored cell in "))

        // Results that were not accepted may be those of several suites.
        try fixture.edit { _ in }
        let shared = try await fixture.check(smaller)
        #expect(shared.isPassed && shared.leftovers == 1 && shared.leftoverFault == nil)
        #expect(shared.text().contains("1 stored cell in \(fixture.store.folder) belongs to no run.\n"))
        #expect(shared.junit.contains("tests=\"1\" failures=\"0\""))
    }

    @Test("A loss is the baseline's hit ratio less the policy's, at the same capacity")
    func baseline() async throws {
        func report(_ highest: Double) async throws -> CheckReport {
            let limit = "{policy: fifo, baseline: lru, highest_loss: \(highest)}"
            return try await fixture.check(
                fixture.suite("policies: [lru, fifo], capacities: [20, 40], limits: [\(limit)]"), limitsOnly: true)
        }
        let runs = try await report(1).runs.filter { $0.policy == "fifo" }
        #expect(runs.map(\.baselineHitRatio) == [fixture.lru(20), fixture.lru(40)])
        #expect(runs.map(\.loss) == [fixture.lru(20) - runs[0].hitRatio, fixture.lru(40) - runs[1].hitRatio])
        let largest = try #require(runs.compactMap(\.loss).max())
        #expect(try await report(largest).missed.isEmpty)
        #expect(try await report(largest - 0.001).missed.count == 1)
    }

    @Test("With several seeds the hits are the sum, and limits hold for the mean")
    func seeds() async throws {
        func run(_ fields: String) async throws -> CheckedRun {
            try #require(try await fixture.check(fixture.suite(fields), limitsOnly: true).runs.first)
        }
        var single: [CheckedRun] = []
        for seed in [2, 5, 9] { single.append(try await run("policies: random, capacities: 40, seeds: [\(seed)]")) }
        let all = try await run("policies: random, capacities: 40, seeds: [2, 5, 9]")
        let hits = single.reduce(0) { $0 + $1.hits }
        #expect(Set(single.map(\.hits)).count > 1 && all.hits == hits && all.requests == 3 * CheckFixture.requests)
        #expect(all.name == "small, 3 seeds, shared: random at 40")
        // A floor above the worst seed and below the mean holds; one above the mean and below the best does not.
        let ratios = single.map(\.hitRatio)
        let (worst, best) = (ratios.min() ?? 0, ratios.max() ?? 0)
        func passes(_ floor: Double) async throws -> Bool {
            let limit = "limits: [{policy: random, floor: \(floor.decimals(6))}]"
            let suite = try fixture.suite("policies: random, capacities: 40, seeds: [2, 5, 9], \(limit)")
            return try await fixture.check(suite, limitsOnly: true).isPassed
        }
        #expect(try await passes((worst + all.hitRatio) / 2))
        #expect(try await !passes((best + all.hitRatio) / 2))

        // A count of one seed that moved is missed.
        let suite = try fixture.suite("policies: random, capacities: 40, seeds: [2, 5, 9]")
        #expect(try await fixture.accept(suite)?.stored == 3)
        try fixture.edit { if $0.identity.seed == 5 { $0.counts.hits += 1 } }
        #expect(try await fixture.check(suite).runs.map(\.hasMoved) == [true])
        try fixture.edit { if $0.identity.seed == 5 { $0.identity.seed = 6 } }
        #expect(try await fixture.check(suite).notStored.count == 1)
    }

    /// A trace with sizes, and the ratio of the bytes that LRU hits.
    private func sizedTrace(capacity: Int) throws -> Double {
        let keys = (0..<2_000).map { $0 * $0 % 97 % 60 }
        func size(_ key: Int) -> Int { key % 5 * 10 + 10 }
        let rows = keys.enumerated().map { "\($0),o\($1),\(size($1))\n" }
        _ = try fixture.folder.file("sized.csv", "time,key,size\n" + rows.joined())
        var recent: [Int] = []
        var (hit, total) = (0, 0)
        for key in keys {
            total += size(key)
            if let place = recent.firstIndex(of: key) {
                recent.remove(at: place)
                hit += size(key)
            }
            recent.append(key)
            while recent.reduce(0, { $0 + size($1) }) > capacity { recent.removeFirst() }
        }
        return Double(hit) / Double(total)
    }

    @Test("A byte floor holds for the bytes that LRU hits by the book, and is refused where every object counts 1")
    func byteFloors() async throws {
        let ratio = try sizedTrace(capacity: 600)
        func report(_ floor: Double, trace: String = "sized.csv") async throws -> CheckReport {
            let limit = "{policy: lru, byte_floor: \(floor.decimals(6))}"
            let suite = try fixture.suite("policies: lru, capacities: 600, limits: [\(limit)]", traces: trace)
            return try await fixture.check(suite, limitsOnly: true)
        }
        let reached = try await report(ratio)
        #expect(try reached.isPassed && abs(#require(reached.runs[0].byteHitRatio) - ratio) < 1e-12)
        #expect(abs(ratio - reached.runs[0].hitRatio) > 0.001, "or the test could not tell bytes from objects")
        let missed = try await report(ratio + 0.001)
        #expect(
            missed.misses(of: missed.runs[0]) == [
                "The byte hit ratio is \(ratio.percent), and the floor is \((ratio + 0.001).percent)."
            ])
        #expect(missed.text().contains("  byte hit ratio  byte floor  ") && !missed.text().contains("latency ms"))
        await #expect(throws: ReplayError.self) { try await report(0.1, trace: "small.csv") }
    }

    @Test("A highest latency holds for the mean latency of the tiers")
    func latencies() async throws {
        func report(_ highest: Double) async throws -> CheckReport {
            let tiers = "tiers: {memory: 10, disk: 40, latency: 'memory=1,disk=10,network=100,bandwidth=1GB'}"
            let limit = "limits: [{policy: lru, highest_latency_ms: \(highest)}]"
            return try await fixture.check(fixture.suite("policies: lru, \(tiers), \(limit)"), limitsOnly: true)
        }
        let mean = try #require(try await report(1e6).runs[0].meanLatency)
        #expect(mean > 10 && mean < 100)
        #expect(try await report(mean).isPassed)
        let missed = try await report(mean - 0.001)
        #expect(!missed.isPassed && missed.text().contains("  latency ms  highest ms  "))
        #expect(missed.missed.map(\.name) == ["small, shared: lru at memory=10,disk=40"])
    }

    @Test("The system's matrix routines have limits only, in a policy and in the planner")
    func systemKernels() async throws {
        let suite = try fixture.suite(
            "policies: learned(kernels=system), capacities: 20, limits: [{policy: learned(kernels=system), floor: 0.01}]",
            "policies: lru, capacities: 20, modes: per_user, prefetch: planner(kernels=system)")
        let report = try await fixture.check(suite)
        #expect(report.isPassed && report.notStored.isEmpty && report.runs.map(\.isExact) == [false, false])
        let kernels = try #require(report.runs[0].systemKernels)
        #expect(report.text().contains("kernels: \(kernels.implementation); results depend on the processor.\n"))
        #expect(try await fixture.accept(suite) == nil)
        let high = try fixture.suite(
            "policies: learned(kernels=system), capacities: 20, limits: [{policy: learned(kernels=system), floor: 0.99}]"
        )
        #expect(try await !fixture.check(high).isPassed)
    }

    @Test("A suite without any cell is refused, because it would check nothing")
    func nothing() async throws {
        #expect(throws: ReplayError.self) { try fixture.suite("policies: lru, capacities: 40, labels: without") }
    }

    @Test("A policy made worse on purpose is missed")
    func worse() async throws {
        let fields = "policies: [lru, lfu], capacities: [20, 60]"
        try await fixture.accept(fixture.suite(fields))
        var worse = PolicyCatalogue.standard
        worse.add(PolicyEntry(WastefulLRU.self))
        let report = try await fixture.check(fixture.suite(fields, catalogue: worse))
        #expect(report.missed.map(\.name) == ["small, shared: lru at 20", "small, shared: lru at 60"])
        #expect(report.moved.map(\.capacity) == ["20", "60"])
    }

    @Test("CHANGELOG.md has an entry for the result version of this build")
    func changelog() throws {
        let text = try String(contentsOf: packageFolder.appending(path: "CHANGELOG.md"), encoding: .utf8)
        #expect(text.contains("**Result version \(Halcyon.resultVersion)**"))
    }

    @Test(
        "A committed suite has a stored cell of this version for each run, and no others",
        arguments: ["regression", "regression-real"])
    func committed(name: String) throws {
        let suite = try Suite(path: packageFolder.appending(path: "Experiments/suites/\(name).yml").path)
        let stored = try ResultStore(folder: suite.resultsFolder()).cells()
        #expect(stored.allSatisfy { $0.identity.resultVersion == Halcyon.resultVersion })
        let planned = suite.traces.flatMap { trace in
            suite.jobs(onTrace: trace.name).map { "\(trace.name) \($0.job.label) \($0.job.mode)" }
        }
        #expect(planned.count > 80)
        #expect(stored.map { "\($0.trace.name) \($0.label) \($0.identity.mode)" }.sorted() == planned.sorted())
    }
}
