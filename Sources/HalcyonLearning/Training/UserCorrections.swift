import HalcyonEviction

/// The corrections of single users to a shared network. Each is a logistic regression over the network's inputs, trained on
/// that user's samples alone. Its output is added to the network's logit.
///
/// The prior of each weight is normal with mean 0. A sample moves a weight by its gradient over the precision accumulated
/// so far, so that steps get shorter. This follows the diagonal Laplace approximation of Chapelle and Li (An empirical
/// evaluation of Thompson sampling, 2011, algorithm 3), one sample at a time.
///
/// A correction is used only while its log loss on its user's samples, before it learns from them, is clearly lower than
/// that of the network alone. Both are moving means. A correction that follows noise is a little better by chance half of
/// the time.
///
/// Every operation is O(inputs). Bytes: ``bytesEach`` a user.
struct UserCorrections: ~Copyable {
    /// The number of no correction.
    static let none = UInt32.max
    /// The precision of the prior: the inverse of the expected square of a weight.
    static let prior: Float = 300
    /// The largest precision: steps do not get shorter beyond it, so that a correction follows changes.
    static let mostPrecision: Float = 2_000
    /// The samples of a user before the correction is used.
    static let fewestSamples: Float = 64
    /// The ratio of a moving mean that is kept at each sample.
    static let keep: Float = 0.98
    /// The ratio of the network's log loss that a correction must save to be used.
    static let margin: Float = 0.02

    private static let width = Feature.width
    private static let stride = 2 * width + 3
    /// The bytes of a user: weights and precisions, both losses, the number of samples.
    static let bytesEach = stride * MemoryLayout<Float>.stride

    private var values = HeapArray<Float>(repeating: 0, count: 0)
    private(set) var count = 0
    private let sums = HeapArray<Float>(repeating: 0, count: OnlineTrainer.batch)
    private let blas: BLAS

    init(blas: BLAS) { self.blas = blas }

    var byteCount: Int { values.byteCount + sums.byteCount }

    /// Adds the correction of another user and returns its number.
    mutating func open() -> UInt32 {
        let number = count
        count += 1
        if count * UserCorrections.stride > values.count {
            values.grow(to: max(count, number * 2) * UserCorrections.stride, filling: 0)
        }
        let user = values.base + number * UserCorrections.stride
        user.update(repeating: 0, count: UserCorrections.stride)
        (user + UserCorrections.width).update(repeating: UserCorrections.prior, count: UserCorrections.width)
        return UInt32(number)
    }

    /// Returns the log loss on a user's samples in bits, as moving means: of the network alone, and with the correction.
    func logLoss(_ number: UInt32) -> (shared: Float, adapted: Float) {
        let losses = losses(number)
        return (losses[0], losses[1])
    }

    /// Returns whether a correction predicts clearly better than the network alone.
    func isUsed(_ number: UInt32) -> Bool {
        if number == UserCorrections.none { return false }
        let losses = losses(number)
        return losses[2] >= UserCorrections.fewestSamples && losses[1] < losses[0] * (1 - UserCorrections.margin)
    }

    /// Returns the addition to the network's logit of a sample: 0 unless the correction is used.
    func correction(_ number: UInt32, _ inputs: UnsafePointer<Float>) -> Float {
        isUsed(number) ? sum(weights(number), inputs) : 0
    }

    /// Adds a correction to the network's logits of several samples, if it is used.
    ///
    /// - Parameter columns: the network's inputs × `count`.
    func correct(_ number: UInt32, columns: UnsafePointer<Float>, count: Int, logits: UnsafeMutablePointer<Float>) {
        guard isUsed(number) else { return }
        blas.multiplyTransposed(columns, vector: weights(number), into: sums.base, m: UserCorrections.width, n: count)
        for column in 0..<count { logits[column] += sums[column] }
    }

    private func sum(_ weights: UnsafePointer<Float>, _ inputs: UnsafePointer<Float>) -> Float {
        var sum: Float = 0
        var index = 0
        while index < UserCorrections.width {
            sum += weights[index] * inputs[index]
            index &+= 1
        }
        return sum
    }

    /// Predicts a sample, compares the prediction with its label, then learns from it.
    ///
    /// - Parameter logit: the logit of the network alone.
    mutating func learn(_ number: UInt32, _ inputs: UnsafePointer<Float>, logit: Float, isPositive: Bool) {
        let (weights, losses) = (weights(number), losses(number))
        let corrected = logit + sum(weights, inputs)
        // The mean of the first samples, then a moving one.
        losses[2] += 1
        let share = max(1 / losses[2], 1 - UserCorrections.keep)
        losses[0] += (UserCorrections.bits(logit, isPositive) - losses[0]) * share
        losses[1] += (UserCorrections.bits(corrected, isPositive) - losses[1]) * share
        let probability = FastMath.sigmoid(corrected)
        let error = (isPositive ? 1 : 0) - probability
        let curvature = probability * (1 - probability)
        let precisions = weights + UserCorrections.width
        var index = 0
        while index < UserCorrections.width {
            let input = inputs[index]
            precisions[index] = min(precisions[index] + curvature * input * input, UserCorrections.mostPrecision)
            weights[index] += error * input / precisions[index]
            index &+= 1
        }
    }

    private static func bits(_ logit: Float, _ isPositive: Bool) -> Float {
        -FastMath.log2Sigmoid(isPositive ? logit : -logit)
    }

    private func weights(_ number: UInt32) -> UnsafeMutablePointer<Float> {
        values.base + Int(number) * UserCorrections.stride
    }

    /// Returns both losses and the number of samples.
    private func losses(_ number: UInt32) -> UnsafeMutablePointer<Float> {
        weights(number) + 2 * UserCorrections.width
    }
}
