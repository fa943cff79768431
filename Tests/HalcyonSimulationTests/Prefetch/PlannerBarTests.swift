import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite(
    "The planner on real traces, 60 objects a user, two fetches a request",
    .timeLimit(.minutes(20)))
struct PlannerBarTests {
    /// Hit ratio with and without, and precision.
    private func run(_ name: String, _ prefetch: String) async throws -> PrefetchBarResult? {
        guard let folder = realTraces(for: "\(prefetch) on \(name)") else { return nil }
        var load = TraceLoadOptions()
        load.sizes = .unit
        let path = folder.appendingPathComponent("categories/\(name).csv.gz").path
        let trace = try Trace.load(path, load).selection(limit: 300_000, withUserOnly: true).trace
        var options = ReplayOptions(warmup: 0.25)
        options.prefetch = try PrefetchOptions(
            policy: prefetch, budget: PrefetchBudget(parsing: "2/request"), latency: .ideal)
        let sweep = try Sweep(
            trace: trace, policies: [try PolicyCatalogue.standard.policy("learned")], capacities: [.number(60)],
            options: options, mode: .perUser, knowledge: .server)
        let result = try #require(await sweep.run().first)
        let prefetched = try #require(result.prefetch)
        return PrefetchBarResult(
            hitRatio: result.objectHitRatio, without: prefetched.objectHitRatioWithout, precision: prefetched.precision)
    }

    @Test("A wholesale shop has at least 28 % hits and 17 % precision, more than Markov")
    func shopHas28PercentHitsAnd17PercentPrecision() async throws {
        guard let planner = try await run("onlineretail", "planner") else { return }
        #expect(planner.hitRatio >= 0.28 && planner.precision >= 0.17, "\(planner)")
        let markov = try #require(try await run("onlineretail", "markov"))
        #expect(planner.hitRatio > markov.hitRatio && planner.precision > markov.precision, "\(planner), \(markov)")
    }

    @Test("News has at least 25 % hits and 19.5 % precision")
    func newsHas25PercentHitsAnd19PercentPrecision() async throws {
        guard let planner = try await run("globo_news", "planner") else { return }
        #expect(planner.hitRatio >= 0.25 && planner.precision >= 0.195, "\(planner)")
    }

    @Test("Groceries gain at least one point of hits with 9.6 % precision")
    func groceriesGainAPointWith10PercentPrecision() async throws {
        guard let planner = try await run("completejourney", "planner") else { return }
        #expect(planner.hitRatio >= planner.without + 0.01 && planner.precision >= 0.096, "\(planner)")
    }

    @Test(
        "On traces with few predictable requests the planner loses at most 0.1 points",
        arguments: ["lastfm_albumart", "taobao_users"])
    func unpredictableTracesLoseAtMostATenthOfAPoint(name: String) async throws {
        guard let planner = try await run(name, "planner") else { return }
        #expect(planner.hitRatio >= planner.without - 0.001, "\(planner)")
    }
}

/// The figures that ``PlannerBarTests`` compares.
struct PrefetchBarResult {
    let hitRatio: Double
    let without: Double
    let precision: Double
}
