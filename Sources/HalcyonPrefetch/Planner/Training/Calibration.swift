import HalcyonLearning

/// The calibration of logits to probabilities, with statistics of its accuracy.
struct Calibration {
    /// The bounds of the bins. Most candidates are improbable, so the bins grow with the probability.
    static let bounds: [Double] = [0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 1]
    /// The step size of scale and shift.
    private static let rate: Float = 0.002

    /// The prior counts of selected candidates: three quarters of the expected requests happen.
    private static let (priorExpected, priorHappened): (Float, Float) = (2, 1.5)
    /// The decay of the counts of selected candidates.
    private static let memory: Float = 0.999

    private(set) var scale: Float = 1
    private(set) var shift: Float = 0
    /// The expected and the observed requests for selected candidates, in each bin. The network overestimates the best
    /// of many candidates (the winner's curse), so fewer are requested than expected.
    private var expected = [Float](repeating: priorExpected, count: bounds.count - 1)
    private var happened = [Float](repeating: priorHappened, count: bounds.count - 1)
    private var counts = [Double](repeating: 0, count: bounds.count - 1)
    private var predicted = [Double](repeating: 0, count: bounds.count - 1)
    private var observed = [Double](repeating: 0, count: bounds.count - 1)

    /// Returns the calibrated logit.
    @inline(__always)
    func corrected(_ logit: Float) -> Float { scale * logit + shift }

    /// Returns the calibrated probability of a logit.
    @inline(__always)
    func probability(_ logit: Float) -> Float { FastMath.sigmoid(corrected(logit)) }

    /// Returns the ratio of observed to expected requests for selected candidates with this probability, at most 1.
    func selectionRatio(at probability: Float) -> Float {
        let bin = Self.bin(probability)
        return min(1, happened[bin] / expected[bin])
    }

    /// Returns the probability of a selected candidate, corrected by ``selectionRatio(at:)``.
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

    /// Records a labelled prediction and updates scale and shift.
    ///
    /// - Parameter share: the sampling share of negative candidates with this logit; each one counts for all of them.
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
        // The mean logit is far below zero: with the same step for both, only the scale would move.
        scale = max(0.25, min(4, scale + Self.rate * error * (bounded + 3) / 4))
        shift = max(-4, min(4, shift + Self.rate * error))
    }

    /// Records the outcome of a selected candidate.
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
