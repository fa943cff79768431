/// Turns logits into probabilities that agree with what happens, and keeps count of how well they do.
struct Calibration {
    /// The bounds of the bins: most candidates are improbable, so the bins grow with the probability.
    static let bounds: [Double] = [0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 1]
    /// The step of scale and shift.
    private static let rate: Float = 0.002

    private(set) var scale: Float = 1
    private(set) var shift: Float = 0
    private var counts = [Int](repeating: 0, count: bounds.count - 1)
    private var predicted = [Double](repeating: 0, count: bounds.count - 1)
    private var observed = [Int](repeating: 0, count: bounds.count - 1)

    /// The probability that a logit stands for.
    @inline(__always)
    func probability(_ logit: Float) -> Float { FastMath.sigmoid(scale * logit + shift) }

    mutating func adopt(scale: Float, shift: Float) {
        self.scale = scale
        self.shift = shift
    }

    /// Counts a prediction of which the label is known now, and learns from it.
    mutating func note(logit: Float, isPositive: Bool) {
        let bounded = max(-12, min(12, logit))
        let probability = probability(bounded)
        var bin = 0
        while bin < counts.count - 1 && Double(probability) >= Self.bounds[bin + 1] { bin += 1 }
        counts[bin] += 1
        predicted[bin] += Double(probability)
        observed[bin] += isPositive ? 1 : 0
        let error = (isPositive ? 1 : 0) - probability
        // The mean logit is far below zero: moving both by the same step would move the scale alone.
        scale = max(0.25, min(4, scale + Self.rate * error * (bounded + 3) / 4))
        shift = max(-4, min(4, shift + Self.rate * error))
    }

    /// The bins, in order.
    var bins: [CalibrationBin] {
        counts.indices.map { bin in
            let count = Double(max(counts[bin], 1))
            return CalibrationBin(
                from: Self.bounds[bin], to: Self.bounds[bin + 1], count: counts[bin], predicted: predicted[bin] / count,
                observed: Double(observed[bin]) / count)
        }
    }
}
