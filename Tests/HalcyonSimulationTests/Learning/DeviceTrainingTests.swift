import HalcyonEviction
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
        _ traces: [Trace], capacities: [String] = ["20", "60"], steps: Int = 300, seed: UInt64 = 1
    ) throws -> DeviceTraining {
        try DeviceTraining(
            traces: traces, parameters: parameters, capacities: try capacities.map(CapacityRequest.init(parsing:)),
            steps: steps, seed: seed)
    }

    @Test("The same users, options and seed give the same model, and another seed gives another")
    func sameOptionsGiveTheSameModel() throws {
        let traces = [try Self.shop(seed: 1), try Self.shop(seed: 2)]
        let model = try Self.training(traces).train()
        #expect(model.trainingSteps >= 300 && model.featureGroups.contains("workload"))
        #expect(try Self.training(traces).train() == model)
        #expect(try Self.training(traces, seed: 2).train() != model)
    }

    @Test("A model trained on users of one shop gains on other users, beside one that begins with nothing")
    func modelGainsOnOtherUsers() throws {
        let model = try Self.training([try Self.shop(seed: 1)], capacities: ["20"], steps: 2_000).train()
        let others = ReplayInput(try Self.shop(seed: 9))
        func hits(_ policy: ConfiguredPolicy) throws -> Int {
            try ReplayJob(policy: policy, capacity: try CapacityRequest(parsing: "20"), mode: .perUser)
                .run(over: others).hits
        }
        let given = PolicyCatalogue.standard.serving(model, mode: .continuing)
        #expect(try hits(try given.policy("learned")) > hits(try PolicyCatalogue.standard.policy("learned")))
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
            ("give 60 to 10000000", { try Self.training([trace], steps: 59) }),
            ("holds nothing", { try Self.training([trace], capacities: ["20", "0"]) }),
        ] as [(String, () throws -> DeviceTraining)] {
            let error = #expect(throws: ReplayError.self) { try make() }
            #expect(error.map { "\($0)".contains(words) } == true, "\(String(describing: error))")
        }
        let short = try Self.training([tiny])
        let error = #expect(throws: ReplayError.self) { try short.train() }
        #expect(error.map { "\($0)".contains("too little to learn from") } == true)
    }
}
