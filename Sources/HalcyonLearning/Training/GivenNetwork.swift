/// The network that a cache was given, beside the one that it trains further.
///
/// A cache of one user has few samples at first, and a network that was trained on them can be worse than the given one. So both
/// predict each group of samples before the cache learns from it, and the network with the lower sum of losses decides: the given
/// one at first. O(1) networks a group. Bytes: 4 a weight.
struct GivenNetwork: ~Copyable {
    /// The weights; those of the trained network while the given one is in its place.
    private var weights: HeapArray<Float>
    private var logits: HeapArray<Float>
    /// The losses of the given network, less those of the trained one.
    private var balance = Balance()

    /// Creates it with the given weights; with none, there is no such network.
    init(_ given: [Float] = []) {
        weights = HeapArray(repeating: 0, count: given.count)
        for (index, weight) in given.enumerated() { weights[index] = weight }
        logits = HeapArray(repeating: 0, count: given.isEmpty ? 0 : OnlineTrainer.group)
    }

    /// Whether there is one.
    var exists: Bool { weights.count > 0 }
    /// Whether the given network decides.
    var decides: Bool { exists && balance.excess <= 0 }

    var byteCount: Int { weights.byteCount + logits.byteCount }

    /// Runs `body` with the given weights in the network.
    mutating func serving<Result>(
        _ network: inout Perceptron, _ body: (inout Perceptron) -> Result
    ) -> Result {
        swap(&network.parameters, &weights)
        defer { swap(&network.parameters, &weights) }
        return body(&network)
    }

    /// Compares the networks on samples that neither has learned from, of which the trained one's logits are known.
    mutating func compare(
        _ network: inout Perceptron, _ input: UnsafePointer<Float>, rows: Int, labels: UnsafePointer<Float>,
        trained: UnsafePointer<Float>
    ) {
        let logits = logits.base
        serving(&network) { $0.forward(input, rows: rows, logits: logits) }
        for row in 0..<rows {
            let difference = GivenNetwork.loss(logits[row], labels[row]) - GivenNetwork.loss(trained[row], labels[row])
            balance.count(Double(difference), keeping: 1)
        }
    }

    /// The cross-entropy in bits.
    private static func loss(_ logit: Float, _ label: Float) -> Float {
        -FastMath.log2Sigmoid(label > 0 ? logit : -logit)
    }
}
