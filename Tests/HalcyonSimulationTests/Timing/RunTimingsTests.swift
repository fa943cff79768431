import Foundation
import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

/// The tests assert the number of times and that nothing else changes. No figure in nanoseconds is asserted: it
/// depends on the machine.
@Suite("Times of accesses and evictions", .timeLimit(.minutes(20)))
struct RunTimingsTests {
    /// A plain policy, one with shares, one whose entries expire, two that may refuse the new object after choosing a
    /// victim, and one whose caches share a model.
    static let policies = ["lru", "category-quota", "kingfisher-memory", "gdsf", "w-tinylfu", "learned(hidden=4)"]

    struct Setting: CustomTestStringConvertible, Sendable {
        let policy: String
        let mode: ReplayMode
        let knowledge: Knowledge
        let warmup: Warmup
        var tiers: TierOptions?
        var prefetch: PrefetchOptions?

        var testDescription: String { "\(policy) \(mode.rawValue) \(knowledge.rawValue) knowledge \(warmup)" }
    }

    static let settings: [Setting] = policies.flatMap { policy in
        [
            Setting(policy: policy, mode: .shared, knowledge: .server, warmup: .none),
            Setting(policy: policy, mode: .shared, knowledge: .server, warmup: 0.3),
            Setting(policy: policy, mode: .perUser, knowledge: .server, warmup: 0.3),
            Setting(policy: policy, mode: .perUser, knowledge: .device, warmup: 0.3),
            Setting(
                policy: policy, mode: .shared, knowledge: .server, warmup: 0.3,
                tiers: TierOptions(memory: .share(0.005, text: "0.5%"), disk: .share(0.02, text: "2%"))),
            Setting(
                policy: policy, mode: .perUser, knowledge: .server, warmup: 0.3,
                prefetch: try? PrefetchOptions(
                    policy: "markov", budget: PrefetchBudget(parsing: "1/request"), latency: .ideal)),
            // The planner reconsiders its prefetches.
            Setting(
                policy: policy, mode: .shared, knowledge: .server, warmup: 0.3,
                prefetch: try? PrefetchOptions(
                    policy: "planner", budget: PrefetchBudget(parsing: "2/request"), latency: .ideal)),
        ]
    }

    /// A feed with sizes and categories: 3,000 requests of 12 users.
    private func trace() throws -> Trace {
        var model = BrowsingModel.feed
        model.requests = 3_000
        model.users = 12
        return try model.generate(seed: 1, names: false)
    }

    private func run(_ setting: Setting, on trace: Trace, timings: Bool) throws -> RunResult {
        try ReplayJob(
            policy: PolicyCatalogue.standard.policy(setting.policy), capacity: .share(0.02, text: "2%"),
            mode: setting.mode, knowledge: setting.knowledge, tiers: setting.tiers,
            options: ReplayOptions(warmup: setting.warmup, timings: timings, prefetch: setting.prefetch)
        ).run(over: ReplayInput(trace))
    }

    @Test("Every counted hit, miss and eviction is timed once, and timing changes nothing", arguments: settings)
    func everyCountedHitMissAndEvictionIsTimedOnce(_ setting: Setting) throws {
        let trace = try trace()
        var timed = try run(setting, on: trace, timings: true)
        var plain = try run(setting, on: trace, timings: false)
        #expect(plain.timings == nil)
        let times = try #require(timed.timings)
        #expect(timed.evictions > 0 && timed.hits > 0)
        #expect(times.hit.count == timed.hits)
        #expect(times.miss.count == timed.requests - timed.hits)
        #expect(times.eviction.count == timed.evictions)
        #expect(times.clock >= 0)
        for (_, kind) in times.kinds {
            let rising = [0, kind.p50, kind.p90, kind.p99, kind.p999, kind.max]
            #expect(rising == rising.sorted())
            #expect(kind.mean >= 0 && kind.mean <= Double(kind.max))
        }
        // All else is the same except for the times of the whole run.
        timed.timings = nil
        timed.prefetch?.planningMicroseconds = 0
        plain.prefetch?.planningMicroseconds = 0
        for value in [\RunResult.seconds, \.requestsPerSecond] {
            timed[keyPath: value] = 0
            plain[keyPath: value] = 0
        }
        #expect(try JSONReport.data(timed) == JSONReport.data(plain))
    }

    @Test("A run without hits has no times of hits")
    func runWithoutHitsHasNoTimesOfHits() throws {
        let result = try ReplayJob(
            policy: PolicyCatalogue.standard.policy("lru"), capacity: .number(2), options: ReplayOptions(timings: true)
        ).run(over: ReplayInput(TinyTraces.unit([0, 1, 2, 3])))
        let times = try #require(result.timings)
        #expect(times.hit == TimeDistribution(count: 0, mean: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0))
        #expect(times.miss.count == 4)
        #expect(times.eviction.count == 2)
    }

    /// A processor that waits uses no processor time, however long that takes.
    @Test("The time of a run is processor time of its thread")
    func timeOfARunIsProcessorTime() {
        let began = ThreadTime.seconds
        usleep(200_000)
        let waited = ThreadTime.seconds - began
        #expect(waited >= 0 && waited < 0.2)
        var state: UInt64 = 1
        for _ in 0..<2_000_000 { state = state &* 6_364_136_223_846_793_005 &+ 1 }
        #expect(ThreadTime.seconds - began > waited && state != 0)
    }

    @Test("A short run is repeated for its speed, with the result of the first")
    func shortRunIsRepeatedForItsSpeed() throws {
        let trace = try BrowsingModel.shop.generate(seed: 1, names: false).selection(limit: 5_000).trace
        let input = ReplayInput(trace)
        for policy in ["lru", "learned", "random"] {
            let job = ReplayJob(
                policy: try PolicyCatalogue.standard.policy(policy), capacity: .number(100),
                options: ReplayOptions(warmup: .requests(1_000)))
            let progress = ReplayProgress(total: trace.count)
            let resolved = try job.resolved(for: input)
            let (once, measured) = (
                resolved.run(over: input).result, resolved.measured(over: input, progress: progress).result
            )
            #expect(once.hits == measured.hits && once.windows == measured.windows && once.metrics == measured.metrics)
            #expect(measured.requestsPerSecond == 5_000 / measured.seconds)
            #expect(progress.completed == trace.count)
        }
    }
}
