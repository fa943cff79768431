import HalcyonLearning
import HalcyonSupport

/// A small network that is learned online: the probability that an object is requested, in the next visit or from a list.
///
/// Its logit is linear in the inputs, plus ``hidden`` rectified units. Weights follow the gradient with a step for each weight that
/// shrinks as its gradients add up (AdaGrad: Duchi, Hazan, Singer 2011). A prediction and a step are O(``inputs`` × ``hidden``).
struct OnlineNetwork {
    /// The number of rectified units.
    static let hidden = 12
    private static let rate: Float = 0.05

    /// A weight of an input for each unit, or a weight of each unit. Lanes beyond ``hidden`` stay 0.
    private typealias Units = SIMD16<Float>

    /// The number of inputs, the constant 1 included.
    let inputs: Int
    private var linear: [Float]
    private var below: [Units]
    private var above = Units.zero
    /// The sums of squared gradients of ``linear``, ``below`` and ``above``.
    private var linearSquares: [Float]
    private var belowSquares: [Units]
    private var aboveSquares = Units.one
    private(set) var examples = 0
    /// Always the portable kernels: predictions do not depend on the processor.
    private let blas = BLAS(.portable)

    /// - Parameter silent: the inputs whose first weights are 0.
    init(inputs: Int, seed: UInt64, silent: [Int] = []) {
        self.inputs = inputs
        linear = Array(repeating: 0, count: inputs)
        linearSquares = Array(repeating: 1, count: inputs)
        below = Array(repeating: .zero, count: inputs)
        belowSquares = Array(repeating: .one, count: inputs)
        var generator = SplitMix64(seed: seed)
        func weight() -> Float { (Float(generator.next() >> 40) * 0x1p-24 - 0.5) * 0.6 }
        linear[0] = -3
        for unit in 0..<Self.hidden {
            for input in 0..<inputs { below[input][unit] = weight() }
        }
        for unit in 0..<Self.hidden { above[unit] = weight() }
        for input in silent { below[input] = .zero }
    }

    /// The weights in one list: of the linear part, of each input for each unit, and of the units. O(count).
    var weights: [Float] { Self.list(linear, below, above) }
    /// The sum of the squared gradients of each weight, in the order of ``weights``. O(count).
    var squares: [Float] { Self.list(linearSquares, belowSquares, aboveSquares) }
    /// The number of weights.
    static func weightCount(inputs: Int) -> Int { inputs * (1 + hidden) + hidden }

    /// Replaces what was learned by lists of ``weightCount(inputs:)`` numbers in the order of ``weights``.
    mutating func adopt(weights: [Float], squares: [Float], examples: Int) {
        for input in 0..<inputs {
            (linear[input], linearSquares[input]) = (weights[input], squares[input])
            for unit in 0..<Self.hidden {
                let place = inputs + input * Self.hidden + unit
                (below[input][unit], belowSquares[input][unit]) = (weights[place], squares[place])
            }
        }
        for unit in 0..<Self.hidden {
            let place = inputs * (1 + Self.hidden) + unit
            (above[unit], aboveSquares[unit]) = (weights[place], squares[place])
        }
        self.examples = examples
    }

    private static func list(_ linear: [Float], _ below: [Units], _ above: Units) -> [Float] {
        linear + below.flatMap { units in (0..<hidden).map { units[$0] } } + (0..<hidden).map { above[$0] }
    }

    /// Writes the probabilities for `count` objects, whose inputs are the first columns of a matrix with `length` of them. They have the
    /// bits that ``learn(_:isRequested:)`` predicts with, because a product of matrices adds in the same order.
    func predict(_ columns: UnsafePointer<Float>, count: Int, length: Int, into probabilities: inout [Float]) {
        let rows = Self.hidden + 1
        withUnsafeTemporaryAllocation(of: Float.self, capacity: rows * (inputs + length)) { memory in
            guard let weights = memory.baseAddress else { return }
            let sums = weights + rows * inputs
            for input in 0..<inputs {
                weights[input * rows] = linear[input]
                for unit in 0..<Self.hidden { weights[input * rows + 1 + unit] = below[input][unit] }
            }
            blas.multiplyTransposed(weights, columns, into: sums, m: rows, n: length, k: inputs)
            for unit in 0..<Self.hidden {
                let (from, factor) = (sums + (1 + unit) * length, above[unit])
                for column in 0..<length { sums[column] += (from[column] < 0 ? 0 : from[column]) * factor }
            }
            for column in 0..<count { probabilities[column] = FastMath.sigmoid(max(-15, min(15, sums[column]))) }
        }
    }

    /// Returns the probability for one object's inputs.
    func probability(_ first: UnsafePointer<Float>) -> Float { forward(first).probability }

    @inline(__always)
    private func forward(_ first: UnsafePointer<Float>) -> (probability: Float, units: Units) {
        var logit: Float = 0
        var sums = Units.zero
        linear.withUnsafeBufferPointer { linear in
            below.withUnsafeBufferPointer { below in
                for input in 0..<inputs {
                    logit += linear[input] * first[input]
                    sums += below[input] * first[input]
                }
            }
        }
        let units = sums.replacing(with: 0, where: sums .< 0)
        let parts = units * above
        for unit in 0..<Self.hidden { logit += parts[unit] }
        return (FastMath.sigmoid(max(-15, min(15, logit))), units)
    }

    /// Learns from one outcome, and returns the probability that it predicted.
    mutating func learn(_ first: UnsafePointer<Float>, isRequested: Bool) -> Float {
        let (predicted, units) = forward(first)
        let error = (isRequested ? 1 : 0) - predicted
        // The gradients of units that are 0 are 0, so their weights stay.
        let back = (error * above).replacing(with: 0, where: units .<= 0)
        let top = error * units
        aboveSquares += top * top
        above += Self.rate * top / aboveSquares.squareRoot()
        for input in 0..<inputs {
            let gradient = error * first[input]
            linearSquares[input] += gradient * gradient
            linear[input] += Self.rate * gradient / linearSquares[input].squareRoot()
            let gradients = back * first[input]
            belowSquares[input] += gradients * gradients
            below[input] += Self.rate * gradients / belowSquares[input].squareRoot()
        }
        examples += 1
        return predicted
    }
}
