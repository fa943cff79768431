import Testing

@testable import HalcyonLearning

@Suite("Samples that a network is evaluated on", .timeLimit(.minutes(20)))
struct ObservedSamplesTests {
    @Test(
        "Every third sample is observed, and a bounded sample of them is kept in order"
    )
    func everyThirdSampleIsObservedAndTheDrawKeepsOrder() {
        let samples = ObservedSamples(every: 3, bound: 50, seed: 1)
        for number in 0..<3_000 {
            var row = [UInt8](repeating: 0, count: SampleRow.width)
            row[0] = UInt8(number % 251)
            row[1] = UInt8(number / 251)
            let network = ObservedSamples.Network(steps: number / 32, weights: [Float(number / 32 * 32)])
            samples.count(row, logit: Float(number), by: network, isReady: number >= 1_500)
        }
        let kept = samples.inOrder()
        #expect(kept.count == 50)
        var last = -1
        for sample in kept {
            let number = Int(sample.row[0]) + 251 * Int(sample.row[1])
            #expect(number > last && number % 3 == 2 && number >= 1_500)
            #expect(sample.logit == Float(number))
            #expect(sample.network.steps == number / 32 && sample.network.weights == [Float(number / 32 * 32)])
            last = number
        }
        // The draw is from all times: it has samples of the early and of the late half.
        #expect((10...40).contains(kept.count { $0.order > 2_250 }))
    }

    @Test("No model is observed by default")
    func noModelIsObservedByDefault() {
        let model = LearnedModel(LearnedParameters(), seed: 1)
        #expect(model.watch == nil && model.learner.pointee.trainer.observer == nil)
    }
}
