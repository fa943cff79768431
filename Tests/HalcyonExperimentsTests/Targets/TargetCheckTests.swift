import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonTestSupport
import Testing

@testable import HalcyonExperiments
@testable import HalcyonSimulation

@Suite("Targets: checking")
struct TargetCheckTests {
    let fixture: TargetFixture

    init() throws { fixture = try TargetFixture() }

    @Test("the exact hits of LRU by the book are reached; one hit more or less is missed")
    func exactHits() async throws {
        let hits = fixture.lruHits(40)
        func report(_ recorded: Int) async throws -> TargetReport {
            try await fixture.check(fixture.text("policy: lru, capacity: 40, hits: \(recorded), floor: 0.1"))
        }
        let reached = try await report(hits)
        #expect(reached.isPassed && reached.missed.isEmpty && reached.moved.isEmpty)
        #expect(reached.outcomes.map(\.hits) == [hits])
        #expect(reached.outcomes.map(\.requests) == [TargetFixture.requests])
        #expect(reached.summary == "1 target on 1 trace: none missed, none moved.")
        for recorded in [hits - 1, hits + 1] {
            let missed = try await report(recorded)
            #expect(!missed.isPassed && missed.missed.count == 1 && missed.moved.count == 1)
            #expect(
                missed.missed.map(missed.misses(of:)) == [
                    [
                        "There are \(hits.grouped) hits, and \(recorded.grouped) were recorded with result version 1, which "
                            + "this build has too: a change that moves results needs a new result version "
                            + "(Halcyon.resultVersion), a line in CHANGELOG.md and --update."
                    ]
                ])
            #expect(missed.text().contains(recorded < hits ? "  +1  " : "  -1  "))
        }
    }

    @Test("a floor at the hit ratio of LRU by the book is reached; one above is missed")
    func floors() async throws {
        let ratio = fixture.lru(40)
        let reached = try await fixture.check(fixture.text("policy: lru, capacity: 40, floor: \(ratio)"))
        #expect(reached.isPassed && reached.outcomes.map(\.hitRatio) == [ratio])
        #expect(reached.summary == "1 target on 1 trace: none missed, none moved, 1 without exact hits.")
        let missed = try await fixture.check(fixture.text("policy: lru, capacity: 40, floor: \(ratio + 0.01)"))
        #expect(!missed.isPassed && missed.moved.isEmpty)
        let floor = ((ratio + 0.01) * 100).decimals(2)
        #expect(
            missed.missed.map(missed.misses(of:))
                == [["The hit ratio is \((ratio * 100).decimals(2)) %, and the floor is \(floor) %."]])
    }

    @Test("another result version fails the check as a whole, lists what moved, and still checks floors")
    func versions() async throws {
        let (small, large) = (fixture.lruHits(40), fixture.lruHits(80))
        let text = fixture.text(
            "policy: lru, capacity: 40, hits: \(small), floor: 0.1",
            "policy: lru, capacity: 80, hits: \(large + 1), floor: 0.1")
        let report = try await fixture.check(text, version: 2)
        let sentence =
            "The exact figures were recorded with result version 1, and this build has 2: record them with --update "
            + "--reason \"…\"."
        #expect(report.versionFault == sentence)
        #expect(!report.isPassed && report.missed.isEmpty)
        #expect(report.moved.map(\.target.capacity) == ["80"])
        #expect(report.text().contains("\n\(sentence)\n2 targets on 1 trace: none missed, 1 moved.\n"))
        #expect(report.markdown.contains("❌") && report.markdown.contains("\n\(sentence)\n"))
        #expect(report.junit.contains("<failure type=\"version\" message=\"The exact figures were recorded with "))
        #expect(report.junit.contains("lru at 80: \(large.grouped) hits, recorded \((large + 1).grouped)</failure>"))

        let unmoved = fixture.text("policy: lru, capacity: 40, hits: \(small), floor: 0.1")
        #expect(try await !fixture.check(unmoved, version: 2).isPassed)
        let low = try await fixture.check(
            fixture.text("policy: lru, capacity: 40, hits: \(small), floor: 0.9"), version: 2)
        #expect(low.missed.count == 1)
        let older = try await fixture.check(
            fixture.text("policy: lru, capacity: 40, hits: \(small), floor: 0.1", version: 3), version: 2)
        #expect(
            older.versionFault
                == "The exact figures were recorded with result version 3, and this build has 2: use a build with "
                + "result version 3.")
        // Floors hold for every version.
        #expect(try await fixture.check(fixture.text("policy: lru, capacity: 40, floor: 0.1"), version: 2).isPassed)
    }

    @Test("the system's matrix routines have floors only, in a policy and in the planner")
    func systemKernels() async throws {
        let text = fixture.text("policy: learned(kernels=system), capacity: 20")
        let written = try await fixture.update(text)
        #expect(!written.contains("hits:") && written.contains("capacity: 20, floor: 0."))
        let report = try await fixture.check(written)
        #expect(report.isPassed && report.withoutHits.isEmpty && report.outcomes.map(\.isExact) == [false])
        let kernels = try #require(report.outcomes[0].systemKernels)
        #expect(report.text().contains("kernels: \(kernels.implementation); results depend on the processor.\n"))
        #expect(!report.text().contains("without exact hits"))
        // The floor is checked all the same.
        let high = written.replacing(/floor: 0\.\d+/, with: "floor: 0.99")
        #expect(try await !fixture.check(high).isPassed)

        let group = "mode: per_user\n    prefetch: planner(kernels=system)"
        let fetched = try await fixture.check(fixture.text("policy: lru, capacity: 20, floor: 0", group: group))
        #expect(fetched.outcomes.map(\.isExact) == [false])
        let portable = try await fixture.check(
            fixture.text("policy: lru, capacity: 20", group: "mode: per_user\n    prefetch: planner"))
        #expect(portable.outcomes.map(\.isExact) == [true])
    }

    @Test("a loss against a baseline is the baseline's hit ratio less the policy's, at the same capacity")
    func baseline() async throws {
        func report(_ highest: Double) async throws -> TargetReport {
            // Whatever FIFO reaches, its loss is what LRU by the book is ahead.
            try await fixture.check(
                fixture.text("policy: fifo, capacity: 40, baseline: lru, highest_loss: \(highest)"))
        }
        let outcome = try #require(try await report(1).outcomes.first)
        #expect(outcome.baselineHitRatio == fixture.lru(40))
        #expect(outcome.loss == fixture.lru(40) - outcome.hitRatio)
        let measured = try #require(outcome.loss)
        #expect(try await report(measured).missed.isEmpty)
        #expect(try await report(measured - 0.001).missed.count == 1)
    }

    @Test("mode, limit and warm-up are those of a replay")
    func groups() async throws {
        let perUser = try await fixture.check(
            fixture.text("policy: lru, capacity: 20, floor: 0", group: "mode: per_user"))
        #expect(perUser.outcomes.first?.hitRatio == fixture.lruPerUser(20))
        let part = try await fixture.check(
            fixture.text(
                "policy: lru, capacity: 20, floor: 0", "policy: lru, capacity: 33, floor: 0",
                group: "limit: 1000\n    warmup: 0.25"))
        #expect(
            part.outcomes.map(\.hitRatio)
                == [20, 33].map { fixture.lru($0, limit: 1_000, warmup: 250) })
    }

    @Test("what is fetched ahead is that of a replay")
    func prefetching() async throws {
        let group = "mode: per_user\n    prefetch: popular\n    prefetch_budget: 1/request"
        let report = try await fixture.check(
            fixture.text("policy: lru, capacity: 20, floor: 0", group: group))
        let outcome = try #require(report.outcomes.first)
        #expect(outcome.trace.hasSuffix(" + popular"))
        #expect(outcome.hitRatio != fixture.lruPerUser(20))
        let without = try await fixture.check(
            fixture.text(
                "policy: lru, capacity: 20, floor: 0",
                group: "mode: per_user\n    prefetch: next-key"))
        #expect(without.outcomes.first?.hitRatio == fixture.lruPerUser(20), "keys were not loaded: no object is next")
    }

    @Test("the check fails when a policy is made worse on purpose")
    func worse() async throws {
        let text = fixture.text("policy: lru, capacity: 20", "policy: lru, capacity: 60", "policy: lfu, capacity: 20")
        let path = try fixture.folder.file("targets.yml", text)
        let empty = try TargetFile(path: path)
        let file = try empty.recording(
            try await TargetCheck(empty, path: path).run(), reason: "first values", date: "2026-01-01", path: path)
        #expect(try await TargetCheck(file, path: path).run().missed.isEmpty)

        var worse = PolicyCatalogue.standard
        worse.add(PolicyEntry(WastefulLRU.self))
        let report = try await TargetCheck(file, path: path, catalogue: worse).run()
        #expect(report.missed.map(\.target.policy) == ["lru", "lru"])
        #expect(report.moved.map(\.target.capacity) == ["20", "60"])
    }

    @Test("the check fails when the learned policy loses its senses")
    func blunted() async throws {
        // Every other request is for one of 15 favourites, the rest never comes back.
        let requests = (0..<4_000).map { $0 % 2 == 0 ? "o\($0 / 2 * 7 % 15)" : "once\($0)" }
        _ = try fixture.folder.file("small.csv", "key\n" + requests.joined(separator: "\n") + "\n")
        let path = try fixture.folder.file("targets.yml", fixture.text("policy: learned, capacity: 20"))
        var file = try TargetFile(path: path)
        file = try file.recording(
            try await TargetCheck(file, path: path).run(), reason: "first", date: "2026-01-01", path: path)
        file.groups[0].targets[0].hits = nil
        file.groups[0].targets[0].policy = "random"
        #expect(try await TargetCheck(file, path: path).run().missed.count == 1)
    }

    @Test("recording adds new targets with a margin, keeps the rest to the byte, and gives the reason")
    func recording() async throws {
        let text = fixture.text(
            "policy: lru, capacity: 40, floor: 0.01", "policy: lru, capacity: 80, floor: 0.02",
            "policy: lru, capacity: 10, baseline: fifo", version: nil)
        let report = try await fixture.check(text)
        let before = try TargetFile(parsing: text, file: "targets.yml")
        let after = try before.recording(report, reason: "LRU is LRU", date: "2026-11-21", path: "targets.yml")
        #expect(before.resultVersion == nil && after.resultVersion == report.resultVersion)
        // Limits that the file has stay as they are.
        #expect(
            after.groups[0].targets[0] == Target(policy: "lru", capacity: "40", hits: fixture.lruHits(40), floor: 0.01))
        #expect(
            after.groups[0].targets[1] == Target(policy: "lru", capacity: "80", hits: fixture.lruHits(80), floor: 0.02))
        let loss = try #require(report.outcomes[2].loss)
        #expect(
            after.groups[0].targets[2]
                == Target(
                    policy: "lru", capacity: "10", hits: fixture.lruHits(10), floor: fixture.lru(10) - 0.001,
                    baseline: "fifo", highestLoss: loss + 0.001))
        #expect(
            after.history == [
                TargetRecording(
                    date: "2026-11-21", halcyonVersion: Halcyon.version, targets: 3, reason: "LRU is LRU")
            ])
        let again = try await fixture.check(after.text)
        #expect(again.isPassed && again.moved.isEmpty && again.unrecorded.isEmpty && again.withoutHits.isEmpty)
        let written = try TargetFile(parsing: after.text, file: "targets.yml")
        let unchanged = try written.recording(again, reason: "nothing", date: "2026-11-22", path: "targets.yml")
        #expect(unchanged.text == after.text)
    }

    @Test("hits that moved are recorded by a build with a higher result version only")
    func recordingNeedsVersion() async throws {
        let hits = fixture.lruHits(40)
        let text = fixture.text(
            "policy: lru, capacity: 40, hits: \(hits + 1), floor: 0.1",
            "policy: lru, capacity: 80, hits: 1, floor: 0.1")
        await #expect(
            throws: ReplayError.usage(
                "small.csv, shared: lru at 40 has \(hits.grouped) hits, and \((hits + 1).grouped) were recorded with result "
                    + "version 1, which this build has too; 1 other target moved as well: raise the result version "
                    + "(Halcyon.resultVersion) first.")
        ) { try await fixture.update(text) }
        let written = try await fixture.update(text, version: 2)
        #expect(written.contains("result_version: 2\n"))
        #expect(written.contains("hits: \(hits), floor: 0.100000}"))
        #expect(written.contains("targets: 2, reason: \"a reason\""))
        #expect(try await fixture.check(written, version: 2).isPassed)
        await #expect(
            throws: ReplayError.usage(
                "targets.yml was recorded with result version 2, and this build has 1: use a build with result version 2 "
                    + "or higher.")
        ) { try await fixture.update(written, version: 1) }
        // The version is recorded also where nothing moved.
        let same = try await fixture.update(
            fixture.text("policy: lru, capacity: 40, hits: \(hits), floor: 0.1"), version: 2)
        #expect(same.contains("result_version: 2\n") && same.contains("targets: 0, "))
    }

    @Test("recording lowers no floor and raises no highest loss")
    func recordingKeepsLimits() async throws {
        let ratio = fixture.lru(40).decimals(6)
        let floor = fixture.text("policy: lru, capacity: 40, floor: 0.9")
        for version in [1, 2] {
            await #expect(
                throws: ReplayError.usage(
                    "--update lowers no floor: small.csv, shared: lru at 40 has a hit ratio of \(ratio), and the floor is "
                        + "0.900000; lower it by hand in targets.yml if that is meant.")
            ) { try await fixture.update(floor, version: version) }
        }
        let loss = fixture.text("policy: lru, capacity: 40, baseline: lru, highest_loss: -0.5")
        await #expect(
            throws: ReplayError.usage(
                "--update raises no highest loss: small.csv, shared: lru at 40 has a loss of 0.000000, and the highest "
                    + "accepted is -0.500000; raise it by hand in targets.yml if that is meant.")
        ) { try await fixture.update(loss) }
    }

    @Test("CHANGELOG.md has an entry for the result version of this build")
    func changelog() throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../CHANGELOG.md")
        let text = try String(contentsOf: path.standardizedFileURL, encoding: .utf8)
        #expect(text.contains("**Result version \(Halcyon.resultVersion)**"))
    }

    @Test("a trace that is not there, and one without users, are a sentence")
    func traces() async throws {
        _ = try fixture.folder.file("plain.csv", "key\na\nb\n")
        let target = "targets: [{policy: lru, capacity: 1, floor: 0}]"
        for trace in ["missing.csv", "plain.csv"] {
            await #expect(throws: (any Error).self) {
                try await fixture.check(
                    "schema: halcyon.targets/2\ngroups: [{trace: \(trace), mode: per_user, \(target)}]\n")
            }
        }
    }
}
