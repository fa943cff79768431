import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments
@testable import HalcyonSimulation

@Suite(.timeLimit(.minutes(20))) struct HypothesisTests {
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
        options.mostPermutations = 3
        return options
    }

    /// Policies that are quick in a debug build: one that uses categories, and one that does not.
    private func learner() throws -> HypothesisLearner {
        let catalogue = PolicyCatalogue.standard
        return HypothesisLearner(
            withCategories: try catalogue.policy("category-quota"), withoutCategories: try catalogue.policy("lru"),
            baselines: try ["lru", "belady"].map { try catalogue.policy($0) })
    }

    /// Six users, so that the own model of each also learns.
    @Test func modelsOfUsersEqualThoseOfARunWithTheSameSeed() async throws {
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
        for knowledge in Knowledge.allCases {
            options.knowledge = knowledge
            let found = try #require(
                try await Hypothesis(fields: [field], learner: learner, options: options).run().first?.arms.first)
            let run = try ReplayJob(
                policy: policy, capacity: capacity, mode: .perUser, knowledge: knowledge,
                options: ReplayOptions(warmup: .share(options.warmup), seed: options.seed)
            ).run(over: ReplayInput(trace))
            #expect(found.hitRatio == run.objectHitRatio && run.knowledge == knowledge)
            ratios.insert(found.hitRatio)
        }
        #expect(ratios.count == 2)
    }

    @Test func everyArmRunsInBothModes() async throws {
        let trace = try trace(.informative)
        let capacities = [CapacityRequest.number(20), .number(60)]
        let fields = [
            try HypothesisField(mode: .shared, trace: trace, capacities: capacities),
            try HypothesisField(mode: .perUser, trace: trace, capacities: capacities),
        ]
        let hypothesis = try Hypothesis(fields: fields, learner: learner(), options: options)
        // Two seeds with, two without, three permutations in two ways, two baselines; four cells.
        #expect(hypothesis.runCount == 48 && hypothesis.mostRunCount == 48)
        let results = try await hypothesis.run()
        #expect(results.map(\.mode) == [.shared, .shared, .perUser, .perUser])
        #expect(results.map(\.capacity) == [20, 60, 20, 60])
        for result in results {
            #expect(result.requests == 3_000)
            #expect(
                result.arms.map(\.role).prefix(3) == ["with_categories", "without_categories", "permuted_categories"])
            #expect(result.arms[2].hitRatios.count == 3 && result.arms[3].hitRatios.count == 3)
            #expect(result.arms[2].permute == .within([.popularity, .age]) && result.arms[3].permute == .uniform)
            #expect(result.permutations.map(\.permute) == [.within([.popularity, .age]), .uniform])
            #expect(result.withMinusPermuted == result.permutations[0].contrast)
            // The arm without categories and the baseline are both LRU and must have equal hit ratios.
            #expect(result.arms[1].hitRatio == result.arms[4].hitRatio)
            #expect(result.withMinusWithout.difference == result.withMinusBaselines[0].contrast.difference)
            #expect(result.arms[4].gapClosed == 0)
            #expect(result.arms[5].gapClosed == 1)
            #expect(result.resampling.units == "users")
            #expect(result.permutation.pValue >= 0.25)
            #expect(result.verdict != .supported)
        }
    }

    @Test func hitRatiosEqualThoseOfASweep() async throws {
        let trace = try trace(.informative)
        let field = try HypothesisField(mode: .shared, trace: trace, capacities: [.number(40)])
        let result = try await Hypothesis(fields: [field], learner: learner(), options: options).run()[0]
        let sweep = try Sweep(
            trace: trace, policies: ["category-quota", "lru", "belady"], capacities: ["40"],
            options: ReplayOptions(warmup: 0.25))
        let runs = await sweep.run()
        #expect(result.arms[0].hitRatio == runs[0].objectHitRatio)
        #expect(result.arms[1].hitRatio == runs[1].objectHitRatio)
        #expect(result.arms[5].hitRatio == runs[2].objectHitRatio)
    }

    /// The models of each arm are trained with its labels: each arm is the run of a job over a trace with these labels.
    @Test func modelsOfArmsAreTrainedWithTheirLabels() async throws {
        var model = BrowsingModel.informative
        model.requests = 6_000
        model.users = 12
        let trace = try model.generate(seed: 1, names: false)
        let other = try model.generate(seed: 2, names: false)
        let field = try HypothesisField(mode: .perUser, trace: trace, capacities: [.number(12)])
        var options = options
        (options.seeds, options.permutations, options.mostPermutations) = (1, 2, 2)
        options.permute = [.within([.popularity])]
        for pretraining in [Pretraining.otherUsers, .traces(["other"])] {
            var learner = try HypothesisLearner("learned(hidden=4)", baselines: ["lru", "belady"])
            learner.pretraining = pretraining
            learner.others = ["other": other]
            let result = try await Hypothesis(fields: [field], learner: learner, options: options).run()[0]
            #expect(result.pretrain == pretraining.description && result.knowledge == .device)
            #expect(result.sentence.hasSuffix(" With device knowledge and models \(pretraining.words)."))
            func ratio(_ labelled: (Trace) throws -> Trace) throws -> Double {
                var job = ReplayJob(
                    policy: learner.withCategories, capacity: .number(12), mode: .perUser,
                    options: ReplayOptions(warmup: .share(0.25), seed: 1))
                job.pretraining = pretraining
                let input = ReplayInput(try labelled(trace))
                let models = try DeviceModels(for: job, over: input, others: [labelled(other)])
                return try job.resolved(for: input).beginning(with: models).run(over: input).result.objectHitRatio
            }
            #expect(try result.arms[0].hitRatio == ratio { $0 })
            #expect(try result.arms[1].hitRatio == ratio { $0.withOneCategory() })
            let permuted = try (0..<2).map { number in
                try ratio { trace in
                    LabelPermutation(
                        within: try LabelStrata(.within([.popularity]), of: trace), objects: trace.objectCount, seed: 1,
                        number: number
                    ).applied(to: trace)
                }
            }
            #expect(result.arms[2].hitRatios == permuted && Set(permuted).count == 2)
        }
    }

    @Test func learnersWithAModelAndPrefetchingAloneAreAccepted() throws {
        #expect(try HypothesisLearner("learned(model=shipped)").withCategories.label == "learned(model=shipped)")
        let planner = try HypothesisPrefetch(
            PrefetchOptions(policy: "planner", budget: PrefetchBudget(parsing: "1/request")))
        let alone = try HypothesisLearner("lru", baselines: ["lru", "belady"], prefetch: planner)
        #expect(alone.baselines.map(\.label) == ["lru", "belady"])
        let field = try HypothesisField(mode: .perUser, trace: trace(.informative), capacities: [.number(20)])
        var learner = try HypothesisLearner("learned", baselines: ["lru"])
        learner.pretraining = .otherUsers
        var options = options
        options.knowledge = .server
        #expect(throws: ReplayError.self) { try Hypothesis(fields: [field], learner: learner, options: options) }
        learner.pretraining = nil
        learner.prefetch = planner
        learner.prefetch?.announcements = AnnouncementOptions(count: 5)
        #expect(throws: ReplayError.self) { try Hypothesis(fields: [field], learner: learner, options: options) }
        options.knowledge = .device
        _ = try Hypothesis(fields: [field], learner: learner, options: options)
    }

    @Test func numberOfThreadsChangesNothing() async throws {
        let field = try HypothesisField(mode: .shared, trace: trace(.uninformative), capacities: [.number(40)])
        let hypothesis = try Hypothesis(fields: [field], learner: learner(), options: options)
        let (one, four) = (try await hypothesis.run(workers: 1), try await hypothesis.run(workers: 4))
        #expect(try JSONReport.data(one) == JSONReport.data(four))
    }

    @Test func learnerWithoutLabelsIsTheSamePolicy() throws {
        let learner = try HypothesisLearner("learned(user=on,hidden=16)")
        #expect(learner.withCategories.label == "learned(user=on,hidden=16)")
        #expect(learner.withoutCategories.label == "learned(user=on,hidden=16)")
        #expect(throws: PolicyError.self) { try HypothesisLearner("lru") }
    }

    /// A learner with its category groups on profits from one category for all: the groups contain the user's activity
    /// and reuse. The learner without categories must have them, too; otherwise their value counts as that of labels.
    @Test func armWithoutCategoriesIsARunWithOneCategory() async throws {
        let trace = try trace(.informative)
        let capacity = CapacityRequest.number(20)
        let field = try HypothesisField(mode: .perUser, trace: trace, capacities: [capacity])
        let learner = try HypothesisLearner("learned(hidden=4)", baselines: ["lru", "belady"])
        var options = options
        options.permute = [.uniform]
        let found = try #require(
            try await Hypothesis(fields: [field], learner: learner, options: options).run().first?.arms[1])
        let single = trace.withOneCategory()
        #expect(single.objectCategories.allSatisfy { $0 == 1 } && single.categoryCount == 1)
        let ratios = try (0..<2).map { seed in
            try ReplayJob(
                policy: learner.withCategories, capacity: capacity, mode: .perUser,
                options: ReplayOptions(warmup: 0.25, seed: 1 + UInt64(seed))
            ).run(over: ReplayInput(single)).objectHitRatio
        }
        #expect(found.role == "without_categories" && found.hitRatios == ratios)
    }

    @Test func permutedLabelsVanishWithOneCategory() throws {
        let trace = try trace(.informative)
        let permuted = LabelPermutation(objects: trace.objectCount, seed: 1, number: 0).applied(to: trace)
        #expect(trace.withOneCategory().fingerprint == permuted.withOneCategory().fingerprint)
    }

    /// The learner uses labels in its category groups only.
    @Test func learnerWithoutCategoryGroupsIgnoresLabels() throws {
        let trace = try trace(.informative)
        let off = HypothesisLearner.categoryGroups.map { "\($0)=off" }.joined(separator: ",")
        let policy = try PolicyCatalogue.standard.policy("learned(\(off))")
        let permuted = LabelPermutation(objects: trace.objectCount, seed: 1, number: 0).applied(to: trace)
        let hits = try [trace, permuted, trace.withOneCategory()].map {
            try ReplayJob(policy: policy, capacity: .number(60)).run(over: ReplayInput($0)).hits
        }
        #expect(hits[0] == hits[1] && hits[0] == hits[2])
    }

    /// More permutations are run only if they can decide, and then for all cells.
    @Test func permutationsAreAddedWhileTheyCanDecide() async throws {
        let trace = try trace(.informative)
        let fields = [try HypothesisField(mode: .shared, trace: trace, capacities: [.number(20), .number(60)])]
        var options = options
        options.permute = [.uniform]
        options.permutations = 2
        options.mostPermutations = 45
        // A learner that gains nothing: no interval is above zero.
        let lru = try PolicyCatalogue.standard.policy("lru")
        let blind = HypothesisLearner(withCategories: lru, withoutCategories: lru, baselines: [lru])
        let none = try Hypothesis(fields: fields, learner: blind, options: options)
        #expect(none.runCount == 14 && none.mostRunCount == 100)
        #expect(try await none.run().allSatisfy { $0.permutation.permutations == 2 })
        // A learner that gains much, because the other form never hits: 39 permutations, of at most 45.
        let gaining = try HypothesisLearner(
            withCategories: PolicyCatalogue.standard.policy("category-quota"),
            withoutCategories: PolicyCatalogue.standard.policy("mru"), baselines: [lru])
        let progress = none.makeProgress()
        let results = try await Hypothesis(fields: fields, learner: gaining, options: options).run(
            progress: progress)
        #expect(Set(results.map(\.permutation.permutations)).count == 1)
        #expect([2, 39, 45].contains(results[0].permutation.permutations))
        #expect(progress.completed == progress.total)
    }

    @Test func estimateIsForAllReplays() throws {
        let fields = [try HypothesisField(mode: .shared, trace: trace(.informative), capacities: [.number(40)])]
        var options = options
        options.mostPermutations = 199
        let hypothesis = try Hypothesis(fields: fields, learner: learner(), options: options)
        let estimate = hypothesis.estimate(workers: 1)
        #expect(estimate.replays == hypothesis.runCount && estimate.mostReplays == hypothesis.mostRunCount)
        #expect(estimate.requests == 4_000 * hypothesis.runCount)
        #expect(estimate.seconds > 0 && estimate.mostSeconds > estimate.seconds)
        let example = HypothesisEstimate(
            replays: 94, mostReplays: 454, requests: 11_280_000, seconds: 20.2, mostSeconds: 7_200)
        #expect(
            example.sentence == "94 replays of 11,280,000 requests together, about 21 seconds; "
                + "up to 454 replays and 2.0 hours if a gain needs more permutations.")
    }

    @Test func invalidQuestionsAreRefused() throws {
        let plain = TinyTraces.scrambled(count: 500, objects: 20)
        #expect(throws: ReplayError.self) { try HypothesisField(mode: .shared, trace: plain) }
        let short = try trace(.informative).selection(limit: 100).trace
        let field = try HypothesisField(mode: .shared, trace: short)
        #expect(throws: ReplayError.self) { try Hypothesis(fields: [field], learner: learner()) }
        var options = options
        options.permutations = 1
        #expect(throws: ReplayError.self) { try Hypothesis(fields: [], learner: learner(), options: options) }
        options.permutations = 20
        options.mostPermutations = 19
        #expect(throws: ReplayError.self) { try Hypothesis(fields: [], learner: learner(), options: options) }
    }

    @Test func reportHasTheFieldsOfItsSchema() async throws {
        let trace = try trace(.informative)
        let field = try HypothesisField(mode: .shared, trace: trace, capacities: [.number(40)])
        let results = try await Hypothesis(fields: [field], learner: learner(), options: options).run()
        var report = HypothesisReport(options: options)
        report.add(results, of: TraceSummary(trace, path: "shop.csv"))
        let json = try #require(JSONSerialization.jsonObject(with: report.json()) as? [String: Any])
        #expect(json["schema"] as? String == "halcyon.hypothesis/3")
        let result = try #require((json["results"] as? [[String: Any]])?.first)
        #expect(result["trace"] as? String == "shop.csv")
        #expect(result["mode"] as? String == "shared")
        #expect(result["capacity"] as? Int == 40)
        let answers = [
            "supported", "too small to matter", "no effect beyond the margin", "harmful", "undecided",
        ]
        #expect(answers.contains(try #require(result["verdict"] as? String)))
        let verdict = try #require((json["verdicts"] as? [[String: Any]])?.first)
        #expect(verdict["trace"] as? String == "shop.csv" && verdict["holm_p_value"] is Double)
        #expect(verdict["verdict"] as? String == result["verdict"] as? String, "one cell decides alone")
        #expect(
            (json["options"] as? [String: Any])?["permute"] as? [String] == ["within=popularity,age,size", "uniform"])
        let ways = try #require(result["permutations"] as? [[String: Any]])
        #expect(ways.map { $0["permute"] as? String } == ["within=popularity,age", "uniform"])
        #expect((ways[0]["strata"] as? Int ?? 0) > 1 && (ways[0]["smallest_stratum"] as? Int ?? 0) >= 20)
        #expect((ways[0]["share_changed"] as? Double ?? 0) > 0.5)
        let difference = try #require(result["with_minus_permuted"] as? [String: Any])
        #expect(difference["difference"] is Double)
        #expect((difference["interval"] as? [String: Double])?.keys.sorted() == ["high", "low"])
        #expect(difference["family_interval"] is [String: Double])
        let text = report.table()
        #expect(text.contains(results[0].sentence) && text.contains(report.verdicts[0].sentence))
        #expect(text.contains("runs: 2 seeds with and 2 without categories\n"))
        #expect(text.contains("labels permuted within popularity and age: 3 permutations of 1 seed, p = "))
        #expect(text.contains("labels permuted uniformly: 3 permutations of 1 seed, p = "))
    }

    @Test func everyParameterIsRecorded() throws {
        let hits = StubHits(effect: 0.02)
        let evidence = try #require(hits.evidence(hits.cells(1, seed: 1), options: options).first)
        let learner = try HypothesisLearner("learned(hidden=4)", baselines: ["lru", "belady"])
        let result = try StubHits.result(evidence, learner: learner)
        for arm in result.arms.prefix(3) {
            #expect(arm.parameters == RunResult.parameters([learner.withCategories]))
            #expect(arm.parameters["hidden"] == "4" && arm.parameters["horizon"] == "0.2")
        }
    }

    @Test func severalTracesAreAdjustedByHolm() throws {
        let hits = StubHits(effect: 0.02)
        var options = options
        options.permutations = 19
        options.mostPermutations = 19
        let evidence = try #require(hits.evidence(hits.cells(1, seed: 1), options: options).first)
        let result = try StubHits.result(evidence, learner: HypothesisLearner(baselines: ["lru", "belady"]))
        var report = HypothesisReport(options: options)
        report.add([result], of: TraceSummary(StubHits.trace, path: "a.csv"))
        #expect(report.verdicts.map(\.holmPValue) == [0.05])
        report.add([result], of: TraceSummary(StubHits.trace, path: "b.csv"))
        #expect(report.verdicts.map(\.holmPValue) == [0.1, 0.1])
        #expect(report.verdicts.allSatisfy { $0.verdict == .supported && $0.pValue == 0.05 })
        let sentence =
            "p = 0.050, and 0.100 adjusted for the 2 traces (Holm), which is not significant for all of them together."
        #expect(report.table().contains(sentence))
    }
}
