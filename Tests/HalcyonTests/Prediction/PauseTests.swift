import Halcyon
import HalcyonLearning
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("Predictive prefetcher: when it plans", .timeLimit(.minutes(20)))
struct PauseTests: PredictiveTests {
    let notes = ScriptedPolicy.Notes()

    @Test("A plan follows the quiet time although the accesses were processed by a save before")
    func savingDoesNotPreventPlan() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let predictive = fixture.manager.startPredicting(configuration())
        _ = try await fixture.manager.image(for: resource("a"))
        // The other sleeper is the memory's sweeper.
        await fixture.clock.waitForSleepers(2)
        await predictive.save()
        #expect(notes.take() == ["miss 0 in 0 by 0"])
        fixture.clock.advance(by: 0.05)
        #expect(await heardUntilPlan() == ["plan after 0: []"])
    }

    @Test("Patience ends after the first access although saves process each access")
    func patienceCountsFromFirstAccess() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let predictive = fixture.manager.startPredicting(
            configuration { ($0.quiet, $0.patience) = (.milliseconds(50), .milliseconds(100)) })
        for round in 0..<3 {
            _ = try await fixture.manager.image(for: resource("a\(round)"))
            predictive.conditions = []
            await predictive.save()
            #expect(notes.take() == ["miss \(round) in 0 by 0"])
            await fixture.clock.waitForSleepers(2)
            fixture.clock.advance(by: 0.04)
        }
        // 40 ms after the last access and 120 ms after the first.
        #expect(await heardUntilPlan() == ["plan after 2: []"])
    }

    @Test("A clock that is set back ends the wait")
    func clockSetBackEndsWait() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let predictive = fixture.manager.startPredicting(configuration())
        #expect(predictive.timeToWait() == nil)
        _ = try await fixture.manager.image(for: resource("a"))
        #expect(predictive.timeToWait() == 50_000)
        fixture.clock.advance(by: -3_600)
        #expect(predictive.timeToWait() == 0)
    }

    @Test(
        "Any quiet time is valid: a negative one counts as zero",
        arguments: [
            .seconds(Int64.max), .seconds(Int64.min), .seconds(-1), .zero, .nanoseconds(1), .milliseconds(50),
        ] as [Duration])
    func anyQuietTimeIsValid(_ quiet: Duration) async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        fixture.manager.startPredicting(configuration { ($0.quiet, $0.patience) = (quiet, .milliseconds(100)) })
        _ = try await fixture.manager.image(for: resource("a"))
        if quiet >= .microseconds(1) {
            await fixture.clock.waitForSleepers(2)
            fixture.clock.advance(by: 0.1)
        }
        #expect(await heardUntilPlan() == ["miss 0 in 0 by 0", "plan after 0: []"])
    }
}
