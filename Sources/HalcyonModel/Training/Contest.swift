/// Who decides: the network or a heuristic, whichever has lately put more pairs of samples in the right order.
///
/// Each sample, when its label is known and before the network learns from it, is compared with the last few of the other
/// label: the one that was asked for again should have been given the greater value. An error weighs what the eviction
/// would have lost for the room it made. The shares of pairs in order are moving means.
struct Contest: BitwiseCopyable {
    /// Who may decide.
    enum Judge: UInt8 {
        case network, greedyDual, recency
    }

    /// What each judge gave a sample.
    struct Verdicts: BitwiseCopyable {
        var network: Float = 0
        var greedyDual: Float = 0
        var recency: Float = 0
        var weight: Float = 1
    }

    private typealias Recent = (Verdicts, Verdicts, Verdicts, Verdicts)
    private var positives: Recent = (Verdicts(), Verdicts(), Verdicts(), Verdicts())
    private var negatives: Recent = (Verdicts(), Verdicts(), Verdicts(), Verdicts())
    private var positiveCount = 0
    private var negativeCount = 0
    private var total: Float = 0
    private var network: Float = 0
    private var greedyDual: Float = 0
    private var recency: Float = 0

    /// The share of pairs in order, by judge; 0 before there was a pair.
    func concordance(_ judge: Judge) -> Float {
        guard total > 0 else { return 0 }
        return switch judge {
        case .network: network / total
        case .greedyDual: greedyDual / total
        case .recency: recency / total
        }
    }

    /// Who is to decide. The network has to be as good as the best heuristic; recency has to be clearly better than GDSF.
    func winner(networkIsReady: Bool) -> Judge {
        let heuristic = max(greedyDual, recency)
        if networkIsReady && network >= heuristic { return .network }
        return recency > greedyDual + 0.02 * total ? .recency : .greedyDual
    }

    /// Takes a settled sample into account.
    mutating func note(_ verdicts: Verdicts, isPositive: Bool) {
        if isPositive {
            let known = negatives
            for (index, other) in [known.0, known.1, known.2, known.3].enumerated() where index < negativeCount {
                compare(verdicts, other)
            }
            positives = (verdicts, positives.0, positives.1, positives.2)
            positiveCount = min(positiveCount + 1, 4)
        } else {
            let known = positives
            for (index, other) in [known.0, known.1, known.2, known.3].enumerated() where index < positiveCount {
                compare(other, verdicts)
            }
            negatives = (verdicts, negatives.0, negatives.1, negatives.2)
            negativeCount = min(negativeCount + 1, 4)
        }
    }

    private mutating func compare(_ positive: Verdicts, _ negative: Verdicts) {
        let keep: Float = 0.999
        let weight = positive.weight
        total = total * keep + weight
        network = network * keep + weight * Contest.order(positive.network, negative.network)
        greedyDual = greedyDual * keep + weight * Contest.order(positive.greedyDual, negative.greedyDual)
        recency = recency * keep + weight * Contest.order(positive.recency, negative.recency)
    }

    private static func order(_ greater: Float, _ less: Float) -> Float {
        greater > less ? 1 : greater == less ? 0.5 : 0
    }
}
