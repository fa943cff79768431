import HalcyonEviction
import HalcyonModel
import HalcyonSimulation
import HalcyonTestSupport
import Testing

@Suite("Targets: checking")
struct TargetCheckTests {
    let fixture: TargetFixture

    init() throws { fixture = try TargetFixture() }

    @Test("a target at the very hit ratio of LRU by the book is reached; one above is missed")
    func bounds() async throws {
        let ratio = fixture.lru(40)
        let reached = try await fixture.check(
            fixture.text("policy: lru, capacity: 40, hit_ratio: \(ratio), lowest_hit_ratio: \(ratio)"))
        #expect(reached.missed.isEmpty && reached.moved.isEmpty)
        #expect(reached.outcomes.map(\.hitRatio) == [ratio])
        #expect(reached.summary == "1 target on 1 trace: none missed, none moved.")

        let missed = try await fixture.check(
            fixture.text("policy: lru, capacity: 40, hit_ratio: \(ratio + 0.02), lowest_hit_ratio: \(ratio + 0.01)"))
        #expect(missed.missed.count == 1 && missed.moved.count == 1)
        let lowest = ((ratio + 0.01) * 100).decimals(2)
        #expect(
            missed.missed.first?.misses
                == ["The hit ratio is \((ratio * 100).decimals(2)) %, and the lowest accepted is \(lowest) %."])
        #expect(missed.text().contains("-2.00"))
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
            fixture.text("policy: lru, capacity: 20, lowest_hit_ratio: 0", group: "mode: per_user"))
        #expect(perUser.outcomes.first?.hitRatio == fixture.lruPerUser(20))
        let part = try await fixture.check(
            fixture.text(
                "policy: lru, capacity: 20, lowest_hit_ratio: 0", "policy: lru, capacity: 33, lowest_hit_ratio: 0",
                group: "limit: 1000\n    warmup: 0.25"))
        #expect(
            part.outcomes.map(\.hitRatio)
                == [20, 33].map { fixture.lru($0, limit: 1_000, warmup: 250) })
    }

    @Test("what is fetched ahead is that of a replay")
    func prefetching() async throws {
        let group = "mode: per_user\n    prefetch: popular\n    prefetch_budget: 1/request"
        let report = try await fixture.check(
            fixture.text("policy: lru, capacity: 20, lowest_hit_ratio: 0", group: group))
        let outcome = try #require(report.outcomes.first)
        #expect(outcome.trace.hasSuffix(" + popular"))
        #expect(outcome.hitRatio != fixture.lruPerUser(20))
        let without = try await fixture.check(
            fixture.text(
                "policy: lru, capacity: 20, lowest_hit_ratio: 0",
                group: "mode: per_user\n    prefetch: next-key"))
        #expect(without.outcomes.first?.hitRatio == fixture.lruPerUser(20), "keys were not loaded: nobody is next")
    }

    @Test("the check fails when a policy is made worse on purpose")
    func worse() async throws {
        let text = fixture.text("policy: lru, capacity: 20", "policy: lru, capacity: 60", "policy: lfu, capacity: 20")
        let path = try fixture.folder.file("targets.yml", text)
        let empty = try TargetFile(path: path)
        let file = empty.recording(
            try await TargetCheck(empty, path: path).run(), reason: "first values", date: "2026-01-01")
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
        file = file.recording(try await TargetCheck(file, path: path).run(), reason: "first", date: "2026-01-01")
        file.groups[0].targets[0].policy = "random"
        #expect(try await TargetCheck(file, path: path).run().missed.count == 1)
    }

    @Test("recording changes what moved or was missed, keeps the rest to the byte, and says why")
    func recording() async throws {
        let (small, large) = (fixture.lru(40), fixture.lru(80))
        let text = fixture.text(
            "policy: lru, capacity: 40, hit_ratio: \(small), lowest_hit_ratio: 0.01",
            "policy: lru, capacity: 80, hit_ratio: 0.999, lowest_hit_ratio: 0.99",
            "policy: lru, capacity: 10, baseline: fifo")
        let report = try await fixture.check(text)
        let before = try TargetFile(parsing: text, file: "targets.yml")
        let after = before.recording(report, reason: "LRU is what it is", date: "2026-11-21")
        #expect(after.groups[0].targets[0] == before.groups[0].targets[0])
        #expect(after.groups[0].targets[1].hitRatio == large)
        #expect(after.groups[0].targets[1].lowestHitRatio == large - 0.001)
        let loss = try #require(report.outcomes[2].loss)
        #expect(after.groups[0].targets[2].highestLoss == loss + 0.001)
        #expect(after.groups[0].targets[2].lowestHitRatio == fixture.lru(10) - 0.001)
        #expect(
            after.history == [
                TargetRecording(
                    date: "2026-11-21", halcyonVersion: Halcyon.version, targets: 2, reason: "LRU is what it is")
            ])
        let again = try await fixture.check(after.text)
        #expect(again.missed.isEmpty && again.moved.isEmpty && again.unbounded.isEmpty)
        let written = try TargetFile(parsing: after.text, file: "targets.yml")
        #expect(written.recording(again, reason: "nothing", date: "2026-11-22").text == after.text)
    }

    @Test("a trace that is not there, and one without users, are a sentence")
    func traces() async throws {
        _ = try fixture.folder.file("plain.csv", "key\na\nb\n")
        let target = "targets: [{policy: lru, capacity: 1, lowest_hit_ratio: 0}]"
        for trace in ["missing.csv", "plain.csv"] {
            await #expect(throws: (any Error).self) {
                try await fixture.check(
                    "schema: halcyon.targets/1\ngroups: [{trace: \(trace), mode: per_user, \(target)}]\n")
            }
        }
    }
}
