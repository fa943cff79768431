import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments
@testable import HalcyonSimulation

@Suite("Targets: checking", .timeLimit(.minutes(20)))
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

    /// A trace with sizes, and the hits and bytes hit by LRU.
    private func sizedTrace(capacity: Int) throws -> (hits: Int, byteRatio: Double) {
        let keys = (0..<2_000).map { $0 * $0 % 97 % 60 }
        func size(_ key: Int) -> Int { key % 5 * 10 + 10 }
        let rows = keys.enumerated().map { "\($0),o\($1),\(size($1))\n" }
        _ = try fixture.folder.file("sized.csv", "time,key,size\n" + rows.joined())
        var recent: [Int] = []
        var (hits, hit, total) = (0, 0, 0)
        for key in keys {
            total += size(key)
            if let place = recent.firstIndex(of: key) {
                recent.remove(at: place)
                hits += 1
                hit += size(key)
            }
            recent.append(key)
            while recent.reduce(0, { $0 + size($1) }) > capacity { recent.removeFirst() }
        }
        return (hits, Double(hit) / Double(total))
    }

    @Test("a byte floor holds for the bytes hit by LRU by the book, and fails one step above")
    func byteFloors() async throws {
        let (hits, ratio) = try sizedTrace(capacity: 600)
        func report(_ floor: Double) async throws -> TargetReport {
            let target = "policy: lru, capacity: 600, hits: \(hits), byte_floor: \(floor.decimals(6))"
            return try await fixture.check(fixture.text(target).replacing("small.csv", with: "sized.csv"))
        }
        let reached = try await report(ratio)
        #expect(reached.isPassed && reached.unrecorded.isEmpty)
        #expect(try abs(#require(reached.outcomes[0].byteHitRatio) - ratio) < 1e-12)
        #expect(abs(ratio - Double(hits) / 2_000) > 0.001, "or the test could not tell bytes from objects")
        let missed = try await report(ratio + 0.001)
        #expect(!missed.isPassed)
        #expect(
            missed.misses(of: missed.outcomes[0]) == [
                "The byte hit ratio is \(ratio.percent), and the floor is \((ratio + 0.001).percent)."
            ])
        #expect(missed.text().contains("  byte hit ratio  byte floor  ") && !missed.text().contains("latency ms"))
        #expect(missed.markdown.contains("| byte hit ratio | byte floor |"))
        await #expect(
            throws: ReplayError.data(
                "small.csv: every object counts 1, so that the byte hit ratio of lru is its hit ratio: leave out 'byte_floor'."
            )
        ) { try await fixture.check(fixture.text("policy: lru, capacity: 40, byte_floor: 0.1")) }
    }

    @Test("a highest latency is that of two tiers, by hand, and fails one step below")
    func latencies() async throws {
        // Six requests; memory of 1, disk of 2: a miss, a memory, b miss, a disk, c miss, b miss.
        _ = try fixture.folder.file("tiny.csv", "key\na\na\nb\na\nc\nb\n")
        let group = "tiers: {memory: 1, disk: 2, latency: \"memory=1,disk=10,network=100\"}"
        let mean = (100 + 1 + 100 + 10 + 100 + 100) / 6.0
        func report(_ highest: Double) async throws -> TargetReport {
            let text = fixture.text("policy: lru, hits: 2, highest_latency_ms: \(highest.decimals(6))", group: group)
            return try await fixture.check(text.replacing("small.csv", with: "tiny.csv"))
        }
        let reached = try await report(mean)
        #expect(reached.isPassed && reached.outcomes[0].hits == 2)
        #expect(try abs(#require(reached.outcomes[0].meanLatency) - mean) < 1e-9)
        #expect(reached.outcomes[0].name == "tiny.csv, shared: lru at 1/2")
        let missed = try await report(mean - 0.01)
        #expect(!missed.isPassed)
        #expect(
            missed.misses(of: missed.outcomes[0]) == [
                "The mean latency is \(mean.decimals(3)) ms, and the highest accepted is \((mean - 0.01).decimals(3)) ms."
            ])
        #expect(missed.text().contains("  latency ms  highest ms  "))
        #expect(missed.junit.contains("name=\"lru at 1/2\""))
    }

    @Test("hits over several seeds are their sum, and floors hold for the mean")
    func seeds() async throws {
        func report(_ group: String, _ policy: String = "random", _ rest: String = "floor: 0") async throws
            -> TargetOutcome
        {
            let text = fixture.text("policy: \(policy), capacity: 40, \(rest)", group: group)
            return try await #require(fixture.check(text).outcomes.first)
        }
        var single: [TargetOutcome] = []
        for seed in [2, 5, 9] { single.append(try await report("seed: \(seed)")) }
        let all = try await report("seeds: [2, 5, 9]", "random", "floor: 0, baseline: random, highest_loss: 1")
        let hits = single.reduce(0) { $0 + $1.hits }
        #expect(Set(single.map(\.hits)).count > 1 && all.hits == hits && all.requests == 3 * TargetFixture.requests)
        let mean = single.reduce(0) { $0 + $1.hitRatio } / 3
        #expect(abs(all.hitRatio - mean) < 1e-12)
        #expect(try abs(#require(all.baselineHitRatio) - mean) < 1e-12)
        #expect(all.trace == "small.csv, 3 seeds")
        // A floor above the worst seed and below the mean holds; one above the mean and below the best does not.
        let (worst, best) = (single.map(\.hitRatio).min() ?? 0, single.map(\.hitRatio).max() ?? 0)
        func passes(_ rest: String) async throws -> Bool {
            let text = fixture.text("policy: random, capacity: 40, \(rest)", group: "seeds: [2, 5, 9]")
            return try await fixture.check(text).isPassed
        }
        #expect(try await passes("hits: \(hits), floor: \(((worst + mean) / 2).decimals(6))"))
        #expect(try await !passes("floor: \(((best + mean) / 2).decimals(6))"))
        #expect(try await !passes("hits: \(hits + 1), floor: 0"))
        // A policy without random numbers runs once.
        let lru = try await report("seeds: 4", "lru")
        #expect(lru.hits == fixture.lruHits(40) && lru.requests == TargetFixture.requests)
    }

    @Test("models and the latency of prefetches are those of a replay")
    func modelsAndPrefetchLatency() async throws {
        let trace = try Trace.load("\(fixture.folder.path)/small.csv")
        for models in ModelSharing.allCases {
            let group = "mode: per_user\n    models: \(models.rawValue)"
            let report = try await fixture.check(fixture.text("policy: learned, capacity: 20, floor: 0", group: group))
            let job = ReplayJob(
                policy: try PolicyCatalogue.standard.policy("learned"), capacity: .number(20), mode: .perUser,
                models: models)
            #expect(try report.outcomes.map(\.hits) == [job.run(over: ReplayInput(trace)).hits])
        }
        // The trace has no times, so that a request takes a second: a fetch of 2 s comes too late for the next one.
        var hits: Set<Int> = []
        for latency in ["0", "2s", "1h"] {
            let group =
                "mode: per_user\n    prefetch: popular\n    prefetch_budget: 1/request\n    prefetch_latency: \(latency)"
            let report = try await fixture.check(fixture.text("policy: lru, capacity: 20, floor: 0", group: group))
            var job = ReplayJob(
                policy: try PolicyCatalogue.standard.policy("lru"), capacity: .number(20), mode: .perUser)
            job.options.prefetch = try PrefetchOptions(
                policy: "popular", budget: PrefetchBudget(parsing: "1/request"),
                latency: .fixed(latency == "0" ? 0 : latency == "2s" ? 2_000_000 : 3_600_000_000))
            #expect(try report.outcomes.map(\.hits) == [job.run(over: ReplayInput(trace)).hits])
            hits.insert(report.outcomes[0].hits)
        }
        #expect(hits.count == 3, "or the latency would not be used")
    }

    @Test("skip and an environment variable are those of a suite")
    func references() async throws {
        let text = fixture.text("policy: lru, capacity: 40, floor: 0", group: "skip: 500\n    limit: 1000")
        let report = try await fixture.check(text)
        let rest = Array(fixture.trace.entries[500..<1_500])
        #expect(report.outcomes.map(\.hits) == [bookLRUHits(rest, capacity: 40).count { $0 }])
        let unset = fixture.text("policy: lru, capacity: 40, floor: 0")
            .replacing("small.csv", with: "${HALCYON_NOT_SET}/small.csv")
        await #expect(
            throws: ReplayError.data(
                "${HALCYON_NOT_SET}/small.csv: the environment variable HALCYON_NOT_SET is not set.")
        ) { try await fixture.check(unset) }
    }

    @Test("recording gives a new target every limit that applies, and moves no limit")
    func recordingOfLimits() async throws {
        let (hits, ratio) = try sizedTrace(capacity: 600)
        func update(_ target: String, group: String = "mode: shared") async throws -> Target {
            let text = fixture.text(target, group: group).replacing("small.csv", with: "sized.csv")
            let written = try await fixture.update(text)
            let file = try TargetFile(parsing: written, file: "t.yml")
            #expect(file.text == written)
            return file.groups[0].targets[0]
        }
        let plain = try await update("policy: lru, capacity: 600")
        #expect(plain.hits == hits && plain.highestLatency == nil)
        #expect(try abs(#require(plain.byteFloor) - (ratio - 0.001)) < 1e-6)
        #expect(try abs(#require(plain.floor) - (Double(hits) / 2_000 - 0.001)) < 1e-6)
        let tiers = "tiers: {memory: 10, disk: 600, latency: \"memory=0,disk=0,network=100,bandwidth=1GB\"}"
        let tiered = try await update("policy: lru", group: tiers)
        // Nearly 100 ms for each miss, and the margin is what 0.1 % more misses cost.
        let misses = 1 - Double(try #require(tiered.hits)) / 2_000
        #expect(try abs(#require(tiered.highestLatency) - (100 * misses + 0.1)) < 0.001)
        let kept = try await update("policy: lru, byte_floor: 0.01", group: tiers)
        #expect(kept.byteFloor == 0.01 && kept.floor == nil && kept.highestLatency == nil && kept.hits == tiered.hits)
        let ratioText = ratio.decimals(6)
        await #expect(
            throws: ReplayError.usage(
                "--update lowers no byte floor: sized.csv, shared: lru at 600 has a byte hit ratio of \(ratioText), and the "
                    + "floor is 0.990000; lower it by hand in targets.yml if that is meant.")
        ) { _ = try await update("policy: lru, capacity: 600, byte_floor: 0.99") }
        do {
            _ = try await update("policy: lru, highest_latency_ms: 0.001", group: tiers)
            Issue.record("a highest latency was raised")
        } catch {
            #expect(
                "\(error)".hasPrefix("--update raises no highest latency: sized.csv, shared: lru at 10/600 has a mean ")
            )
        }
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
