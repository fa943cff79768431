import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("What the planner must not cost", .timeLimit(.minutes(20)))
struct PlannerHarmTests {
    private func run(
        _ trace: Trace, _ prefetch: String, capacity: String, mode: ReplayMode = .shared, warmup: Double = 0.25
    ) async throws -> (hitRatio: Double, prefetch: PrefetchResult) {
        var options = ReplayOptions(warmup: warmup)
        options.prefetch = try PrefetchOptions(
            policy: prefetch, budget: PrefetchBudget(parsing: "2/request"), latency: .ideal)
        let sweep = try Sweep(
            trace: trace, policies: [try PolicyCatalogue.standard.policy("learned")],
            capacities: [CapacityRequest(parsing: capacity)], options: options, mode: mode)
        let result = try #require(await sweep.run().first)
        return (result.objectHitRatio, try #require(result.prefetch))
    }

    @Test("In one cache for all, where what has to leave is soon asked for by others, fetching costs no hits")
    func shared() async throws {
        let trace = try Trace.load(BundledTrace.path("feed.csv")).selection(limit: 60_000, withUserOnly: false).trace
        let large = try await run(trace, "planner", capacity: "1%", warmup: 0)
        #expect(large.hitRatio >= large.prefetch.objectHitRatioWithout, "\(large)")
        // A cache of 0.1 % lost two points and a half while what was fetched anew did not count as come back.
        let small = try await run(trace, "planner", capacity: "0.1%")
        #expect(small.hitRatio >= small.prefetch.objectHitRatioWithout - 0.002, "\(small)")
    }

    @Test("Where sizes vary, what a fetch displaces is measured by what it costs", arguments: ["1MB", "5MB"])
    func sizes(capacity: String) async throws {
        var load = TraceLoadOptions()
        load.sizes = .lognormal(median: 400_000, sigma: 1.5)
        let trace = try Trace.load(BundledTrace.path("shop.csv"), load).selection(limit: 20_000, withUserOnly: true)
            .trace
        let result = try await run(trace, "planner", capacity: capacity, mode: .perUser, warmup: 0)
        #expect(result.hitRatio >= result.prefetch.objectHitRatioWithout - 0.002, "\(result)")
        #expect(result.prefetch.precision > 0.1, "\(result)")
    }

    @Test("What the cache could never hold is not fetched", arguments: ["planner", "markov", "popular"])
    func tooLarge(policy: String) async throws {
        let requests = (0..<3_000).map { UInt32($0 * 7 % 30) }
        let trace = Trace(
            entries: requests, times: TimeColumn(count: requests.count), users: [],
            objectSizes: Array(repeating: 50_000_000, count: 30), userCount: 0, sizeUnit: .bytes, names: TraceNames())
        let result = try await run(trace, policy, capacity: "40MB", warmup: 0)
        #expect(result.hitRatio == 0 && result.prefetch.fetched == 0 && result.prefetch.fetchedSize == 0, "\(result)")
    }
}
