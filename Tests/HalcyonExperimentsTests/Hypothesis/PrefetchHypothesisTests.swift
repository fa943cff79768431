import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTrace
import Testing

@testable import HalcyonExperiments
@testable import HalcyonSimulation

/// The test of the hypothesis with prefetching.
@Suite(.timeLimit(.minutes(20))) struct PrefetchHypothesisTests {
    private func trace(requests: Int = 1_200) throws -> Trace {
        var model = BrowsingModel.informative
        model.requests = requests
        model.users = 60
        return try model.generate(seed: 1, names: false)
    }

    private var options: HypothesisOptions {
        var options = HypothesisOptions()
        options.seeds = 1
        options.permutedSeeds = 1
        options.permutations = 2
        options.mostPermutations = 2
        options.permute = [.uniform]
        return options
    }

    private func prefetch(_ policy: String = "planner(sampling=0.5)") throws -> HypothesisPrefetch {
        try HypothesisPrefetch(
            PrefetchOptions(policy: policy, budget: PrefetchBudget(parsing: "2/request"), latency: .fixed(0)))
    }

    @Test func everyLearnerPrefetchesAndNoBaseline() async throws {
        let trace = try trace()
        let catalogue = PolicyCatalogue.standard
        let lru = try catalogue.policy("lru")
        let prefetch = try prefetch()
        let learner = HypothesisLearner(
            withCategories: lru, withoutCategories: lru, baselines: [lru, try catalogue.policy("belady")],
            prefetch: prefetch)
        var options = self.options
        options.knowledge = .server
        for mode in [ReplayMode.shared, .perUser] {
            let capacity = CapacityRequest.number(15)
            let field = try HypothesisField(mode: mode, trace: trace, capacities: [capacity])
            let found = try await Hypothesis(fields: [field], learner: learner, options: options).run()
            let result = try #require(found.first)
            func sweep(_ prefetch: PrefetchOptions?, _ trace: Trace) throws -> RunResult {
                try ReplayJob(
                    policy: lru, capacity: capacity, mode: mode, knowledge: .server,
                    options: ReplayOptions(warmup: 0.25, seed: options.seed, prefetch: prefetch)
                ).run(over: ReplayInput(trace))
            }
            let with = try sweep(prefetch.withCategories, trace)
            #expect((with.prefetch?.hitsOwed ?? 0) > 0, "\(mode)")
            #expect(result.arms[0].hitRatio == with.objectHitRatio)
            #expect(result.arms[1].hitRatio == (try sweep(prefetch.withoutCategories, trace)).objectHitRatio)
            for number in 0..<2 {
                let permuted = LabelPermutation(objects: trace.objectCount, seed: options.seed, number: number)
                let run = try sweep(prefetch.withCategories, permuted.applied(to: trace))
                #expect(result.arms[2].hitRatios[number] == run.objectHitRatio)
            }
            #expect(result.arms[3].hitRatio == (try sweep(nil, trace)).objectHitRatio)
            #expect(result.arms.map(\.prefetch) == Array(repeating: "planner(sampling=0.5)", count: 3) + [nil, nil])
            let difference = result.arms[0].hitRatio - result.arms[1].hitRatio
            #expect(abs(result.withMinusWithout.difference - difference) < 1e-12)
        }
    }

    @Test func listsAreRankedByTheLabelsOfEachArm() async throws {
        var model = ListModel()
        (model.lists, model.users, model.medianSize) = (1_500, 10, 0)
        let trace = try model.generate(seed: 2, names: false)
        let lru = try PolicyCatalogue.standard.policy("lru")
        let prefetch = try HypothesisPrefetch(
            PrefetchOptions(
                policy: "lists(model=none)", budget: PrefetchBudget(parsing: "2/list"), latency: .fixed(0)))
        let learner = HypothesisLearner(
            withCategories: lru, withoutCategories: lru,
            baselines: [lru, try PolicyCatalogue.standard.policy("belady")],
            prefetch: prefetch)
        var options = self.options
        options.knowledge = .server
        let field = try HypothesisField(mode: .perUser, trace: trace, capacities: [.number(20)])
        let result = try #require(
            try await Hypothesis(fields: [field], learner: learner, options: options).run().first)
        func hitRatio(_ prefetch: PrefetchOptions?, _ trace: Trace) throws -> Double {
            try ReplayJob(
                policy: lru, capacity: .number(20), mode: .perUser, knowledge: .server,
                options: ReplayOptions(warmup: 0.25, seed: options.seed, prefetch: prefetch)
            ).run(over: ReplayInput(trace)).objectHitRatio
        }
        #expect(result.arms[0].hitRatio == (try hitRatio(prefetch.withCategories, trace)))
        #expect(result.arms[1].hitRatio == (try hitRatio(prefetch.withoutCategories, trace)))
        for number in 0..<2 {
            let permuted = LabelPermutation(objects: trace.allObjectCount, seed: options.seed, number: number)
            #expect(
                result.arms[2].hitRatios[number] == (try hitRatio(prefetch.withCategories, permuted.applied(to: trace)))
            )
        }
        #expect(result.arms[3].hitRatio == (try hitRatio(nil, trace)))
        #expect(result.arms[0].hitRatio > result.arms[2].hitRatio + 0.02, "the feed follows tastes")
        // Belady's optimum was run, and it does not bound what is prefetched.
        #expect(result.gapReference == nil && result.gapClosed == nil)
        #expect(result.arms.allSatisfy { $0.gapClosed == nil })
    }

    @Test func plannerWithoutCategoriesIgnoresLabels() throws {
        let trace = try trace(requests: 2_000)
        let permuted = LabelPermutation(objects: trace.objectCount, seed: 1, number: 0).applied(to: trace)
        let policy = try PolicyCatalogue.standard.policy("learned(hidden=4,category=off,user=off)")
        let hits = try [trace, permuted].map { trace in
            try ReplayJob(
                policy: policy, capacity: .number(60), options: ReplayOptions(prefetch: prefetch().withoutCategories)
            ).run(over: ReplayInput(trace)).hits
        }
        #expect(hits[0] == hits[1])
    }

    @Test func learnerWithoutPrefetchingIsTheFirstBaseline() throws {
        let learner = try HypothesisLearner("learned(hidden=4)", baselines: ["lru"], prefetch: prefetch())
        #expect(learner.baselines.map(\.label) == ["learned(hidden=4)", "lru"])
        #expect(learner.prefetch?.withCategories.planner.categories == .on)
        #expect(learner.prefetch?.withoutCategories.planner.categories == .off)
        #expect(try HypothesisLearner(baselines: ["lru"]).baselines.map(\.label) == ["lru"])
    }

    @Test func policyWithoutACategoryFreeFormIsRefused() throws {
        #expect(throws: ReplayError.self) { try prefetch("category-popular") }
        #expect(throws: ReplayError.self) { try prefetch("list-affinity") }
        #expect(throws: ReplayError.self) { try prefetch("planner(categories=off)") }
    }

    /// The statistics are those of the test without prefetching; the replays are simulated.
    @Test func reportNamesThePrefetchPolicy() throws {
        let hits = StubHits(effect: 0.02)
        let evidence = try #require(hits.evidence(hits.cells(1, seed: 1), options: options).first)
        let plain = try HypothesisLearner(baselines: ["lru", "belady"])
        var fetching = plain
        fetching.prefetch = try prefetch()
        let results = try [plain, fetching].map { try StubHits.result(evidence, learner: $0) }
        #expect(results[0].sentence == results[1].sentence && results[0].verdict == results[1].verdict)
        var report = HypothesisReport(options: options)
        report.add([results[1]], of: TraceSummary(StubHits.trace, path: "shop.csv"))
        let text = report.table()
        #expect(text.contains("20 objects a user, device knowledge, planner(sampling=0.5) prefetches 2/request, "))
        #expect(text.contains("learned + planner(sampling=0.5), with categories"))
        let json = try #require(JSONSerialization.jsonObject(with: report.json()) as? [String: Any])
        let result = try #require((json["results"] as? [[String: Any]])?.first)
        let prefetch = try #require(result["prefetch"] as? [String: Any])
        #expect(prefetch["policy"] as? String == "planner(sampling=0.5)")
        #expect(prefetch["budget"] as? String == "2/request" && prefetch["fetch_latency"] as? Int == 0)
        let parameters = try #require(prefetch["parameters"] as? [String: String])
        #expect(parameters["sampling"] == "0.5" && parameters["categories"] == "on")
        // Those of visits are stated; those of lists only of a planner that plans on them.
        let unused = ["requests", "lists", "list-price", "profile", "model"]
        #expect(
            parameters.keys.sorted() == PlannerParameters.table.map(\.name).filter { !unused.contains($0) }.sorted())
        let arms = try #require(result["arms"] as? [[String: Any]])
        #expect((arms[1]["prefetch_parameters"] as? [String: String])?["categories"] == "off")
        let named = arms.map { $0["prefetch"] != nil }
        #expect(named == [true, true, true, false, false])
        var before = HypothesisReport(options: options)
        before.add([results[0]], of: TraceSummary(StubHits.trace, path: "shop.csv"))
        let untouched = String(decoding: try before.json(), as: UTF8.self)
        #expect(!untouched.contains("prefetch") && !before.table().contains("ahead"))
    }

    @Test func reportNamesTheKernels() throws {
        let hits = StubHits(effect: 0.02)
        let evidence = try #require(hits.evidence(hits.cells(1, seed: 1), options: options).first)
        func report(_ learner: String, _ planner: String? = nil) throws -> HypothesisReport {
            let learner = try HypothesisLearner(
                learner, baselines: ["lru", "belady"], prefetch: planner.map { try prefetch($0) })
            var report = HypothesisReport(options: options)
            report.add(
                [try StubHits.result(evidence, learner: learner)],
                of: TraceSummary(StubHits.trace, path: "shop.csv"))
            return report
        }
        let note = "  note: kernels: \(Kernels.system.implementation); results depend on the processor.\n"
        let portable = try report("learned", "planner")
        #expect(portable.results[0].kernels == KernelInfo(.portable))
        #expect(portable.results[0].prefetch?.kernels == KernelInfo(.portable))
        #expect(!portable.table().contains("kernels"))
        let system = try report("learned(kernels=system)")
        #expect(system.results[0].kernels == KernelInfo(.system) && system.table().contains(note))
        let planner = try report("learned", "planner(kernels=system)")
        #expect(planner.results[0].prefetch?.kernels == KernelInfo(.system) && planner.table().contains(note))
    }
}
