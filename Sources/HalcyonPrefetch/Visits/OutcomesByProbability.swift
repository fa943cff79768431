/// The outcomes of predictions, by the predicted probability: what a threshold is chosen by.
///
/// There is a bin for each half octave of the probability, from 2⁻¹⁶ to 1. An outcome counts half after some 14,000 others. Each bin
/// counts as if ``trust`` more outcomes had been as predicted. So a bin of high probability needs many outcomes that contradict it.
/// All operations are O(1) or O(bins).
struct OutcomesByProbability {
    static let bins = 32
    private static let memory: Float = 0.99995
    private static let trust: Float = 20
    /// The middle of a bin by its lowest probability: the fourth root of 2.
    private static let middle: Float = 1.1892071

    private var counts = [Float](repeating: 0, count: bins)
    private var requested = [Float](repeating: 0, count: bins)
    /// The weight of the next outcome; it grows in place of all others shrinking.
    private var weight: Float = 1

    /// The outcomes of all bins, and then those that were requests.
    var list: [Float] {
        get { (counts + requested).map { $0 / weight } }
        set {
            counts = Array(newValue[..<Self.bins])
            requested = Array(newValue[Self.bins...])
            weight = 1
        }
    }

    /// Records the outcome of a prediction.
    mutating func note(_ probability: Float, isRequested: Bool) {
        let bin = Self.bin(of: probability)
        counts[bin] += weight
        if isRequested { requested[bin] += weight }
        weight /= Self.memory
        guard weight > 1_024 else { return }
        for bin in counts.indices {
            counts[bin] /= weight
            requested[bin] /= weight
        }
        weight = 1
    }

    /// Returns the smallest probability from which on at least a share of the outcomes was a request, in every bin.
    ///
    /// It is more than 1, which nothing reaches, if not even the most probable came out so often.
    func threshold(forShare share: Float) -> Float {
        var least = Float(2)
        for bin in counts.indices.reversed() {
            let (low, count) = (Self.lowest(in: bin), counts[bin] / weight)
            let observed = (requested[bin] / weight + Self.trust * low * Self.middle) / (count + Self.trust)
            if observed < share { return least }
            least = low
        }
        return 0
    }

    private static func bin(of probability: Float) -> Int {
        let square = max(probability, 0x1p-20) * max(probability, 0x1p-20)
        return min(bins - 1, max(0, bins + Int(square.exponent)))
    }

    /// Returns the smallest probability of a bin: √2 to the power of the bins from it to 1, negative.
    private static func lowest(in bin: Int) -> Float {
        let power = bin - bins
        return Float(sign: .plus, exponent: power >> 1, significand: power & 1 == 1 ? 1.4142135 : 1)
    }
}
