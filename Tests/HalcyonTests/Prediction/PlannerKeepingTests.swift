import Foundation
import Halcyon
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("What the planner has learnt is kept with the cache", .timeLimit(.minutes(20)))
struct PlannerKeepingTests {
    /// A planner that has learnt from users who go round and round.
    func learnt() throws -> PretrainedPlanner {
        var parameters = PlannerParameters()
        parameters.sampling = 1
        let planner = PrefetchPlanner(parameters)
        var plan = PrefetchPlan()
        for request in 0..<20_000 {
            let access = Access(
                entry: EntryID(request % 50), requestNumber: request, time: Int64(request) * 1_000_000,
                user: UInt32(request / 7 % 4))
            planner.note(access, isHit: false)
            planner.plan(after: access, outlook: PrefetchOutlook(limit: 2, room: .max) { _ in false }, into: &plan)
            if request > 200, let learnt = planner.snapshot(producer: "test") { return learnt }
        }
        return try #require(planner.snapshot(producer: "test"))
    }

    /// What a live cache keeps that started from that and learnt nothing more.
    private func kept(_ learnt: PretrainedPlanner) throws -> PretrainedPlanner {
        try #require(PrefetchPlanner(learnt).snapshot(producer: Halcyon.version))
    }

    private func steps(_ predictive: PredictivePrefetcher) async -> Double? {
        await predictive.metrics.first { $0.name == "planner_steps" }?.value
    }

    private func file(_ fixture: ManagerFixture) throws -> PlannerFile {
        PlannerFile(folder: try #require(fixture.cache.diskStorage).files.folder.hidden)
    }

    @Test("It is read when predicting begins, and written when the app goes to the background and when predicting ends")
    func kept() async throws {
        let learnt = try learnt()
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let file = try file(fixture)
        try file.write(learnt)
        let predictive = fixture.manager.startPredicting()
        await predictive.settle()
        let expected = try kept(learnt)
        #expect(await steps(predictive) == Double(expected.trainingSteps))
        for end in [{ await fixture.cache.enterBackground() }, { await predictive.stop() }] {
            try FileManager.default.removeItem(atPath: file.path)
            await end()
            #expect(try file.read() == expected)
        }
        await fixture.cache.clear()
        #expect(try file.read() != nil)
        #expect(await predictive.statistics.modelFaults == 0)
        #expect(await predictive.modelFault == nil)
    }

    @Test("What one has learnt the next begins with, however soon it is started")
    func handedOver() async throws {
        let learnt = try learnt()
        let expected = Double(try kept(learnt).trainingSteps)
        for _ in 0..<10 {
            let fixture = try ManagerFixture(FakeTransport())
            var configuration = PrefetchConfiguration()
            configuration.pretrained = learnt
            #expect(await steps(fixture.manager.startPredicting(configuration)) == expected)
            fixture.manager.stopPredicting()
            fixture.manager.startPredicting()
            #expect(await steps(fixture.manager.startPredicting()) == expected)
        }
    }

    @Test("A trigger's end of the app writes it before it calls back")
    func trigger() async throws {
        let trigger = ManualTrigger()
        let fixture = try ManagerFixture(FakeTransport(), triggers: [trigger])
        let file = try file(fixture)
        var configuration = PrefetchConfiguration()
        let learnt = try learnt()
        configuration.pretrained = learnt
        let predictive = fixture.manager.startPredicting(configuration)
        await trigger.enterBackground()
        #expect(try file.read() == kept(learnt))
        #expect(await predictive.statistics.modelFaults == 0)
    }

    @Test("A damaged file is counted and told in one sentence, and predicting goes on without it")
    func damaged() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let file = try file(fixture)
        try Data("no model".utf8).write(to: URL(fileURLWithPath: file.path))
        let predictive = fixture.manager.startPredicting()
        _ = try await fixture.manager.image(for: Resource(fake("a"), cacheKey: "a"))
        await predictive.settle()
        #expect(await predictive.statistics.accesses == 1)
        #expect(await predictive.statistics.modelFaults == 1)
        let fault = try #require(await predictive.modelFault)
        #expect(fault.hasPrefix(file.path) && fault.hasSuffix("."))
    }

    @Test("It is kept only where that is wanted")
    func notKept() async throws {
        let fixture = try ManagerFixture(FakeTransport())
        var configuration = PrefetchConfiguration()
        let learnt = try learnt()
        (configuration.keepsModel, configuration.pretrained) = (false, learnt)
        let predictive = fixture.manager.startPredicting(configuration)
        await predictive.save()
        let expected = try kept(learnt)
        #expect(await steps(predictive) == Double(expected.trainingSteps))
        #expect(try file(fixture).read() == nil)
    }
}
