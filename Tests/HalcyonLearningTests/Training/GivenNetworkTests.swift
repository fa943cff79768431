import HalcyonEviction
import Foundation
import Testing

@testable import HalcyonLearning

@Suite("A given network and the one that is trained further", .timeLimit(.minutes(5)))
struct GivenNetworkTests {
    /// The cross-entropy in bits, computed in double precision.
    private func loss(_ logit: Float, isPositive: Bool) -> Double {
        log2(1 + exp(isPositive ? -Double(logit) : Double(logit)))
    }

    @Test(
        "The network with the lower sum of losses on new samples decides, the given one at first", arguments: [1, 2, 3])
    func lowerSumOfLossesDecides(seed: UInt64) throws {
        let width = Feature.width
        var given = Perceptron(inputs: width, hidden: 4, largestBatch: 32, blas: BLAS(.portable), seed: seed)
        var trainer = OnlineTrainer(
            hidden: 4, bufferBound: 4_096, rate: 0.005, patience: 1_000, blas: BLAS(.portable), seed: seed)
        trainer.adopt(given.weights, steps: 500, isFrozen: false)
        #expect(trainer.decidingSteps == -2 && trainer.decidingWeights == given.weights)
        var trained = Perceptron(inputs: width, hidden: 4, largestBatch: 32, blas: BLAS(.portable), seed: seed)
        var random = SplitMix64(seed: seed)
        let input = HeapArray<Float>(repeating: 0, count: width)
        var (lead, changes, before, compared) = (0.0, 0, true, 0)
        for group in 0..<300 {
            trained.load(trainer.network.weights)
            for _ in 0..<OnlineTrainer.group {
                let row = HeapArray<UInt8>(repeating: 0, count: SampleRow.width)
                for place in 0..<width { row[place] = UInt8(truncatingIfNeeded: random.next(below: 256)) }
                // The labels turn against what was learned in the middle.
                let isPositive = (row[3] > 128) == (group < 150)
                given.vectors.decode(row.base, into: input.base)
                var logits: (Float, Float) = (0, 0)
                given.forward(input.base, rows: 1, logits: &logits.0)
                trained.forward(input.base, rows: 1, logits: &logits.1)
                lead += loss(logits.0, isPositive: isPositive) - loss(logits.1, isPositive: isPositive)
                trainer.add(row.base, isPositive: isPositive)
            }
            let givenDecides = trainer.decidingSteps == -2
            // The trainer's logarithms are within 0.01.
            if abs(lead) > 0.02 * Double((group + 1) * OnlineTrainer.group) {
                compared += 1
                #expect(givenDecides == (lead <= 0), "group \(group), lead \(lead)")
            }
            if givenDecides != before { changes += 1 }
            before = givenDecides
        }
        #expect(changes > 0 && compared > 30)
    }

    @Test("A frozen network, and one that began with nothing, are the only ones")
    func othersHaveOneNetwork() {
        var trainer = OnlineTrainer(
            hidden: 4, bufferBound: 64, rate: 0.005, patience: 1_000, blas: BLAS(.portable), seed: 1)
        #expect(trainer.decidingSteps == 0)
        let weights = trainer.network.weights
        let bytes = trainer.byteCount
        trainer.adopt(weights, steps: 70, isFrozen: true)
        #expect(trainer.decidingSteps == 70 && trainer.byteCount == bytes)
    }
}
