import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Model explanation", .timeLimit(.minutes(20)))
struct ModelExplanationTests {
    private struct Observed {
        let explanation: ModelExplanation
        let outcomes: [AccessOutcome]
    }

    /// Half of the requests go to 300 objects that stay popular, half to objects that are never requested again.
    private func accesses(_ count: Int) -> [Access] {
        var random = SplitMix64(seed: 1)
        return (0..<count).map { index in
            let popular = random.next(below: 2) == 0
            return Access(
                entry: popular ? EntryID(random.next(below: 300)) : EntryID(300 + index), requestNumber: index,
                time: Int64(index) * 1_000_000, categories: popular ? 1 : 2, user: UInt32(random.next(below: 5)))
        }
    }

    private func explain(_ settings: String, victim: Int = 0, servesOneCache: Bool = false) throws -> Observed {
        let spec = try PolicySpec(parsing: settings)
        let parameters = try LearnedParameters().applying(spec.settings, policy: spec.name)
        let context = PolicyContext(capacity: 250, seed: 1)
        let model =
            servesOneCache
            ? LearnedModel(ofOneCache: parameters, context: context) : LearnedModel(parameters, seed: context.seed)
        model.observe(bound: 600, victim: victim, seed: 1)
        let cache = model.makeCache(parameters, context: context)
        cache.define(categorySet: 1, members: [0])
        cache.define(categorySet: 2, members: [1])
        let outcomes = accesses(8_000).map { cache.access($0) }
        return Observed(
            explanation: try #require(model.explanation(parameters, victim: victim, seed: 1)), outcomes: outcomes)
    }

    @Test("A decisive category has the largest importance, the uniform size none")
    func decisiveCategoryHasTheLargestImportance() throws {
        let explanation = try explain(
            "learned(horizon=1,recency=off,frequency=off,time=off,activity=off)", servesOneCache: true
        )
        .explanation
        #expect(explanation.groups.map(\.name) == ["size", "category", "user"])
        let worth = Dictionary(uniqueKeysWithValues: explanation.groups.map { ($0.name, $0) })
        let category = try #require(worth["category"])
        let size = try #require(worth["size"])
        #expect(category.lossIncrease.low > 0 && category.areaDrop.low > 0, "\(category)")
        #expect(explanation.groups.allSatisfy { $0.lossIncrease.value <= category.lossIncrease.value })
        #expect(size.lossIncrease == ModelExplanation.Estimate(value: 0, low: 0, high: 0))
        for group in explanation.groups {
            #expect(group.lossIncrease.low <= group.lossIncrease.high && group.areaDrop.low <= group.areaDrop.high)
        }
        #expect(explanation.samples == 600)
        #expect(explanation.area > 0.55, "\(explanation.area)")
        #expect(explanation.calibration.map(\.count).reduce(0, +) <= 600)
    }

    @Test("The explained victim is that of the given eviction, with a lower score than the runner-up")
    func victimOfTheGivenEvictionScoresBelowTheRunnerUp() throws {
        let explanation = try explain("learned(decider=network)", victim: 700).explanation
        let victim = try #require(explanation.victim)
        #expect(victim.number == 700 && (700...8_000).contains(victim.request))
        let other = try #require(victim.runnerUp)
        #expect(victim.victim.score <= other.score && victim.victim.entry != other.entry)
        #expect(victim.expert == "network")
        #expect(victim.victim.contributions.map(\.group) == LearnedParameters().groups.names)
        #expect((0...1).contains(victim.victim.probability))
        #expect(victim.victim.features["size"] == 0)
        #expect(victim.victim.contributions.first { $0.group == "size" }?.score == 0)
    }

    @Test("The explained features are those of the moment at which the score was computed", arguments: [true, false])
    func explainedFeaturesMatchTheMomentOfTheScore(usesUniformSizes: Bool) throws {
        let parameters = try LearnedParameters().applying(
            PolicySpec(parsing: "learned(decider=network)").settings, policy: "learned")
        var (stale, newObjects) = (0, 0)
        for number in 700..<730 {
            let context = PolicyContext(
                capacity: usesUniformSizes ? 250 : 250_000, usesUniformSizes: usesUniformSizes, seed: 1)
            let model = LearnedModel(parameters, seed: context.seed)
            model.observe(bound: 600, victim: number, seed: 1)
            let cache = model.makeCache(parameters, context: context)
            cache.define(categorySet: 1, members: [0])
            cache.define(categorySet: 2, members: [1])
            for access in accesses(8_000) where model.watch?.record == nil {
                var access = access
                if !usesUniformSizes { access.size = 500 + Int(access.entry) * 37 % 1_000 }
                _ = cache.access(access)
            }
            let record = try #require(model.watch?.record)
            #expect(record.decider == "network")
            let explained = VictimExplanation(
                record, number: number, inputs: Feature.width,
                means: Array(repeating: 0, count: Feature.width), parameters: parameters)
            let observed = try [record.victim, #require(record.runnerUp)]
            for (seen, candidate) in zip(observed, try [explained.victim, #require(explained.runnerUp)]) {
                var evaluator = NetworkEvaluator(
                    weights: seen.scored.weights, inputs: Feature.width, hidden: parameters.hidden,
                    blas: parameters.blas)
                let logit = evaluator.logits([evaluator.inputs(seen.scored.row)])[0]
                let value = parameters.missCost.score(
                    logit: logit, logSize: seen.scored.logSize, usesUniformSizes: usesUniformSizes)
                #expect(abs(seen.score - value) < 1e-4, "eviction \(number)")
                #expect(candidate.score == Double(seen.score) && candidate.scoredAt == seen.scored.request)
                #expect(abs(candidate.probability - NetworkEvaluator.probability(logit)) < 1e-6)
                if seen.scored.request < record.request { stale += 1 }
                if seen.isNewObject { newObjects += 1 }
            }
            // With variable sizes the score of the runner-up is updated, and may be lower than when the victim was chosen.
            if usesUniformSizes { #expect(explained.victim.score <= observed.map { Double($0.score) }[1]) }
        }
        // Otherwise the test shows nothing.
        #expect(stale > 10, "\(stale) \(newObjects)")
    }

    @Test("The contributions are empty if another expert decided")
    func contributionsAreEmptyIfAnotherExpertDecided() throws {
        let victim = try #require(try explain("learned", victim: 1).explanation.victim)
        #expect(victim.expert != "network" && victim.victim.contributions.isEmpty && !victim.victim.features.isEmpty)
    }

    @Test("With variable sizes the heuristic compares all residents, and the runner-up is the next victim")
    func heuristicsRunnerUpIsTheNextVictim() throws {
        // 500 objects, each requested once, are evicted from the largest on to make room for objects of 900 bytes.
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
            return try #require(model.watch?.record)
        }
        for number in 1...8 {
            let (record, next) = (try watched(number), try watched(number + 1))
            #expect(record.decider == "gdsf" && record.candidates > 128)
            #expect(record.runnerUp?.object.entry == next.victim.object.entry, "eviction \(number)")
        }
    }

    @Test("Recording an eviction changes no decision; an eviction that never happens is not explained")
    func recordingAnEvictionChangesNoDecision() throws {
        let without = try explain("learned")
        let with = try explain("learned", victim: 100)
        let areSame = without.outcomes == with.outcomes
        #expect(areSame)
        #expect(without.explanation.victim == nil && with.explanation.victim?.number == 100)
        #expect(try explain("learned", victim: 1_000_000).explanation.victim == nil)
    }

    /// The size decides the label, in the second half of the samples the other way round; another feature identifies
    /// the half. The final network knows both rules. The network of the time had to learn the second rule from its
    /// mistakes.
    @Test("Loss, area and importance use the network of each sample's time, not the final one")
    func lossAndImportanceUseTheNetworkOfEachSamplesTime() throws {
        var parameters = LearnedParameters()
        parameters.hidden = 32
        let model = LearnedModel(parameters, seed: 1)
        model.observe(every: 10, bound: 10_000, seed: 1)
        var random = SplitMix64(seed: 5)
        let count = 12_800
        var evaluator = NetworkEvaluator(
            weights: model.learner.pointee.trainer.network.weights, inputs: Feature.width, hidden: parameters.hidden,
            blas: parameters.blas)
        // By hand: the loss of each observed sample by the weights before its group is trained on.
        var (losses, lateLosses): ([Double], [Double]) = ([], [])
        for group in 0..<(count / OnlineTrainer.group) {
            evaluator.load(model.learner.pointee.trainer.network.weights)
            let isReady = model.learner.pointee.trainer.isReady
            for place in 0..<OnlineTrainer.group {
                let number = group * OnlineTrainer.group + place
                let isLarge = random.next(below: 2) == 0
                let isPositive = isLarge == (number < count / 2)
                var row = [UInt8](repeating: 0, count: SampleRow.width)
                row[Feature.size] = isLarge ? 200 : 20
                row[Feature.seconds] = number < count / 2 ? 10 : 90
                row[Feature.gap1] = UInt8(random.next(below: 200))
                if isReady, number % 10 == 9 {
                    let logit = evaluator.logits([evaluator.inputs(row)])[0]
                    losses.append(NetworkEvaluator.loss(logit: logit, isPositive: isPositive))
                    if number > count / 4, number < count / 2 { lateLosses.append(losses[losses.count - 1]) }
                }
                model.learner.pointee.trainer.add(row, isPositive: isPositive)
            }
        }
        let explanation = try #require(model.explanation(parameters, seed: 1))
        #expect(explanation.samples == losses.count && losses.count > 1_000)
        let loss = losses.reduce(0, +) / Double(losses.count)
        #expect(abs(explanation.loss - loss) < 1e-5, "\(explanation.loss) \(loss)")
        // Before the second rule, the network of the time had learned the first one.
        #expect(lateLosses.reduce(0, +) / Double(lateLosses.count) < 0.2)
        #expect(explanation.lookAhead.loss < explanation.loss / 2, "\(explanation.lookAhead) \(explanation.loss)")
        #expect(explanation.lookAhead.area > explanation.area + 0.02, "\(explanation.area)")
        let size = try #require(explanation.groups.first { $0.name == "size" })
        let recency = try #require(explanation.groups.first { $0.name == "recency" })
        #expect(size.lossIncrease.low > 0.1 && size.areaDrop.low > 0, "\(size)")
        #expect(abs(recency.lossIncrease.value) < 0.1, "\(recency)")
    }

    @Test("Features are permuted among the samples of one block of time")
    func featuresArePermutedWithinBlocksOfTime() {
        for count in [1, 63, 64, 127, 128, 600, 8_192] {
            let importance = PermutationImportance(
                rows: Array(repeating: [0], count: count), labels: Array(repeating: true, count: count), networks: [],
                seed: 1)
            let blocks = importance.permutedBlocks
            #expect(blocks.flatMap { $0 } == Array(0..<count) && blocks.count <= PermutationImportance.blocks)
            #expect(blocks.count == 1 || blocks.allSatisfy { $0.count >= PermutationImportance.fewestPermuted })
        }
    }

    @Test("Calibration has bins of a tenth, the last one closed")
    func calibrationHasTenBins() {
        let bins = ModelExplanation.calibration([(0.05, false), (0.07, true), (0.95, true), (1, true)])
        #expect(bins.count == 10 && bins[0].count == 2 && bins[9].count == 2 && bins[5].count == 0)
        #expect(bins[0].observed == 0.5 && bins[9].observed == 1 && bins[5].predicted == 0)
        #expect(abs(bins[0].predicted - 0.06) < 1e-12)
    }
}
