import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Gradient descent on standardized inputs", .timeLimit(.minutes(20)))
struct StandardizedDescentTests {
    private static let inputs = 4
    private static let hidden = 6
    private static let rows = 32
    /// The place of the input that is always 1.
    private static let one = 3

    /// A batch of inputs of very different spread, one of which is constant, and their labels.
    private func batch(_ generator: inout SplitMix64) -> (input: [Float], labels: [Float]) {
        var (input, labels) = ([Float](), [Float]())
        for _ in 0..<Self.rows {
            let (near, far) = (generator.nextUnit() * 2 - 1, generator.nextUnit() * 2 - 1)
            input += [Float(20 + 0.5 * near), Float(7 * far - 3), 4, 1]
            labels.append(near + far > 0 ? 1 : 0)
        }
        return (input, labels)
    }

    @Test(
        "The network equals one that plain Adam trains on standardized inputs",
        arguments: [0..<0, 0..<1])
    func descentEqualsAdamOnStandardizedInputs(cautious: Range<Int>) {
        var network = Perceptron(
            inputs: Self.inputs, hidden: Self.hidden, largestBatch: Self.rows, blas: BLAS(.portable), seed: 4)
        var plain = Perceptron(
            inputs: Self.inputs, hidden: Self.hidden, largestBatch: Self.rows, blas: BLAS(.portable), seed: 4)
        var descent = StandardizedDescent(of: network, one: Self.one, cautious: cautious)
        var adam = Adam(parameters: plain.parameters.count)
        var generator = SplitMix64(seed: 9)
        var seen = [[Double]](repeating: [], count: Self.inputs)
        var (ours, theirs) = ([Float](repeating: 0, count: Self.rows), [Float](repeating: 0, count: Self.rows))
        var greatest: Float = 0
        for _ in 0..<200 {
            let (input, labels) = batch(&generator)
            for place in 0..<Self.inputs {
                for row in 0..<Self.rows { seen[place].append(Double(input[row * Self.inputs + place])) }
            }
            var standardized = input
            for place in 0..<Self.one {
                let count = Double(seen[place].count)
                let mean = seen[place].reduce(0, +) / count
                let variance = seen[place].reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / count
                let deviation = cautious.contains(place) ? 0.0625 : 0.25
                for row in 0..<Self.rows {
                    let index = row * Self.inputs + place
                    standardized[index] = Float(
                        deviation * (Double(input[index]) - mean) / (variance + 0.09).squareRoot())
                }
            }
            descent.observe(input, rows: Self.rows, for: &network)
            network.forward(input, rows: Self.rows, logits: &ours)
            network.backward(input, rows: Self.rows, logits: ours, labels: labels)
            descent.step(&network, rate: 0.01)
            plain.forward(standardized, rows: Self.rows, logits: &theirs)
            plain.backward(standardized, rows: Self.rows, logits: theirs, labels: labels)
            adam.step(plain.parameters.base, against: plain.gradients.base, rate: 0.01)
            for row in 0..<Self.rows { #expect(abs(ours[row] - theirs[row]) < 0.02) }
            greatest = max(greatest, theirs.reduce(0) { max($0, abs($1)) })
        }
        // The comparison needs logits that are not all near 0.
        #expect(greatest > 2)
    }

    @Test("Adopted weights keep their outputs, and training continues from them")
    func adoptedWeightsKeepTheirOutputs() {
        var network = Perceptron(
            inputs: Self.inputs, hidden: Self.hidden, largestBatch: Self.rows, blas: BLAS(.portable), seed: 4)
        var descent = StandardizedDescent(of: network, one: Self.one)
        let other = Perceptron(
            inputs: Self.inputs, hidden: Self.hidden, largestBatch: Self.rows, blas: BLAS(.portable), seed: 5)
        network.load(other.weights)
        descent.adopt()
        var generator = SplitMix64(seed: 9)
        let (input, labels) = batch(&generator)
        var (before, after) = ([Float](repeating: 0, count: Self.rows), [Float](repeating: 0, count: Self.rows))
        network.forward(input, rows: Self.rows, logits: &before)
        descent.observe(input, rows: Self.rows, for: &network)
        network.forward(input, rows: Self.rows, logits: &after)
        #expect(before == after)
        network.backward(input, rows: Self.rows, logits: after, labels: labels)
        descent.step(&network, rate: 0)
        network.forward(input, rows: Self.rows, logits: &after)
        for row in 0..<Self.rows { #expect(abs(before[row] - after[row]) < 0.001) }
    }

    @Test("Old batches are forgotten: after a change the weights follow the new spread")
    func weightsFollowTheNewSpreadAfterAChange() {
        var network = Perceptron(inputs: 2, hidden: 1, largestBatch: 2, blas: BLAS(.portable), seed: 4)
        var descent = StandardizedDescent(of: network, one: 1)
        let drawn = network.parameters[0]
        for _ in 0..<5_000 { descent.observe([9, 1, 11, 1], rows: 2, for: &network) }
        // Variance 1 about 10.
        #expect(abs(network.parameters[0] - drawn * 0.25 / Float(1.09).squareRoot()) < 0.000_1)
        for _ in 0..<12_000 { descent.observe([90, 1, 110, 1], rows: 2, for: &network) }
        // Variance 100 about 100: the weight of the older batches is (1 − 1/1,200)^12,000 = 0.00005.
        #expect(abs(network.parameters[0] - drawn * 0.25 / Float(100.09).squareRoot()) < 0.000_5)
    }
}
