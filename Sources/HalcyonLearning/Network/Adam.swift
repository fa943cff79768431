import CPortableBLAS

/// The optimizer Adam (Kingma and Ba: Adam, a method for stochastic optimization, 2015). Each parameter moves by its mean
/// gradient over the root of its mean squared gradient, both corrected for their start at zero.
///
/// A step is O(parameters). Bytes: 8 a parameter.
package struct Adam: ~Copyable {
    static let firstDecay: Float = 0.9
    static let secondDecay: Float = 0.999
    static let floor: Float = 1e-8

    private var first: HeapArray<Float>
    private var second: HeapArray<Float>
    private var firstPower: Float = 1
    private var secondPower: Float = 1

    private let vectors: VectorKernels

    package init(parameters: Int, vectors: VectorKernels = VectorKernels()) {
        self.vectors = vectors
        first = HeapArray(repeating: 0, count: parameters)
        second = HeapArray(repeating: 0, count: parameters)
    }

    package var byteCount: Int { first.byteCount + second.byteCount }

    /// Moves `parameters` against `gradients`, at most by about `rate` each.
    package mutating func step(
        _ parameters: UnsafeMutablePointer<Float>, against gradients: UnsafePointer<Float>, rate: Float
    ) {
        firstPower *= Adam.firstDecay
        secondPower *= Adam.secondDecay
        let scale = rate / (1 - firstPower)
        let correction = 1 / (1 - secondPower).squareRoot()
        halcyon_adam(
            vectors.routines, parameters, gradients, first.base, second.base, Adam.firstDecay, Adam.secondDecay, scale,
            correction,
            Adam.floor, first.count)
    }
}
