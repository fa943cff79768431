import Halcyon
import HalcyonLearning
import HalcyonTestSupport

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

/// A suite of what a scripted policy makes a manager fetch.
protocol PredictiveTests: Sendable {
    /// What its policies were told.
    var notes: ScriptedPolicy.Notes { get }
}

extension PredictiveTests {
    func configuration(_ change: (inout PrefetchConfiguration) -> Void = { _ in }) -> PrefetchConfiguration {
        var configuration = PrefetchConfiguration { [notes] _ in ScriptedPolicy(notes) }
        configuration.maxConcurrent = 1
        change(&configuration)
        return configuration
    }

    func resource(_ name: String, _ categories: String...) -> Resource {
        Resource(fake(name), cacheKey: name, categories: categories, user: "u")
    }

    func started(_ transport: FakeTransport) -> [String] {
        transport.calls.compactMap { if case .start(let name, _) = $0 { name } else { nil } }
    }

    /// Turned on, and "a" asked for, so that "b" is being fetched; `settled` ends when nothing is under way.
    func fetching(
        _ manager: HalcyonManager, _ transport: FakeTransport
    ) async throws -> (predictive: PredictivePrefetcher, settled: Task<Void, Never>) {
        let predictive = manager.startPredicting(configuration())
        predictive.announce([resource("a"), resource("b")])
        let visible = Task { try await manager.image(for: resource("a")) }
        await transport.waitForCalls(1)
        transport.answer("a", try EncodedPicture().file)
        _ = try await visible.value
        let settled = Task { await predictive.settle() }
        await transport.waitForCalls(2)
        return (predictive, settled)
    }

    /// Asks for "a", after which "b" is likely, so and so many seconds after the last time; how often "b" was asked for until now.
    func asked(_ fixture: ManagerFixture, _ transport: FakeTransport, after seconds: Double) async throws -> Int {
        fixture.clock.advance(by: seconds)
        _ = try await fixture.manager.image(for: resource("a"))
        await fixture.manager.predictive?.settle()
        return started(transport).count { $0 == "b" }
    }

    /// What was told until there was a plan.
    func heardUntilPlan() async -> [String] {
        var heard: [String] = []
        while heard.last?.hasPrefix("plan") != true, !Task.isCancelled {
            heard += notes.take()
            await Task.yield()
        }
        return heard
    }
}
