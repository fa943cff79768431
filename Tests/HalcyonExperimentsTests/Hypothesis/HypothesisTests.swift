import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments
@testable import HalcyonSimulation

@Suite struct HypothesisTests {
    private func trace(_ model: BrowsingModel) throws -> Trace {
        var model = model
        model.requests = 4_000
        model.users = 60
        return try model.generate(seed: 1, names: false)
    }

    private var options: HypothesisOptions {
        var options = HypothesisOptions()
        options.seeds = 2
        options.permutedSeeds = 1
        options.permutations = 3
        options.resamples = 200
        return options
    }

    /// Policies that are quick in a debug build: one that heeds categories, and one that does not.
    private func learner() throws -> HypothesisLearner {
        let catalogue = PolicyCatalogue.standard
        return HypothesisLearner(
            withCategories: try catalogue.policy("category-quota"), withoutCategories: try catalogue.policy("lru"),
            baselines: try ["lru", "belady"].map { try catalogue.policy($0) })
    }

    /// Six users, so that a model of each one's own learns something, too.
    @Test func usersModelsAreThoseOfARunWithTheSameSeed() async throws {
        var model = BrowsingModel.informative
        model.requests = 6_000
        model.users = 6
        let trace = try model.generate(seed: 1, names: false)
        let policy = try PolicyCatalogue.standard.policy("learned(hidden=4)")
        let learner = HypothesisLearner(withCategories: policy, withoutCategories: policy, baselines: [])
        let capacity = CapacityRequest.number(30)
        let field = try HypothesisField(mode: .perUser, trace: trace, capacities: [capacity])
        var options = options
        options.seeds = 1
        options.seed = 2
        options.permutations = 2
        var ratios: Set<Double> = []
        for models in ModelSharing.allCases {
            options.models = models
            let found = try #require(
                await Hypothesis(fields: [field], learner: learner, options: options).run().first?.arms.first)
            let run = try ReplayJob(
                policy: policy, capacity: capacity, mode: .perUser, models: models,
                options: ReplayOptions(warmup: options.warmup, seed: options.seed)
            ).run(over: ReplayInput(trace))
            #expect(found.hitRatio == run.objectHitRatio && run.models == models)
            ratios.insert(found.hitRatio)
        }
        #expect(ratios.count == 3)
    }

    @Test func runsEveryArmInBothModes() async throws {
        let trace = try trace(.informative)
        let capacities = [CapacityRequest.number(20), .number(60)]
        let fields = [
            try HypothesisField(mode: .shared, trace: trace, capacities: capacities),
            try HypothesisField(mode: .perUser, trace: trace, capacities: capacities),
        ]
        let hypothesis = try Hypothesis(fields: fields, learner: learner(), options: options)
        // Two seeds with, two without, three permutations, two baselines; four cells.
        #expect(hypothesis.runCount == 36)
        let results = await hypothesis.run()
        #expect(results.map(\.mode) == [.shared, .shared, .perUser, .perUser])
        #expect(results.map(\.capacity) == [20, 60, 20, 60])
        for result in results {
            #expect(result.requests == 3_000)
            #expect(
                result.arms.map(\.role).prefix(3) == ["with_categories", "without_categories", "permuted_categories"])
            #expect(result.arms[2].hitRatios.count == 3)
            // The arm without categories and the baseline are both LRU, and must have been run alike.
            #expect(result.arms[1].hitRatio == result.arms[3].hitRatio)
            #expect(result.withMinusWithout.difference == result.withMinusBaselines[0].contrast.difference)
            #expect(result.arms[3].gapClosed == 0)
            #expect(result.arms[4].gapClosed == 1)
            #expect(result.resampling.units == "users")
            #expect(result.permutation.pValue >= 0.25)
            #expect(result.verdict != .supported)
        }
    }

    @Test func hitRatiosAreThoseOfASweep() async throws {
        let trace = try trace(.informative)
        let field = try HypothesisField(mode: .shared, trace: trace, capacities: [.number(40)])
        let result = await (try Hypothesis(fields: [field], learner: learner(), options: options)).run()[0]
        let sweep = try Sweep(
            trace: trace, policies: ["category-quota", "lru", "belady"], capacities: ["40"],
            options: ReplayOptions(warmup: 0.25))
        let runs = await sweep.run()
        #expect(result.arms[0].hitRatio == runs[0].objectHitRatio)
        #expect(result.arms[1].hitRatio == runs[1].objectHitRatio)
        #expect(result.arms[4].hitRatio == runs[2].objectHitRatio)
    }

    @Test func threadsChangeNothing() async throws {
        let field = try HypothesisField(mode: .shared, trace: trace(.uninformative), capacities: [.number(40)])
        let hypothesis = try Hypothesis(fields: [field], learner: learner(), options: options)
        let (one, four) = (await hypothesis.run(workers: 1), await hypothesis.run(workers: 4))
        #expect(try JSONReport.data(one) == JSONReport.data(four))
    }

    @Test func theLearnersOtherFormHasNoCategoryGroup() throws {
        let learner = try HypothesisLearner("learned(user=on,hidden=16)")
        #expect(learner.withCategories.label == "learned(user=on,hidden=16)")
        #expect(learner.withoutCategories.label == "learned(hidden=16,category=off,user=off,session=off)")
        #expect(throws: PolicyError.self) { try HypothesisLearner("lru") }
    }

    @Test func withoutItsGroupsTheLearnerIsBlindToLabels() throws {
        let trace = try trace(.informative)
        let without = try HypothesisLearner().withoutCategories
        let permuted = LabelPermutation(objects: trace.objectCount, seed: 1, number: 0).applied(to: trace)
        let hits = try [trace, permuted].map {
            try ReplayJob(policy: without, capacity: .number(60)).run(over: ReplayInput($0)).hits
        }
        #expect(hits[0] == hits[1])
    }

    @Test func whatCannotBeAskedIsSaid() throws {
        let plain = TinyTraces.scrambled(count: 500, objects: 20)
        #expect(throws: ReplayError.self) { try HypothesisField(mode: .shared, trace: plain) }
        let short = try trace(.informative).selection(limit: 100).trace
        let field = try HypothesisField(mode: .shared, trace: short)
        #expect(throws: ReplayError.self) { try Hypothesis(fields: [field], learner: learner()) }
        var options = options
        options.permutations = 1
        #expect(throws: ReplayError.self) { try Hypothesis(fields: [], learner: learner(), options: options) }
    }

    @Test func theReportIsTheInterface() async throws {
        let trace = try trace(.informative)
        let field = try HypothesisField(mode: .shared, trace: trace, capacities: [.number(40)])
        let results = await (try Hypothesis(fields: [field], learner: learner(), options: options)).run()
        var report = HypothesisReport(options: options)
        report.add(results, of: TraceSummary(trace, path: "shop.csv"))
        let json = try #require(JSONSerialization.jsonObject(with: report.json()) as? [String: Any])
        #expect(json["schema"] as? String == "halcyon.hypothesis/2")
        let result = try #require((json["results"] as? [[String: Any]])?.first)
        #expect(result["trace"] as? String == "shop.csv")
        #expect(result["mode"] as? String == "shared")
        #expect(result["capacity"] as? Int == 40)
        #expect(["supported", "not supported", "undecided"].contains(try #require(result["verdict"] as? String)))
        let difference = try #require(result["with_minus_permuted"] as? [String: Any])
        #expect(difference["difference"] is Double)
        #expect((difference["interval"] as? [String: Double])?.keys.sorted() == ["high", "low"])
        #expect(difference["family_interval"] is [String: Double])
        #expect(report.table().contains(results[0].sentence))
    }
}
