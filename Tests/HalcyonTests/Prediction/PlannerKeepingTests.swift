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

@Suite("The planner's model is kept with the cache", .timeLimit(.minutes(20)))
struct PlannerKeepingTests {
    /// Returns a planner that has learned from users with cyclic requests.
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

    /// Returns the model that a live cache keeps if it started from `learnt` and learned nothing more.
    private func kept(_ learnt: PretrainedPlanner) throws -> PretrainedPlanner {
        try #require(PrefetchPlanner(learnt).snapshot(producer: Halcyon.version))
    }

    private func steps(_ predictive: LivePrefetcher) async -> Double? {
        await predictive.metrics.first { $0.name == "planner_steps" }?.value
    }

    private func folder(_ fixture: ManagerFixture) throws -> URL {
        try #require(fixture.cache.diskStorage).folder.hidden
    }

    @Test("The model is read at the start and written in the background and at the end")
    func modelIsReadAtStartAndWrittenAtEnd() async throws {
        let learnt = try learnt()
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let folder = try folder(fixture)
        try learnt.keep(in: folder)
        let predictive = fixture.manager.startPredicting()
        await predictive.settle()
        let expected = try kept(learnt)
        #expect(await steps(predictive) == Double(expected.trainingSteps))
        for end in [{ await fixture.cache.enterBackground() }, { await predictive.stop() }] {
            try FileManager.default.removeItem(atPath: PretrainedPlanner.path(in: folder))
            await end()
            #expect(try PretrainedPlanner.kept(in: folder) == expected)
        }
        await fixture.cache.clear()
        #expect(try PretrainedPlanner.kept(in: folder) != nil)
        #expect(await predictive.statistics.modelFaults == 0)
        #expect(await predictive.modelFault == nil)
    }

    @Test("The next predictor starts with the model of the last one, however soon it starts")
    func nextPredictorStartsWithLearnedModel() async throws {
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

    @Test("A background trigger writes the model before its callback")
    func backgroundTriggerWritesModel() async throws {
        let trigger = ManualTrigger()
        let fixture = try ManagerFixture(FakeTransport(), triggers: [trigger])
        let folder = try folder(fixture)
        var configuration = PrefetchConfiguration()
        let learnt = try learnt()
        configuration.pretrained = learnt
        let predictive = fixture.manager.startPredicting(configuration)
        await trigger.enterBackground()
        #expect(try PretrainedPlanner.kept(in: folder) == kept(learnt))
        #expect(await predictive.statistics.modelFaults == 0)
    }

    @Test(
        "A kept model that is damaged or of another result version is counted and described in one sentence, and the default is used",
        arguments: [false, true])
    func unusableKeptModelIsCounted(isDamaged: Bool) async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let folder = try folder(fixture)
        let learnt = try learnt()
        var file = try SafeTensors(parsing: learnt.data())
        file.metadata["result_version"] = "\(Halcyon.resultVersion - 1)"
        try (isDamaged ? Data("no model".utf8) : file.data())
            .write(to: URL(fileURLWithPath: PretrainedPlanner.path(in: folder)))
        var configuration = PrefetchConfiguration()
        configuration.pretrained = learnt
        let predictive = fixture.manager.startPredicting(configuration)
        #expect(await steps(predictive) == Double(try kept(learnt).trainingSteps))
        _ = try await fixture.manager.image(for: Resource(fake("a"), cacheKey: "a"))
        await predictive.settle()
        #expect(await predictive.statistics.accesses == 1)
        #expect(await predictive.statistics.modelFaults == 1)
        let fault = try #require(await predictive.modelFault)
        #expect(fault.hasPrefix(PretrainedPlanner.path(in: folder)) && fault.hasSuffix(".") && !fault.contains("\n"))
        #expect(fault.contains(isDamaged ? "safetensors" : "result version \(Halcyon.resultVersion - 1)"))
    }

    @Test("The model is not written if keepsModel is off")
    func modelIsNotKeptIfDisabled() async throws {
        let fixture = try ManagerFixture(FakeTransport())
        var configuration = PrefetchConfiguration()
        let learnt = try learnt()
        (configuration.keepsModel, configuration.pretrained) = (false, learnt)
        let predictive = fixture.manager.startPredicting(configuration)
        await predictive.save()
        let expected = try kept(learnt)
        #expect(await steps(predictive) == Double(expected.trainingSteps))
        #expect(try PretrainedPlanner.kept(in: folder(fixture)) == nil)
    }
}
