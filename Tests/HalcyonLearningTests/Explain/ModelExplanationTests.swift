import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("What a model's judgement rests on")
struct ModelExplanationTests {
    private struct Observed {
        let explanation: ModelExplanation
        let outcomes: [AccessOutcome]
    }

    /// Half of the requests go to 300 objects that stay popular, half to objects that are never asked for again.
    private func accesses(_ count: Int) -> [Access] {
        var random = SplitMix64(seed: 1)
        return (0..<count).map { index in
            let popular = random.next(below: 2) == 0
            return Access(
                entry: popular ? EntryID(random.next(below: 300)) : EntryID(300 + index), requestNumber: index,
                time: Int64(index) * 1_000_000, categories: popular ? 1 : 2, user: UInt32(random.next(below: 5)))
        }
    }

    private func explain(_ settings: String, victim: Int = 0) throws -> Observed {
        let spec = try PolicySpec(parsing: settings)
        let parameters = try LearnedParameters().applying(spec.settings, policy: spec.name)
        let context = PolicyContext(capacity: 250, seed: 1)
        let model = LearnedModel(parameters, seed: context.seed)
        model.observe(bound: 600, victim: victim, seed: 1)
        let cache = model.makeCache(parameters, context: context)
        cache.define(categorySet: 1, members: [0])
        cache.define(categorySet: 2, members: [1])
        let outcomes = accesses(8_000).map { cache.access($0) }
        return Observed(
            explanation: try #require(model.explanation(parameters, victim: victim, seed: 1)), outcomes: outcomes)
    }

    @Test("The category, which tells all, is worth the most of the groups that are on; size, always the same, nothing")
    func groups() throws {
        let explanation = try explain(
            "learned(horizon=1,recency=off,frequency=off,popularity=off,time=off,activity=off)"
        )
        .explanation
        #expect(explanation.groups.map(\.name) == ["size", "category", "user", "session"])
        let worth = Dictionary(uniqueKeysWithValues: explanation.groups.map { ($0.name, $0) })
        let category = try #require(worth["category"])
        let size = try #require(worth["size"])
        #expect(category.lossIncrease.low > 0 && category.areaDrop.low > 0)
        #expect(explanation.groups.allSatisfy { $0.lossIncrease.value <= category.lossIncrease.value })
        #expect(size.lossIncrease == ModelExplanation.Estimate(value: 0, low: 0, high: 0))
        for group in explanation.groups {
            #expect(group.lossIncrease.low <= group.lossIncrease.high && group.areaDrop.low <= group.areaDrop.high)
        }
        #expect(explanation.samples == 600)
        #expect(explanation.area > 0.55, "\(explanation.area)")
        #expect(explanation.calibration.map(\.samples).reduce(0, +) <= 600)
    }

    @Test("The victim is the one that goes at that eviction, with less than the runner-up")
    func victim() throws {
        let explanation = try explain("learned(decider=network)", victim: 700).explanation
        let victim = try #require(explanation.victim)
        #expect(victim.number == 700 && (700...8_000).contains(victim.request))
        let other = try #require(victim.runnerUp)
        #expect(victim.victim.score <= other.score && victim.victim.entry != other.entry)
        #expect(victim.judge == "network")
        #expect(victim.victim.contributions.map(\.group) == FeatureGroups.named.map(\.name).filter { $0 != "fleet" })
        #expect((0...1).contains(victim.victim.probability))
        #expect(victim.victim.features["size"] == 0)
        #expect(victim.victim.contributions.first { $0.group == "size" }?.score == 0)
    }

    @Test("Scores and what they are explained by are of one moment, that of the scoring", arguments: [true, false])
    func oneMoment(usesUniformSizes: Bool) throws {
        let parameters = try LearnedParameters().applying(
            PolicySpec(parsing: "learned(decider=network)").settings, policy: "learned")
        var (stale, newcomers) = (0, 0)
        for number in 700..<730 {
            let context = PolicyContext(
                capacity: usesUniformSizes ? 250 : 250_000, usesUniformSizes: usesUniformSizes, seed: 1)
            let model = LearnedModel(parameters, seed: context.seed)
            model.observe(bound: 600, victim: number, seed: 1)
            let cache = model.makeCache(parameters, context: context)
            cache.define(categorySet: 1, members: [0])
            cache.define(categorySet: 2, members: [1])
            for access in accesses(8_000) where model.learner.pointee.watch.record == nil {
                var access = access
                if !usesUniformSizes { access.size = 500 + Int(access.entry) * 37 % 1_000 }
                _ = cache.access(access)
            }
            let record = try #require(model.learner.pointee.watch.record)
            #expect(record.judge == .network)
            let explained = VictimExplanation(
                record, number: number, inputs: Feature.width,
                means: Array(repeating: 0, count: Feature.width), parameters: parameters)
            let observed = try [record.victim, #require(record.runnerUp)]
            for (seen, candidate) in zip(observed, try [explained.victim, #require(explained.runnerUp)]) {
                var judgement = Judgement(
                    weights: seen.scored.weights, inputs: Feature.width, hidden: parameters.hidden,
                    blas: parameters.blas)
                let logit = judgement.logits([judgement.inputs(seen.scored.row)])[0]
                let value = parameters.missCost.score(
                    logit: logit, logSize: seen.scored.logSize, costsDiffer: !usesUniformSizes)
                #expect(abs(seen.score - value) < 1e-4, "eviction \(number)")
                #expect(candidate.score == Double(seen.score) && candidate.scoredAt == seen.scored.request)
                #expect(abs(candidate.probability - Judgement.probability(logit)) < 1e-6)
                if seen.scored.request < record.request { stale += 1 }
                if seen.isNewcomer { newcomers += 1 }
            }
            // Where costs differ the runner-up is looked at again, and may have less than it had when the victim was chosen.
            if usesUniformSizes { #expect(explained.victim.score <= observed.map { Double($0.score) }[1]) }
        }
        // Otherwise nothing is shown.
        #expect(stale > 10, "\(stale) \(newcomers)")
    }

    @Test("What the network would say is left out where another judge decided")
    func otherJudge() throws {
        let victim = try #require(try explain("learned", victim: 1).explanation.victim)
        #expect(victim.judge != "network" && victim.victim.contributions.isEmpty && !victim.victim.features.isEmpty)
    }

    @Test("Where sizes differ the heuristic looks at all residents, and the runner-up is who goes next")
    func runnerUpOfTheHeuristic() throws {
        // 500 objects, each asked for once, go from the largest on as 900 bytes each are needed.
        let context = PolicyContext(capacity: 600_000, usesUniformSizes: false, seed: 1)
        func watched(_ number: Int) throws -> VictimRecord {
            let model = LearnedModel(LearnedParameters(), seed: context.seed)
            model.observe(bound: 10, victim: number, seed: 1)
            let cache = model.makeCache(LearnedParameters(), context: context)
            var used = 0
            for index in 0..<560 {
                let size = index < 500 ? 1_000 + (index * 37 % 500) : 900
                used += size
                _ = cache.access(Access(entry: EntryID(index), requestNumber: index, time: Int64(index), size: size))
            }
            #expect(used > context.capacity)
            return try #require(model.learner.pointee.watch.record)
        }
        for number in 1...8 {
            let (record, next) = (try watched(number), try watched(number + 1))
            #expect(record.judge == .greedyDual && record.candidates > 128)
            #expect(record.runnerUp?.entry == next.victim.entry, "eviction \(number)")
        }
    }

    @Test("Watching one eviction changes no decision; asking for one that never comes gives none")
    func undisturbed() throws {
        let without = try explain("learned")
        let with = try explain("learned", victim: 100)
        let areSame = without.outcomes == with.outcomes
        #expect(areSame)
        #expect(without.explanation.victim == nil && with.explanation.victim?.number == 100)
        #expect(try explain("learned", victim: 1_000_000).explanation.victim == nil)
    }

    @Test("Chances against what happened: bins by tenths, the last one closed")
    func calibration() {
        let bins = ModelExplanation.calibration([(0.05, false), (0.07, true), (0.95, true), (1, true)])
        #expect(bins.count == 10 && bins[0].samples == 2 && bins[9].samples == 2 && bins[5].samples == 0)
        #expect(bins[0].observed == 0.5 && bins[9].observed == 1 && bins[5].predicted == nil)
        #expect(abs((bins[0].predicted ?? 0) - 0.06) < 1e-12)
    }
}
