import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite("Accepting results of a suite", .timeLimit(.minutes(20)))
struct AcceptanceTests {
    let fixture: CheckFixture

    init() throws { fixture = try CheckFixture() }

    @Test("Accepted results are stored with the reason, and accepting them again changes nothing")
    func stored() async throws {
        let suite = try fixture.suite("policies: [lru, fifo], capacities: 40")
        #expect(try await fixture.accept(suite, reason: " first\nvalues ") == .init(stored: 2, removed: 0))
        #expect(try await fixture.check(suite).isPassed)
        let line = "result version \(Halcyon.resultVersion), Halcyon \(Halcyon.version)"
        #expect(try fixture.reasons.hasSuffix(", and why:\n2026-11-21, \(line), 2 of 2 cells: first values\n"))
        let before = try fixture.reasons
        #expect(try await fixture.accept(suite) == nil)
        #expect(try fixture.reasons == before)
    }

    @Test("Results that differ in the same result version are refused, and nothing is written")
    func sameVersion() async throws {
        let suite = try fixture.suite("policies: [lru, fifo], capacities: 40")
        try await fixture.accept(suite)
        try fixture.edit { $0.counts.hits += 1 }
        let before = try fixture.store.cells()
        let hits = fixture.lruHits(40)
        await #expect(
            throws: ReplayError.usage(
                "small, shared: lru at 40 moved: hits \(hits.grouped) (stored \((hits + 1).grouped)); 1 other run moved as well. "
                    + fixture.advice)
        ) { try await fixture.accept(suite) }
        #expect(try fixture.store.cells() == before)
        #expect(!FileManager.default.fileExists(atPath: "\(fixture.store.folder)/\(CheckReport.acceptedFile)"))
    }

    @Test(
        "A seed that moved in the same result version is refused, also if another seed is not stored or older",
        arguments: [true, false])
    func movedSeed(isOtherStored: Bool) async throws {
        let suite = try fixture.suite("policies: random, capacities: 40, seeds: 3")
        try await fixture.accept(suite)
        let stored = try #require(try fixture.store.cells().first { $0.identity.seed == 1 }).counts.hits
        try fixture.edit {
            if $0.identity.seed == 1 { $0.counts.hits += 1 }
            if $0.identity.seed == 2 { $0.identity.resultVersion = 1 }
        }
        if !isOtherStored { try fixture.removeCells { $0.identity.seed == 2 } }
        let moved = "hits \(stored.grouped) (stored \((stored + 1).grouped))"
        let report = try await fixture.check(suite)
        #expect(report.runs.map(\.unversionedChanges) == [[moved]] && report.moved.count == 1)
        #expect(
            report.misses(of: report.runs[0]).contains {
                $0.hasPrefix("It moved within result version \(Halcyon.resultVersion): \(moved). ")
            })
        let before = fixture.files
        let refusal = await #expect(throws: ReplayError.self) { try await fixture.accept(suite) }
        #expect(
            refusal
                == .usage(
                    "small, 3 seeds, shared: random at 40 moved: \(moved). \(fixture.advice)"))
        #expect(fixture.files == before)
    }

    @Test("Another result that was stored during the check is refused, and nothing is written")
    func storedMeanwhile() async throws {
        let suite = try fixture.suite("policies: [lru, fifo], capacities: 40")
        try await fixture.accept(suite)
        let report = try await fixture.check(suite)
        try fixture.edit { if $0.label == "lru" { $0.counts.hits += 1 } }
        try fixture.removeCells { $0.label == "fifo" }
        let before = fixture.files
        let place = try fixture.store.place(ofCell: #require(try fixture.store.hashes().first))
        #expect(
            throws: ReplayError.usage(
                "\(place): another result of lru on small was stored during the check: check again.")
        ) { try report.accept(into: fixture.store, reason: "a reason", date: "2026-11-21") }
        #expect(fixture.files == before)
    }

    @Test("A cell of a newer result version beside that of this build is kept, and the build is refused")
    func newerCells() async throws {
        let suite = try fixture.suite("policies: lru, capacities: 40")
        try await fixture.accept(suite)
        var newer = try #require(try fixture.store.cells().first)
        newer.identity.resultVersion = 999
        try fixture.store.add(newer, nil)
        let before = fixture.files
        let larger = try fixture.suite("policies: [lru, fifo], capacities: 40")
        for suite in [suite, larger] {
            await #expect(
                throws: ReplayError.usage(
                    "\(fixture.store.folder) has cells of result version 999, and this build has \(Halcyon.resultVersion): "
                        + "use a build with result version 999 or higher.")
            ) { try await fixture.accept(suite) }
        }
        #expect(fixture.files == before)
    }

    @Test("A reason is kept only for results that could be stored")
    func reasonFollowsCells() async throws {
        try await fixture.accept(fixture.suite("policies: lru, capacities: 40"))
        let before = try fixture.reasons
        let lock = "\(fixture.store.folder)/cells.lock"
        try? FileManager.default.removeItem(atPath: lock)
        // A folder in place of the lock: the cells cannot be packed.
        try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
        let suite = try fixture.suite("policies: [lru, fifo], capacities: 40")
        await #expect(throws: TraceError.self) { try await fixture.accept(suite) }
        #expect(try fixture.reasons == before)
    }

    @Test("Cells of an older result version are replaced, also where no count moved; those of a newer one are refused")
    func versions() async throws {
        let suite = try fixture.suite("policies: [lru, fifo], capacities: 40")
        try await fixture.accept(suite)
        let cells = try fixture.store.cells()
        try fixture.edit {
            $0.identity.resultVersion = 1
            if $0.label == "lru" { $0.counts.hits += 1 }
        }
        #expect(try await fixture.accept(suite, reason: "version 2") == .init(stored: 2, removed: 2))
        #expect(try fixture.store.cells() == cells)
        #expect(try await fixture.check(suite).isPassed)

        try fixture.edit { $0.identity.resultVersion = 999 }
        await #expect(
            throws: ReplayError.usage(
                "\(fixture.store.folder) has cells of result version 999, and this build has \(Halcyon.resultVersion): use a "
                    + "build with result version 999 or higher.")
        ) { try await fixture.accept(suite) }
    }

    @Test("Results that miss a limit are refused")
    func limits() async throws {
        let ratio = fixture.lru(40)
        for (limit, sentence) in [
            ("floor: 0.9", "The hit ratio is \(ratio.percent), and the floor is 90.00 %."),
            (
                "baseline: lru, highest_loss: -0.5",
                "The loss to lru is 0.00 points, and the highest accepted is -50.00 points."
            ),
        ] {
            let suite = try fixture.suite("policies: lru, capacities: 40, limits: [{policy: lru, \(limit)}]")
            await #expect(
                throws: ReplayError.usage(
                    "--accept changes no limit. small, shared: lru at 40: \(sentence) Change the limit by hand in "
                        + "\(suite.path) if that is meant.")
            ) { try await fixture.accept(suite) }
        }
        #expect(!FileManager.default.fileExists(atPath: fixture.store.folder))
    }

    @Test("Cells of runs that the suite no longer has are removed from a folder of accepted results")
    func leftovers() async throws {
        try await fixture.accept(fixture.suite("policies: [lru, fifo], capacities: 40"))
        let smaller = try fixture.suite("policies: lru, capacities: 40")
        #expect(try await fixture.accept(smaller) == .init(stored: 0, removed: 1))
        #expect(try fixture.store.cells().map(\.label) == ["lru"])
    }

    @Test("A folder of accepted results is kept if the suite has no result to replace them")
    func nothingToReplaceWith() async throws {
        try await fixture.accept(fixture.suite("policies: lru, capacities: 20"))
        let before = fixture.files
        let suite = try fixture.suite("policies: learned(kernels=system), capacities: 20")
        await #expect(
            throws: ReplayError.usage(
                "\(suite.path) has no result that is the same on every machine, so that none replaces the 1 cell in "
                    + "\(fixture.store.folder): remove the folder.")
        ) { try await fixture.accept(suite) }
        #expect(fixture.files == before)
    }

    @Test("A folder with cells of other runs that were not accepted there is left as it is")
    func foreignFolder() async throws {
        let sweep = SuiteRun(try fixture.suite("policies: [lru, fifo], capacities: 40"), store: fixture.store)
        _ = try await sweep.run(sweep.schedule())
        let before = try fixture.store.cells()
        let suite = try fixture.suite("policies: [lru, arc], capacities: 40")
        await #expect(
            throws: ReplayError.usage(
                "\(fixture.store.folder) holds 1 cell that belongs to no run of \(suite.path), and --accept would remove them: "
                    + "name a folder of its own with 'results' or --results.")
        ) { try await fixture.accept(suite) }
        #expect(try fixture.store.cells() == before)
    }
}
