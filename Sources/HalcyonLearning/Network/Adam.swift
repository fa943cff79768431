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

    package init(parameters: Int) {
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
        let (mean, square, count) = (first.base, second.base, first.count)
        var index = 0
        while index < count {
            let gradient = gradients[index]
            let moved = Adam.firstDecay * mean[index] + (1 - Adam.firstDecay) * gradient
            let spread = Adam.secondDecay * square[index] + (1 - Adam.secondDecay) * gradient * gradient
            mean[index] = moved
            square[index] = spread
            parameters[index] -= scale * moved / (FastMath.root(spread) * correction + Adam.floor)
            index &+= 1
        }
    }
}
