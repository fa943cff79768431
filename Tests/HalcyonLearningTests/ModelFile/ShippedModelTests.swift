import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("The shipped model", .timeLimit(.minutes(20)))
struct ShippedModelTests {
    private func policy(_ text: String) throws -> ConfiguredPolicy { try PolicyCatalogue.standard.policy(text) }

    @Test("The shipped model is a small file that knows categories, users and the workload")
    func shippedModelIsReadable() throws {
        let shipped = PretrainedModel.shipped
        #expect(try shipped.data().count < 200_000)
        #expect(shipped.trainingSteps >= OnlineTrainer.fewestSteps)
        #expect(
            shipped.featureGroups == ["recency", "frequency", "size", "category", "user", "activity", "workload"])
    }

    @Test("learned(model=shipped) decides by the network, and by its features, from the first eviction")
    func shippedModelDecidesAtOnce() throws {
        let shipped = try policy("learned(model=shipped)")
        let named = Dictionary(uniqueKeysWithValues: shipped.parameters.map { ($0.name, $0.value) })
        #expect(named["workload"] == "on" && named["time"] == "off" && named["hidden"] == "16")
        func ratioByNetwork(_ policy: ConfiguredPolicy, ofOneUser: Bool = false) -> Double? {
            var context = PolicyContext(capacity: 20, usesUniformSizes: true, seed: 1)
            context.servesOneUser = ofOneUser
            let cache = policy.makeCache(context)
            for number in 0..<60 {
                let object = number % 3 == 0 ? EntryID(number % 7) : EntryID(100 + number)
                _ = cache.access(Access(entry: object, requestNumber: number))
            }
            #expect(cache.state.evictions > 0)
            return cache.metrics.first { $0.name == "evictions_by_network" }?.value
        }
        #expect(ratioByNetwork(shipped) == 1)
        let learned = try policy("learned")
        #expect(ratioByNetwork(learned) == 0 && learned.parameters.contains { $0 == ("model", "auto") })
        // In a cache of one user the default is the shipped model, unless its network would be another one, or none is asked for.
        #expect(ratioByNetwork(learned, ofOneUser: true) == 1)
        for text in ["learned(model=none)", "learned(hidden=8)", "learned(category=off)", "learned(decider=heuristic)"]
        {
            #expect(ratioByNetwork(try policy(text), ofOneUser: true) == 0, "\(text)")
        }
        #expect(ratioByNetwork(try policy("learned(objective=bytes)"), ofOneUser: true) == 1)
    }

    @Test("Other features or units than those of the shipped model are refused in one sentence")
    func otherFeaturesAreRefused() throws {
        for (text, words) in [
            ("learned(model=shipped,time=on)", "The model was trained with the feature groups"),
            ("learned(model=shipped,hidden=8)", "The model has 16 hidden units, not 8"),
            ("learned(model=shipped,kernels=system)", "The model was trained with kernels=portable"),
        ] {
            let error = try #require(throws: PolicyError.self) { try policy(text) }
            #expect(error.description.contains(words), "\(error)")
        }
    }

    @Test("A device begins without what the device before it has seen")
    func deviceBeginsWithoutTheOneBefore() throws {
        var parameters = LearnedParameters()
        parameters.workload = .on
        let context = PolicyContext(capacity: 10, usesUniformSizes: true, seed: 1)
        let model = LearnedModel(training: parameters, steps: 1_000, seed: 1)
        func serve() -> Int {
            model.beginDevice()
            let cache = model.makeCache(parameters, context: context)
            cache.define(categorySet: 1, members: [0])
            for number in 0..<400 {
                _ = cache.access(
                    Access(entry: EntryID(number * number % 40), requestNumber: number, categories: 1, user: 7))
            }
            return model.learner.pointee.features.userCategory.clock
        }
        #expect(serve() == 400)
        let steps = model.trainingSteps
        #expect(serve() == 400, "the statistics of the first device are gone")
        #expect(model.trainingSteps > steps, "what the network has learned stays")
        #expect(model.learner.pointee.labelWindow.multiplier == 1)
    }

    @Test("The steps of training in advance get smaller, and the model is the mean of the last weights")
    func offlineTrainingAverages() {
        var training = OfflineTraining(steps: 100)
        let rates = [0, 29, 30, 59, 60, 84, 85, 200].map { training.rate(at: $0) }
        #expect(rates == [1, 1, 0.3, 0.3, 0.1, 0.1, 0.03, 0.03])
        for step in 1..<70 { training.add([Float(step), 1], step: step) }
        #expect(training.mean == nil)
        for step in 70...73 { training.add([Float(step), 1], step: step) }
        #expect(training.mean == [71.5, 1])
    }
}
