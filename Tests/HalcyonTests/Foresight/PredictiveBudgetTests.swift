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

    @Test("The budget of a metered network holds at once, for what is planned already")
    func metered() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(
            prediction {
                $0.budget = .unlimited
                $0.meteredBudget = PrefetchBudget(inTotal: .init(objects: 0))
            })
        let names = ["a", "b", "c", "d", "e"]
        predictive.announce(names.map { resource($0) })
        transport.answer("a", try Sample().file)
        _ = try await fixture.manager.image(for: resource("a"))
        let settled = Task { await predictive.settle() }
        await transport.waitForCalls(2)
        predictive.conditions = [.meteredNetwork]
        await predictive.save()
        for name in names.dropFirst() { transport.answer(name, try Sample().file) }
        await settled.value
        #expect(started(transport) == ["a", "b"])
        #expect(await predictive.statistics.proposed == 4)
    }
}
