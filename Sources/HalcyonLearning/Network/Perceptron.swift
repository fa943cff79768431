import CPortableBLAS
import HalcyonEviction

/// A perceptron with one hidden layer and one output, the logit of a probability.
///
///     logit = w₂ · leakyReLU(x W₁) + b₂
///
/// The hidden layer has no bias: one input is the constant 1. All parameters are contiguous in memory (W₁ row by row, w₂,
/// b₂), and so are their gradients, so that an optimizer is one loop. A batch is two products.
/// Bytes: 8 a parameter, and 8 a hidden unit and row of the largest batch.
package struct Perceptron: ~Copyable {
    /// The slope of the activation below zero.
    static let leak: Float = 0.1

    package let inputs: Int
    package let hidden: Int
    let largestBatch: Int
    package var parameters: HeapArray<Float>
    package var gradients: HeapArray<Float>
    private var activations: HeapArray<Float>
    private var deltas: HeapArray<Float>
    private var residuals: HeapArray<Float>
    private let blas: BLAS
    var vectors: VectorKernels { blas.vectors }

    /// Creates a network with random weights: the first layer uniform with variance 2 / inputs (He et al., 2015), the second
    /// small, so that the first outputs are near 0.
    package init(inputs: Int, hidden: Int, largestBatch: Int, blas: BLAS, seed: UInt64) {
        self.blas = blas
        self.inputs = inputs
        self.hidden = hidden
        self.largestBatch = largestBatch
        let count = Perceptron.parameterCount(inputs: inputs, hidden: hidden)
        parameters = HeapArray(repeating: 0, count: count)
        gradients = HeapArray(repeating: 0, count: count)
        activations = HeapArray(repeating: 0, count: largestBatch * hidden)
        deltas = HeapArray(repeating: 0, count: largestBatch * hidden)
        residuals = HeapArray(repeating: 0, count: largestBatch)
        var generator = SplitMix64(seed: seed)
        let first = (6 / Float(inputs)).squareRoot()
        let second = 0.3 / Float(hidden).squareRoot()
        for index in 0..<(count - 1) {
            let bound = index < inputs * hidden ? first : second
            parameters[index] = Float(generator.nextUnit() * 2 - 1) * bound
        }
    }

    /// Replaces the weights by as many others.
    package func load(_ weights: [Float]) {
        precondition(weights.count == parameters.count, "The weights are those of another network.")
        for (index, weight) in weights.enumerated() { parameters[index] = weight }
    }

    /// The present weights.
    package var weights: [Float] { Array(UnsafeBufferPointer(start: parameters.base, count: parameters.count)) }

    /// Returns the number of parameters.
    package static func parameterCount(inputs: Int, hidden: Int) -> Int { inputs * hidden + hidden + 1 }

    package var byteCount: Int {
        parameters.byteCount + gradients.byteCount + activations.byteCount + deltas.byteCount + residuals.byteCount
    }

    /// Writes the logit of each of `rows` inputs. O(rows × inputs × hidden).
    package mutating func forward(_ input: UnsafePointer<Float>, rows: Int, logits: UnsafeMutablePointer<Float>) {
        precondition(rows <= largestBatch, "The batch exceeds the network's largest batch.")
        blas.multiply(input, parameters.base, into: activations.base, m: rows, n: hidden, k: inputs)
        finish(rows: rows, logits: logits)
    }

    /// Writes the logits of inputs that are columns of a matrix, not rows. No gradients can be computed for them.
    package mutating func forward(columns: UnsafePointer<Float>, rows: Int, logits: UnsafeMutablePointer<Float>) {
        precondition(rows <= largestBatch, "The batch exceeds the network's largest batch.")
        blas.multiplyTransposed(columns, parameters.base, into: activations.base, m: rows, n: hidden, k: inputs)
        finish(rows: rows, logits: logits)
    }

    /// Writes the logits from the products of the first layer.
    private func finish(rows: Int, logits: UnsafeMutablePointer<Float>) {
        let (weights, activation) = (parameters.base, activations.base)
        halcyon_rectify(vectors.routines, activation, rows * hidden, Perceptron.leak)
        blas.multiply(activation, vector: weights + inputs * hidden, into: logits, m: rows, n: hidden)
        let bias = weights[inputs * hidden + hidden]
        var index = 0
        while index < rows {
            logits[index] += bias
            index &+= 1
        }
    }

    /// Sets ``gradients`` to those of the mean logistic loss over the batch of the last call of ``forward(_:rows:logits:)``.
    /// O(rows × inputs × hidden).
    ///
    /// - Parameter labels: 1 for a positive sample, 0 for a negative one.
    package mutating func backward(
        _ input: UnsafePointer<Float>, rows: Int, logits: UnsafePointer<Float>, labels: UnsafePointer<Float>
    ) {
        let (activation, delta, residual) = (activations.base, deltas.base, residuals.base)
        let output = parameters.base + inputs * hidden
        let gradient = gradients.base
        halcyon_errors(vectors.routines, logits, labels, 1 / Float(rows), residual, rows)
        var total: Float = 0
        for row in 0..<rows { total += residual[row] }
        blas.multiplyTransposed(activation, vector: residual, into: gradient + inputs * hidden, m: rows, n: hidden)
        gradient[inputs * hidden + hidden] = total
        halcyon_propagate(
            vectors.routines, activation, residual, output, Perceptron.leak, delta, rows, hidden)
        blas.multiplyTransposed(input, delta, into: gradient, m: inputs, n: hidden, k: rows)
    }
}
