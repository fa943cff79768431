import HalcyonEviction

/// Labelled samples that a network is evaluated on: a uniform draw with a bound on their number. Each has the network as
/// of when its label became known, before it learned from the sample (prequential evaluation).
///
/// Observed samples are trained on like all others. Those that arrive before the network has learned enough to decide
/// are not kept. The draw is reservoir sampling (Vitter: Random sampling with a reservoir, algorithm R, 1985). O(weights)
/// a sample, and a copy of the weights for each training step that a kept sample was scored after.
final class ObservedSamples {
    /// A kept sample.
    struct Sample {
        /// The number of labels that were known then, this one included.
        let order: Int
        /// The bytes of the ``SampleRow``.
        let row: [UInt8]
        /// The network's logit before it could learn anything later.
        let logit: Float
        /// The network then. Samples of the same step share one copy of its weights.
        let network: Network
    }

    /// The weights of a network after a number of training steps.
    struct Network {
        var steps = -1
        var weights: [Float] = []
    }

    private let every: Int
    private let bound: Int
    private var samples: [Sample] = []
    private var seen = 0
    private var drawn = 0
    private var generator: SplitMix64
    private var latest = Network()

    /// Observes every `every`-th sample and keeps at most `bound` of them.
    init(every: Int, bound: Int, seed: UInt64) {
        self.every = every
        self.bound = bound
        generator = SplitMix64(seed: seed ^ 0xE81D)
    }

    /// Counts labelled samples that a network has predicted and is about to learn from.
    ///
    /// - Parameter isReady: whether the network has learned enough to decide.
    func observe(
        _ rows: UnsafePointer<UnsafePointer<UInt8>>, _ logits: UnsafePointer<Float>, count: Int,
        by network: borrowing Perceptron, steps: Int, isReady: Bool
    ) {
        if latest.steps != steps { latest = Network(steps: steps, weights: network.weights) }
        for index in 0..<count { self.count(rows[index], logit: logits[index], by: latest, isReady: isReady) }
    }

    /// Counts a labelled sample, and keeps it if it is one of those observed, the network is ready and the draw says so.
    func count(_ row: UnsafePointer<UInt8>, logit: Float, by network: Network, isReady: Bool) {
        seen += 1
        guard seen % every == 0, isReady else { return }
        drawn += 1
        let place = samples.count < bound ? samples.count : generator.next(below: drawn)
        guard place < bound else { return }
        let sample = Sample(
            order: seen, row: Array(UnsafeBufferPointer(start: row, count: SampleRow.width)), logit: logit,
            network: network)
        if place < samples.count { samples[place] = sample } else { samples.append(sample) }
    }

    /// Returns the kept samples, in the order in which their labels became known. O(n log n).
    func inOrder() -> [Sample] { samples.sorted { $0.order < $1.order } }
}
