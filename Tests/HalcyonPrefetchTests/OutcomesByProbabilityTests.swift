import HalcyonSupport
import Testing

@testable import HalcyonPrefetch

@Suite("The threshold of prefetches between visits", .timeLimit(.minutes(20)))
struct OutcomesByProbabilityTests {
    /// Draws probabilities over all octaves, and outcomes that are `bias` times as frequent as predicted.
    private func outcomes(_ count: Int, bias: Float) -> OutcomesByProbability {
        var outcomes = OutcomesByProbability()
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<count {
            var probability = Float(generator.unit())
            for _ in 0..<generator.below(12) { probability /= 2 }
            outcomes.note(probability, isRequested: Float(generator.unit()) < probability * bias)
        }
        return outcomes
    }

    @Test("Before any outcome, the threshold is the price, to half an octave")
    func thresholdIsThePriceBeforeAnyOutcome() {
        for price: Float in [0.003, 0.01, 0.1, 0.3] {
            let threshold = OutcomesByProbability().threshold(forShare: price)
            #expect((price / 1.5...price * 1.5).contains(threshold))
        }
        #expect(OutcomesByProbability().threshold(forShare: 0) == 0)
    }

    @Test("A network that predicts four times too much raises the threshold fourfold")
    func overconfidentNetworkRaisesTheThreshold() {
        for (bias, times) in [(Float(1), Float(1)), (0.25, 4)] {
            let threshold = outcomes(60_000, bias: bias).threshold(forShare: 0.05)
            #expect((0.05 * times / 1.6...0.05 * times * 1.6).contains(threshold))
        }
    }

    @Test("If no prediction comes true, the threshold is above every predicted probability")
    func predictionsWithoutRequestsRaiseTheThreshold() {
        var outcomes = OutcomesByProbability()
        var generator = SeededGenerator(seed: 13)
        for _ in 0..<60_000 { outcomes.note(0.01 + 0.05 * Float(generator.unit()), isRequested: false) }
        #expect(outcomes.threshold(forShare: 0.01) > 0.06)
    }

    @Test("The threshold follows a change within some ten thousand outcomes")
    func thresholdFollowsAChange() {
        var outcomes = outcomes(60_000, bias: 1)
        let before = outcomes.threshold(forShare: 0.05)
        var generator = SeededGenerator(seed: 12)
        for _ in 0..<100_000 {
            outcomes.note(Float(generator.unit()), isRequested: false)
            outcomes.note(Float(generator.unit()) / 16, isRequested: false)
        }
        #expect(before < 0.1 && outcomes.threshold(forShare: 0.05) > 1)
    }
}
