import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Serving a trained model", .timeLimit(.minutes(20)))
struct PretrainedServingTests {
    /// Half of the requests go to 300 objects that stay popular, half to objects that are never requested again.
    private func accesses(_ count: Int, seed: UInt64) -> [Access] {
        var random = SplitMix64(seed: seed)
        return (0..<count).map { index in
            let popular = random.next(below: 2) == 0
            return Access(
                entry: popular ? EntryID(random.next(below: 300)) : EntryID(300 + index), requestNumber: index,
                time: Int64(index) * 1_000_000, categories: popular ? 1 : 2, user: UInt32(random.next(below: 5)))
        }
    }

    private func defineCategories(_ cache: AnyCache) {
        for set in UInt32(1)...2 { cache.define(categorySet: set, members: [set - 1]) }
    }

    private func trained(_ parameters: LearnedParameters = LearnedParameters()) throws -> PretrainedModel {
        let context = PolicyContext(capacity: 150, usesUniformSizes: true, seed: 1)
        let model = LearnedModel(parameters, seed: context.seed)
        let cache = model.makeCache(parameters, context: context)
        defineCategories(cache)
        for access in accesses(12_000, seed: 1) { _ = cache.access(access) }
        return try #require(model.snapshot(parameters, producer: "test"))
    }

    private func hits(_ policy: ConfiguredPolicy, _ accesses: [Access]) -> (hits: Int, state: CacheState) {
        let cache = policy.makeCache(PolicyContext(capacity: 150, usesUniformSizes: true, seed: 3))
        defineCategories(cache)
        return (accesses.count { cache.access($0) == .hit }, cache.state)
    }

    @Test(
        "A trained model gives more hits in the first 2,000 requests of other traces",
        arguments: PretrainedModel.Mode.allCases)
    func trainedModelGivesMoreHitsAtTheStart(mode: PretrainedModel.Mode) throws {
        let model = try trained()
        let (none, policy) = (
            try PolicyCatalogue.standard.policy("learned"),
            try PolicyCatalogue.standard.serving(model, mode: mode).policy("learned")
        )
        for seed in UInt64(2)...4 {
            let accesses = accesses(2_000, seed: seed)
            let without = hits(none, accesses).hits
            let (with, state) = hits(policy, accesses)
            #expect(with > without, "\(with) hits, \(without) without a model")
            let steps = state.metrics.first { $0.name == "training_steps" }?.value
            #expect((steps == Double(min(model.trainingSteps, 1_000))) == (mode == .frozen))
            #expect(hits(policy, accesses).hits == with, "the same seed gives the same decisions")
        }
    }

    @Test("A frozen model is unchanged after use, also when read from a file")
    func frozenModelIsUnchangedAfterUse() throws {
        let model = try PretrainedModel(parsing: trained().data())
        let parameters = LearnedParameters(serving: model, mode: .frozen)
        let context = PolicyContext(capacity: 150, seed: 5)
        let frozen = LearnedModel(parameters, seed: context.seed)
        let cache = frozen.makeCache(parameters, context: context)
        for access in accesses(5_000, seed: 6) { _ = cache.access(access) }
        #expect(frozen.snapshot(parameters, producer: "test")?.weights == model.weights)
    }

    @Test("Another objective resets the prices of a model, but not prices that are given")
    func anotherObjectiveResetsThePricesOfAModel() throws {
        var parameters = LearnedParameters()
        (parameters.objective, parameters.perMiss, parameters.perByte) = (.cost, 0, 1)
        let catalogue = PolicyCatalogue.standard.serving(try trained(parameters), mode: .continuing)
        func prices(_ policy: String) throws -> [String] {
            let values = try catalogue.policy(policy).parameters
            return ["objective", "per-miss", "per-byte"].compactMap { name in values.first { $0.name == name }?.value }
        }
        #expect(try prices("learned") == ["cost", "0.0", "1.0"])
        #expect(try prices("learned(objective=cost)") == ["cost", "0.0", "1.0"])
        #expect(try prices("learned(per-miss=3)") == ["cost", "3.0", "1.0"])
        for objective in ["objects", "bytes"] {
            #expect(try prices("learned(objective=\(objective))") == [objective, "1.0", "0.0"])
            for asked in ["objective=\(objective),per-byte=1", "per-miss=0,objective=\(objective)"] {
                #expect(throws: PolicyError.self) { try catalogue.policy("learned(\(asked))") }
            }
        }
    }

    @Test("There is no snapshot of an untrained model")
    func untrainedModelHasNoSnapshot() {
        let model = LearnedModel(LearnedParameters(), seed: PolicyContext(capacity: 10).seed)
        #expect(model.snapshot(LearnedParameters(), producer: "test") == nil)
    }
}
