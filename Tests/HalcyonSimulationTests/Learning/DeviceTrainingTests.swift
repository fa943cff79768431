import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace
import Testing

@testable import HalcyonLearning
@testable import HalcyonSimulation

@Suite("Training on devices", .timeLimit(.minutes(20)))
struct DeviceTrainingTests {
    private static func shop(seed: UInt64) throws -> Trace {
        var model = BrowsingModel.shop
        (model.requests, model.users) = (12_000, 40)
        return try model.generate(seed: seed, names: false)
    }

    private static var parameters: LearnedParameters {
        var parameters = LearnedParameters()
        parameters.workload = .on
        return parameters
    }

    private static func training(
        _ traces: [Trace], capacities: [String] = ["20", "60"], seed: UInt64 = 1
    ) throws -> DeviceTraining {
        try DeviceTraining(
            traces: traces, parameters: parameters, capacities: try capacities.map(CapacityRequest.init(parsing:)),
            seed: seed)
    }

    @Test("The same users, options and seed give the same model, and another seed gives another")
    func sameOptionsGiveTheSameModel() throws {
        let traces = [try Self.shop(seed: 1), try Self.shop(seed: 2)]
        let model = try Self.training(traces).train(steps: 300)
        #expect(model.trainingSteps >= 300 && model.featureGroups.contains("workload"))
        #expect(try Self.training(traces).train(steps: 300) == model)
        #expect(try Self.training(traces, seed: 2).train(steps: 300) != model)
    }

    @Test("A model trained on users of one shop gains on other users, beside one that begins with nothing")
    func modelGainsOnOtherUsers() throws {
        let model = try Self.training([try Self.shop(seed: 1)], capacities: ["20"]).train(steps: 2_000)
        let others = ReplayInput(try Self.shop(seed: 9))
        func hits(_ policy: ConfiguredPolicy) throws -> Int {
            try ReplayJob(policy: policy, capacity: try CapacityRequest(parsing: "20"), mode: .perUser)
                .run(over: others).hits
        }
        let given = PolicyCatalogue.standard.serving(model, mode: .continuing)
        #expect(
            try hits(try given.policy("learned")) > hits(try PolicyCatalogue.standard.policy("learned(model=none)")))
    }

    @Test("A planner trained on some devices plans from the second visit on others, which learn too little alone")
    func plannerPlansOnOtherDevices() throws {
        let prefetch = try PrefetchOptions(
            policy: "planner(visits=on)", budget: PrefetchBudget(parsing: "2/request"), latency: .fixed(1_000_000))
        let training = try Self.training([Self.weekly(users: 40, firstUser: 0)], capacities: ["20"])
        let planner = try training.trainPlanner(prefetch)
        #expect(try planner == training.trainPlanner(prefetch))
        let others = ReplayInput(Self.weekly(users: 10, firstUser: 40))
        func run(_ start: PretrainedPlanner?) throws -> RunResult {
            var options = ReplayOptions(prefetch: prefetch)
            options.prefetch?.pretrained = start
            return try ReplayJob(
                policy: PolicyCatalogue.standard.policy("lru"), capacity: CapacityRequest(parsing: "20"),
                mode: .perUser,
                options: options
            ).run(over: others)
        }
        let (alone, shipped) = (try run(nil), try run(planner))
        #expect(alone.prefetch?.objectHitRatioWithout == shipped.prefetch?.objectHitRatioWithout)
        #expect(shipped.hits > alone.hits + 500, "\(alone.hits), \(shipped.hits)")
    }

    /// Users with two lists of 20 objects of their own, each requested in turn once a week for 12 weeks.
    private static func weekly(users: Int, firstUser: Int) -> Trace {
        let requests = (0..<12).flatMap { week in
            (0..<users).flatMap { user in
                (0..<20).map { place in
                    let list = (firstUser + user) * 40 + week % 2 * 20 + place
                    return (user: user, object: list, time: Int64(week * 604_800 + user * 3_600 + place * 20))
                }
            }
        }
        let count = (firstUser + users) * 40
        var names = TraceNames()
        for object in 0..<count { names.keys.append("\(object)") }
        return Trace(
            entries: requests.map { UInt32($0.object) }, times: TimeColumn(requests.map { $0.time * 1_000_000 }),
            users: requests.map { UInt32($0.user) }, objectSizes: Array(repeating: 1, count: count), userCount: users,
            sizeUnit: .objects, names: names)
    }

    @Test("What cannot train a model is refused in one sentence")
    func whatCannotTrainIsRefused() throws {
        let trace = try Self.shop(seed: 1)
        var nobody = BrowsingModel.shop
        (nobody.requests, nobody.users, nobody.concurrentSessions) = (12, 1, 1)
        let tiny = try nobody.generate(seed: 1, names: false)
        for (words, make) in [
            ("at least one trace", { try Self.training([]) }),
            ("at least one capacity", { try Self.training([trace], capacities: []) }),
            ("holds nothing", { try Self.training([trace], capacities: ["20", "0"]) }),
        ] as [(String, () throws -> DeviceTraining)] {
            let error = #expect(throws: ReplayError.self) { try make() }
            #expect(error.map { "\($0)".contains(words) } == true, "\(String(describing: error))")
        }
        let (short, budget) = (try Self.training([tiny]), try PrefetchBudget(parsing: "2/request"))
        for (words, train) in [
            ("give 60 to 10000000", { _ = try Self.training([trace]).train(steps: 59) }),
            ("too little to learn from", { _ = try short.train(steps: 300) }),
            (
                "too little to learn from",
                { _ = try short.trainPlanner(PrefetchOptions(policy: "planner", budget: budget)) }
            ),
            (
                "markov has no model to train",
                { _ = try short.trainPlanner(PrefetchOptions(policy: "markov", budget: budget)) }
            ),
        ] as [(String, () throws -> Void)] {
            let error = #expect(throws: ReplayError.self) { try train() }
            #expect(error.map { "\($0)".contains(words) } == true, "\(String(describing: error))")
        }
    }
}
