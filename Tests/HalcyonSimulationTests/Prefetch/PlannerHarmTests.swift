import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("The planner does little harm", .timeLimit(.minutes(20)))
struct PlannerHarmTests {
    private func run(
        _ trace: Trace, _ prefetch: String, capacity: String, mode: ReplayMode = .shared, warmup: Warmup = 0.25
    ) async throws -> (hitRatio: Double, prefetch: PrefetchResult) {
        var options = ReplayOptions(warmup: warmup)
        options.prefetch = try PrefetchOptions(
            policy: prefetch, budget: PrefetchBudget(parsing: "2/request"), latency: .ideal)
        let sweep = try Sweep(
            trace: trace, policies: [try PolicyCatalogue.standard.policy("learned")],
            capacities: [CapacityRequest(parsing: capacity)], options: options, mode: mode, knowledge: .server)
        let result = try #require(await sweep.run().first)
        return (result.objectHitRatio, try #require(result.prefetch))
    }

    @Test("In a shared cache whose victims are soon re-requested prefetching costs at most 0.2 points")
    func prefetchingInASharedCacheCostsNoHits() async throws {
        let trace = try Trace.load(BundledTrace.path("feed.csv")).selection(limit: 60_000, withUserOnly: false).trace
        let large = try await run(trace, "planner", capacity: "1%", warmup: .none)
        #expect(large.hitRatio >= large.prefetch.objectHitRatioWithout, "\(large)")
        // A cache of 0.1 % lost 2.5 points while an evicted object that was prefetched again did not count as a
        // return.
        let small = try await run(trace, "planner", capacity: "0.1%")
        #expect(small.hitRatio >= small.prefetch.objectHitRatioWithout - 0.002, "\(small)")
    }

    @Test(
        "With variable sizes prefetching loses at most 0.2 points at more than 10 % precision",
        arguments: ["1MB", "5MB"])
    func evictionCostWithVariableSizesPreventsHarm(capacity: String) async throws {
        var load = TraceLoadOptions()
        load.sizes = .lognormal(median: 400_000, sigma: 1.5)
        let trace = try Trace.load(BundledTrace.path("shop.csv"), load).selection(limit: 20_000, withUserOnly: true)
            .trace
        let result = try await run(trace, "planner", capacity: capacity, mode: .perUser, warmup: .none)
        #expect(result.hitRatio >= result.prefetch.objectHitRatioWithout - 0.002, "\(result)")
        #expect(result.prefetch.precision > 0.1, "\(result)")
    }

    @Test("An object larger than the cache is never prefetched", arguments: ["planner", "markov", "popular"])
    func objectLargerThanTheCacheIsNeverFetched(policy: String) async throws {
        let requests = (0..<3_000).map { UInt32($0 * 7 % 30) }
        let trace = Trace(
            entries: requests, times: TimeColumn(count: requests.count), users: [],
            objectSizes: Array(repeating: 50_000_000, count: 30), userCount: 0, sizeUnit: .bytes, names: TraceNames())
        let result = try await run(trace, policy, capacity: "40MB", warmup: .none)
        #expect(result.hitRatio == 0 && result.prefetch.fetched == 0 && result.prefetch.fetchedSize == 0, "\(result)")
    }
}
