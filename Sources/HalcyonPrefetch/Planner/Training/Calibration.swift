import HalcyonLearning

/// Turns logits into probabilities that agree with what happens, and keeps count of how well they do.
struct Calibration {
    /// The bounds of the bins: most candidates are improbable, so the bins grow with the probability.
    static let bounds: [Double] = [0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 1]
    /// The step of scale and shift.
    private static let rate: Float = 0.002

    /// What is taken for known of the best before anything is: that they are three quarters as good as they seem.
    private static let (priorExpected, priorHappened): (Float, Float) = (2, 1.5)
    /// What is kept of the counts of the best when another is counted.
    private static let memory: Float = 0.999

    private(set) var scale: Float = 1
    private(set) var shift: Float = 0
    /// Of the candidates that were among the best and worth their price: how many were expected to be asked for, and how many
    /// were, bin by bin. The best of many are those on which the network errs upwards, so that they fall short of what it says.
    private var expected = [Float](repeating: priorExpected, count: bounds.count - 1)
    private var happened = [Float](repeating: priorHappened, count: bounds.count - 1)
    private var counts = [Double](repeating: 0, count: bounds.count - 1)
    private var predicted = [Double](repeating: 0, count: bounds.count - 1)
    private var observed = [Double](repeating: 0, count: bounds.count - 1)

    /// A logit as it should have been.
    @inline(__always)
    func corrected(_ logit: Float) -> Float { scale * logit + shift }

    /// The probability that a logit stands for.
    @inline(__always)
    func probability(_ logit: Float) -> Float { FastMath.sigmoid(corrected(logit)) }

    /// By how much the best of a probability fall short of it, at most 1.
    func selectionRatio(at probability: Float) -> Float {
        let bin = Self.bin(probability)
        return min(1, happened[bin] / expected[bin])
    }

    /// The probability that a logit stands for if it is among the best, less what those fall short of it.
    func selectedProbability(_ logit: Float) -> Float {
        let probability = probability(logit)
        return probability * selectionRatio(at: probability)
    }

    private static func bin(_ probability: Float) -> Int {
        var bin = 0
        while bin < bounds.count - 2 && Double(probability) >= bounds[bin + 1] { bin += 1 }
        return bin
    }

    mutating func adopt(scale: Float, shift: Float) {
        self.scale = scale
        self.shift = shift
    }

    /// Counts a prediction of which the label is known now, and learns from it.
    ///
    /// - Parameter share: how many of those with this logit that nobody asked for are counted; each counts for all of them.
    mutating func note(logit: Float, share: Float = 1, isPositive: Bool) {
        let bounded = max(-12, min(12, logit))
        let probability = probability(bounded)
        let bin = Self.bin(probability)
        let weight = isPositive ? 1 : 1 / Double(share)
        counts[bin] += weight
        predicted[bin] += Double(probability) * weight
        observed[bin] += isPositive ? 1 : 0
        let among = FastMath.sigmoid(corrected(bounded) + CaseControl.offset(ofShare: share))
        let error = (isPositive ? 1 : 0) - among
        // The mean logit is far below zero: moving both by the same step would move the scale alone.
        scale = max(0.25, min(4, scale + Self.rate * error * (bounded + 3) / 4))
        shift = max(-4, min(4, shift + Self.rate * error))
    }

    /// Counts what became of a candidate that was among the best and worth its price.
    mutating func noteChosen(logit: Float, isPositive: Bool) {
        let probability = probability(logit)
        let bin = Self.bin(probability)
        expected[bin] = Self.priorExpected + (expected[bin] - Self.priorExpected) * Self.memory + probability
        happened[bin] =
            Self.priorHappened + (happened[bin] - Self.priorHappened) * Self.memory + (isPositive ? 1 : 0)
    }

    /// The bins, in order.
    var bins: [CalibrationBin] {
        counts.indices.map { bin in
            let count = max(counts[bin], 1)
            return CalibrationBin(
                from: Self.bounds[bin], to: Self.bounds[bin + 1], count: Int(counts[bin].rounded()),
                predicted: predicted[bin] / count,
                observed: observed[bin] / count)
        }
    }
}
