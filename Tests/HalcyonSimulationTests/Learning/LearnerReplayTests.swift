import HalcyonEviction
import HalcyonTrace
import Testing

@testable import HalcyonLearning
@testable import HalcyonSimulation

/// `replay explain` and `replay train` run the learner of `replay --policy learned`.
@Suite("Replays of the learner", .timeLimit(.minutes(20)))
struct LearnerReplayTests {
    /// A trace, a capacity and a kind of caches.
    struct Case: CustomTestStringConvertible {
        let name: String
        let mode: ReplayMode
        let capacity: String
        let trace: @Sendable () throws -> Trace
        var testDescription: String { "\(name), \(mode.rawValue), \(capacity)" }
    }

    static let cases = [
        Case(name: "loop", mode: .shared, capacity: "10%") { try LoopModel.block.generate(seed: 1, names: false) },
        Case(name: "two loops", mode: .shared, capacity: "5%") {
            try LoopModel.keyValue.generate(seed: 2, names: false)
        },
        Case(name: "shop", mode: .shared, capacity: "5%") { try browsing(.shop) },
        Case(name: "feed, in bytes", mode: .shared, capacity: "5%") { try browsing(.feed) },
        Case(name: "shop", mode: .perUser, capacity: "20") { try browsing(.shop) },
        Case(name: "feed, in bytes", mode: .perUser, capacity: "2MB") { try browsing(.feed) },
    ]

    private static func browsing(_ model: BrowsingModel) throws -> Trace {
        var model = model
        model.requests = 12_000
        model.users = 40
        return try model.generate(seed: 3, names: false)
    }

    private static let ofLists = [ReplayMode.shared, .perUser].map { mode in
        Case(name: "lists", mode: mode, capacity: mode == .shared ? "5%" : "1MB") {
            var model = ListModel()
            (model.lists, model.users) = (12_000, 20)
            return try model.generate(seed: 3, names: false)
        }
    }

    @Test("Explaining and training hit as often as the run", arguments: cases + ofLists)
    func explainingAndTrainingHitAsOftenAsTheRun(_ given: Case) throws {
        let trace = try given.trace()
        let capacity = try CapacityRequest(parsing: given.capacity)
        let job = ReplayJob(
            policy: try PolicyCatalogue.standard.policy("learned"), capacity: capacity, mode: given.mode,
            knowledge: .server)
        let run = try job.run(over: ReplayInput(trace))
        let replay = try LearnerReplay(trace: trace, capacity: capacity, mode: given.mode)
        let training = try replay.train()
        let explained = try replay.explain(path: "")
        let watched = try replay.explain(victim: 100, path: "")
        for other in [training.run, explained.run, watched.run] {
            #expect(other.hits == run.hits && other.evictions == run.evictions && other.metrics == run.metrics)
            #expect(other.windows == run.windows && other.admissionsRefused == run.admissionsRefused)
        }
        #expect(run.hits > 0 && run.metrics["training_steps", default: 0] >= 60)
        // What lists showed is an input where there are lists, and the file of the model says so.
        let hasLists = trace.lists != nil
        #expect(training.model.featureGroups.contains("shown") == hasLists)
        #expect(explained.explanation.groups.map(\.name).contains("shown") == hasLists)
    }

    /// The model of caches that this test makes and serves itself, by the initializers that any owner of a cache calls.
    @Test("The trained model is that of plain caches, byte for byte", arguments: cases)
    func trainedModelIsThatOfPlainCaches(_ given: Case) throws {
        let trace = try given.trace()
        let capacity = try CapacityRequest(parsing: given.capacity)
        let training = try LearnerReplay(trace: trace, capacity: capacity, mode: given.mode).train()
        let parameters = LearnedParameters()
        let isSized = trace.sizeUnit == .bytes
        var context = PolicyContext(
            capacity: try capacity.resolved(unit: trace.sizeUnit, distinct: Int(trace.distinctSize)),
            usesUniformSizes: !isSized, seed: 1)
        let model: LearnedModel
        var caches: [AnyCache] = []
        switch given.mode {
        case .shared:
            let policy = LearnedPolicy(parameters, context: context)
            model = policy.model
            caches.append(LearnedPolicy.makeCache(policy, context: context, times: nil))
        case .perUser:
            model = LearnedModel(parameters, seed: 1)
            for user in 0..<trace.userCount {
                context.seed = 1 + UInt64(user)
                caches.append(model.makeCache(parameters, context: context))
            }
        }
        var requests = [Int](repeating: 0, count: caches.count)
        var isDefined: Set<CategorySetID> = []
        var hits = 0
        for index in 0..<trace.count {
            let place = given.mode == .shared ? 0 : Int(trace.user(ofRequest: index))
            let set = trace.categorySet(ofRequest: index)
            if set != 0, isDefined.insert(set).inserted {
                caches[place].define(categorySet: set, members: Array(trace.categorySets[set]))
            }
            let access = Access(
                entry: trace.entries[index], requestNumber: requests[place], time: trace.times[index],
                size: isSized ? Int(trace.size(ofRequest: index)) : 1, categories: set,
                user: trace.hasUsers ? trace.user(ofRequest: index) : .max)
            requests[place] += 1
            if caches[place].access(access).isHit { hits += 1 }
        }
        #expect(hits == training.run.hits)
        let plain = try #require(model.snapshot(parameters, producer: Halcyon.version))
        #expect(try plain.data() == training.model.data())
    }
}
