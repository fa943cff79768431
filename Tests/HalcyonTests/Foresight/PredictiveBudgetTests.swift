import HalcyonModel
import HalcyonTestSupport
import Testing

@testable import Halcyon

@Suite("Predictive prefetcher: what is spent of the budget", .timeLimit(.minutes(1)))
struct PredictiveBudgetTests: PredictiveTests {
    let notes = ScriptedPolicy.Notes()

    @Test("A fetch that fails costs no bytes")
    func failed() async throws {
        let file = try Sample().file
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(
            prediction { $0.budget = PrefetchBudget(perDay: .init(bytes: file.count * 3 / 2)) })
        predictive.announce(["a", "b", "c", "d"].map { AnnouncedResource(resource($0), bytes: file.count) })
        for name in ["a", "c"] { transport.answer(name, file) }
        transport.fail("b", .transportClosed)
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        #expect(started(transport) == ["a", "b", "c"])
        #expect(await predictive.statistics.failed == 1)
    }
}
