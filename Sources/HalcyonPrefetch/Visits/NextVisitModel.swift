import HalcyonLearning
import HalcyonSupport

/// A small network that is learned online: the probability that a user requests an object in its next visit.
///
/// Its logit is linear in the inputs, plus ``hidden`` rectified units. Weights follow the gradient with a step for each weight that
/// shrinks as its gradients add up (AdaGrad: Duchi, Hazan, Singer 2011). A prediction and a step are O(``inputs`` × ``hidden``).
struct NextVisitModel {
    /// The number of inputs, the constant 1 included.
    static let inputs = 22
    /// The number of rectified units.
    static let hidden = 12
    private static let rate: Float = 0.05
    /// The examples after which predictions are used.
    private static let enough = 2_000

    /// The weights of the linear part, of each unit's inputs, and of the units.
    var weights: [Float]
    var gradients: [Float]
    private var units = [Float](repeating: 0, count: hidden)
    var examples = 0

    init(seed: UInt64) {
        let (inputs, hidden) = (Self.inputs, Self.hidden)
        weights = Array(repeating: 0, count: inputs * (1 + hidden) + hidden)
        gradients = Array(repeating: 1, count: weights.count)
        var generator = SplitMix64(seed: seed)
        weights[0] = -3
        for place in inputs..<inputs * (1 + hidden) {
            weights[place] = (Float(generator.next() >> 40) * 0x1p-24 - 0.5) * 0.6
        }
        for unit in 0..<hidden {
            weights[inputs * (1 + hidden) + unit] = (Float(generator.next() >> 40) * 0x1p-24 - 0.5) * 0.6
        }
    }

    /// Whether enough examples were learned for predictions to be used.
    var isReady: Bool { examples >= Self.enough }

    /// Returns the probability for inputs that begin at `first`.
    @inline(__always)
    mutating func probability(_ first: UnsafePointer<Float>) -> Float {
        let (inputs, hidden) = (Self.inputs, Self.hidden)
        return weights.withUnsafeBufferPointer { weights in
            units.withUnsafeMutableBufferPointer { units in
                var logit: Float = 0
                for input in 0..<inputs { logit += weights[input] * first[input] }
                for unit in 0..<hidden {
                    var sum: Float = 0
                    let base = inputs * (1 + unit)
                    for input in 0..<inputs { sum += weights[base + input] * first[input] }
                    units[unit] = max(0, sum)
                    logit += units[unit] * weights[inputs * (1 + hidden) + unit]
                }
                return FastMath.sigmoid(max(-15, min(15, logit)))
            }
        }
    }

    /// Learns from one outcome.
    mutating func learn(_ first: UnsafePointer<Float>, isRequested: Bool) {
        let (inputs, hidden) = (Self.inputs, Self.hidden)
        let error = (isRequested ? 1 : 0) - probability(first)
        func step(_ place: Int, _ gradient: Float) {
            gradients[place] += gradient * gradient
            weights[place] += Self.rate * gradient / gradients[place].squareRoot()
        }
        for unit in 0..<hidden where units[unit] > 0 {
            let top = inputs * (1 + hidden) + unit
            let back = error * weights[top]
            step(top, error * units[unit])
            let base = inputs * (1 + unit)
            for input in 0..<inputs { step(base + input, back * first[input]) }
        }
        for input in 0..<inputs { step(input, error * first[input]) }
        examples += 1
    }
}
