import Foundation
import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("The network beside its definition in double precision", .timeLimit(.minutes(20)))
struct PerceptronTests {
    private static let inputs = 5
    private static let hidden = 4
    private static let rows = 7

    /// The mean logistic loss of a batch, computed by its definition.
    private func loss(_ parameters: [Double], _ input: [Float], _ labels: [Float]) -> Double {
        let (inputs, hidden) = (Self.inputs, Self.hidden)
        var total = 0.0
        for row in 0..<Self.rows {
            var logit = parameters[inputs * hidden + hidden]
            for unit in 0..<hidden {
                let sum = (0..<inputs).reduce(0.0) {
                    $0 + Double(input[row * inputs + $1]) * parameters[$1 * hidden + unit]
                }
                logit += parameters[inputs * hidden + unit] * (sum > 0 ? sum : 0.1 * sum)
            }
            let probability = 1 / (1 + exp(-logit))
            total -= labels[row] > 0.5 ? log(probability) : log(1 - probability)
        }
        return total / Double(Self.rows)
    }

    @Test("Gradients equal finite differences")
    func gradientsEqualFiniteDifferences() {
        var network = Perceptron(
            inputs: Self.inputs, hidden: Self.hidden, largestBatch: Self.rows, blas: BLAS(.portable), seed: 4)
        var generator = SplitMix64(seed: 9)
        let input = (0..<Self.rows * Self.inputs).map { _ in Float(generator.nextUnit() * 2 - 1) }
        let labels = (0..<Self.rows).map { Float($0 % 2) }
        // Large output weights, so that the gradients of the first layer are not small.
        for index in (Self.inputs * Self.hidden)..<network.parameters.count {
            network.parameters[index] = Float(generator.nextUnit() * 2 - 1)
        }
        let parameters = (0..<network.parameters.count).map { Double(network.parameters[$0]) }
        var logits = [Float](repeating: 0, count: Self.rows)
        network.forward(input, rows: Self.rows, logits: &logits)
        network.backward(input, rows: Self.rows, logits: logits, labels: labels)
        for index in parameters.indices {
            var (above, below) = (parameters, parameters)
            above[index] += 1e-5
            below[index] -= 1e-5
            let slope = (loss(above, input, labels) - loss(below, input, labels)) / 2e-5
            #expect(abs(Double(network.gradients[index]) - slope) < 0.002, "parameter \(index)")
        }
    }

    @Test("A single row has the logit that it has in a batch", arguments: [4, 16, 21, 32])
    func singleRowHasItsLogitInABatch(hidden: Int) {
        var network = Perceptron(inputs: 38, hidden: hidden, largestBatch: Self.rows, blas: BLAS(.portable), seed: 4)
        var generator = SplitMix64(seed: 9)
        let input = (0..<Self.rows * 38).map { _ in Float(generator.nextUnit() * 2 - 1) }
        network.parameters[network.parameters.count - 1] = 0.75
        var logits = [Float](repeating: 0, count: Self.rows)
        network.forward(input, rows: Self.rows, logits: &logits)
        for row in 0..<Self.rows {
            var logit: Float = 0
            network.forward(Array(input[row * 38..<row * 38 + 38]), rows: 1, logits: &logit)
            #expect(abs(logit - logits[row]) < 1e-5, "row \(row)")
        }
    }

    @Test("The same seed gives the same network, another seed another")
    func sameSeedGivesTheSameNetwork() {
        func first(_ seed: UInt64) -> [Float] {
            let network = Perceptron(inputs: 3, hidden: 2, largestBatch: 1, blas: BLAS(.portable), seed: seed)
            return (0..<network.parameters.count).map { network.parameters[$0] }
        }
        #expect(first(1) == first(1))
        #expect(first(1) != first(2))
        #expect(first(1).last == 0, "no bias at first")
    }
}
