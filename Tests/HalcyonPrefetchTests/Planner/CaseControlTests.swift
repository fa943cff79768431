import HalcyonEviction
import Testing

@testable import HalcyonLearning
@testable import HalcyonPrefetch

@Suite("Choice of training samples", .timeLimit(.minutes(20)))
struct CaseControlTests {
    @Test("Each candidate is drawn with its share")
    func candidatesAreDrawnWithTheirShares() {
        var cases = CaseControl(controls: 2, sampling: 1, seed: 1)
        // Probabilities of 0.1 %, 1 %, 10 %, 25 % and 60 %.
        let logits: [Float] = [-6.906_8, -4.595_1, -2.197_2, -1.098_6, 0.405_5]
        var counts = [Int](repeating: 0, count: 5)
        for _ in 0..<20_000 {
            let drawn = cases.draw(logits, count: 5)
            for index in 0..<5 where drawn >> UInt32(index) & 1 == 1 { counts[index] += 1 }
        }
        for (count, expected) in zip(counts, [0.02, 0.02, 0.2, 0.5, 1]) {
            #expect(abs(Double(count) / 20_000 - expected) < 0.012)
        }
    }

    @Test("Up to the sampling rate all samples are accepted, above it a part of them")
    func samplesAreLimitedToTheSamplingRate() {
        func taken(offering count: Int) -> Double {
            var cases = CaseControl(controls: 2, sampling: 1.5, seed: 3)
            var taken = 0
            for request in 0..<10_000 {
                cases.noteRequest()
                for _ in 0..<count where cases.accepts() && request >= 5_000 { taken += 1 }
            }
            return Double(taken) / 5_000
        }
        #expect(taken(offering: 1) == 1)
        #expect(abs(taken(offering: 6) - 1.5) < 0.05)
        #expect(abs(taken(offering: 2) - 1.5) < 0.05)
    }

    @Test("Training on sampled negative candidates gives the probability among all")
    func sampledTrainingGivesUnbiasedProbabilities() {
        // One input distinguishes two classes of candidates, of which 2 % and 30 % are requested.
        let probabilities = [0.02, 0.3]
        var trainer = PlannerTrainer(hidden: 8, rate: 0.003, blas: BLAS(.portable), seed: 1)
        var cases = CaseControl(controls: 2, sampling: 100, seed: 2)
        var generator = SplitMix64(seed: 3)
        var column = [Float](repeating: 0, count: PlannerInput.width)
        column[PlannerInput.one] = 1
        var logit: Float = 0
        var (offered, learnt) = (0, 0)
        for _ in 0..<60_000 {
            let kind = Int(generator.next(below: 2))
            column[PlannerInput.visited] = Float(kind)
            trainer.predict(column, count: 1, logits: &logit)
            let isPositive = generator.nextUnit() < probabilities[kind]
            let isDrawn = cases.draw([logit], count: 1) == 1
            offered += 1
            guard isPositive || isDrawn else { continue }
            learnt += 1
            trainer.add(column, stride: 1, logit: logit, share: cases.share(logit), isPositive: isPositive)
        }
        for kind in 0..<2 {
            column[PlannerInput.visited] = Float(kind)
            trainer.predict(column, count: 1, logits: &logit)
            let probability = Double(trainer.calibration.probability(logit))
            #expect(abs(probability / probabilities[kind] - 1) < 0.15, "\(probability) for \(probabilities[kind])")
        }
        #expect(learnt * 2 < offered)
    }
}
