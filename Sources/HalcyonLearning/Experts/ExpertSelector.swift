/// A way to choose victims. Each gives a score to a resident; the resident with the lowest score is the victim.
enum Expert: UInt8, CaseIterable {
    /// The network; see ``NetworkScorer``.
    case network
    /// GreedyDual-Size-Frequency; see ``GreedyDual``.
    case greedyDual
    /// LRU: the score is the time of the last access.
    case recency

    /// The bit of ``SampleRow/outcome`` for an object that this expert would have evicted.
    var mark: UInt8 { 2 << rawValue }

    /// The name in reports.
    var name: String {
        switch self {
        case .network: "network"
        case .greedyDual: "gdsf"
        case .recency: "lru"
        }
    }
}

/// Selects the expert that chooses the victims: a heuristic until the network is ready, then the network, unless it makes
/// more mistakes.
///
/// Now and then every expert makes a shadow decision: the victim that it would choose among the same candidates, or for
/// ``GreedyDual`` with variable sizes among all residents. Once the label of that victim is known, it counts for each
/// expert that chose it: lost hits over freed space, as moving sums over some thousand decisions.
///
/// The network is overridden only if it has lost more than the better heuristic by more than chance explains: four
/// standard deviations of counts. We measured a network that had to prove itself first: on traces of 10,000 to 100,000
/// requests it started too late and lost half of its gain.
///
/// For reports, the experts are also compared by the ratio of sample pairs with different labels that they order
/// correctly (concordance).
struct ExpertSelector: BitwiseCopyable {
    /// The scores that the experts gave to one sample.
    struct Scores: BitwiseCopyable {
        var network: Float = 0
        var greedyDual: Float = 0
        var recency: Float = 0
        /// The weight of the sample in the concordance.
        var weight: Float = 1
    }

    private struct Record: BitwiseCopyable {
        var decisions = 0
        var lost: Float = 0
        var freed: Float = 0
        var ordered: Float = 0

        var loss: Float { freed > 0 ? lost / freed : 0 }
    }

    /// The labelled shadow decisions of an expert before they count.
    private static let fewestDecisions = 100
    /// The ratio of a moving sum that is kept at each update.
    private static let keep: Float = 0.999

    private typealias Recent = (Scores, Scores, Scores, Scores)
    private var positives: Recent = (Scores(), Scores(), Scores(), Scores())
    private var negatives: Recent = (Scores(), Scores(), Scores(), Scores())
    private var positiveCount = 0
    private var negativeCount = 0
    private var pairs: Float = 0
    private var network = Record()
    private var greedyDual = Record()
    private var recency = Record()

    /// Returns the hits that the decisions of an expert would have lost per unit of freed space.
    func loss(of expert: Expert) -> Float { record(of: expert).loss }

    /// Returns the ratio of sample pairs that an expert orders correctly; 0 before the first pair.
    func concordance(of expert: Expert) -> Float { pairs > 0 ? record(of: expert).ordered / pairs : 0 }

    /// Returns the expert that decides.
    ///
    /// - Parameter usesUniformSizes: whether all objects have the same size. Otherwise recency never decides: its victims
    ///   are large objects that happen to be old, which loses little for the freed space and yet more than necessary.
    func best(networkIsReady: Bool, usesUniformSizes: Bool) -> Expert {
        let isKnown = min(greedyDual.decisions, recency.decisions) >= ExpertSelector.fewestDecisions
        let heuristic: Expert = isKnown && usesUniformSizes && recency.loss < greedyDual.loss ? .recency : .greedyDual
        guard networkIsReady else { return heuristic }
        guard isKnown, network.decisions >= ExpertSelector.fewestDecisions else { return .network }
        let other = record(of: heuristic)
        // The network's losses, scaled to the space that the heuristic freed.
        let scale = other.freed / max(network.freed, .leastNormalMagnitude)
        let excess = network.lost * scale - other.lost
        return excess > 4 * (network.lost * scale * scale + other.lost).squareRoot() ? heuristic : .network
    }

    /// Counts the label of a shadow decision.
    ///
    /// - Parameters:
    ///   - marks: the ``Expert/mark`` of each expert that made the decision.
    ///   - isPositive: whether the object was requested again, so that its eviction would have lost a hit.
    ///   - weight: the inverse of the space that the eviction would have freed.
    mutating func countDecision(marks: UInt8, isPositive: Bool, weight: Float) {
        if marks & Expert.network.mark != 0 { ExpertSelector.count(&network, isPositive, weight) }
        if marks & Expert.greedyDual.mark != 0 { ExpertSelector.count(&greedyDual, isPositive, weight) }
        if marks & Expert.recency.mark != 0 { ExpertSelector.count(&recency, isPositive, weight) }
    }

    /// Compares the scores of a labelled sample with those of the last four samples with the other label.
    mutating func compare(_ scores: Scores, isPositive: Bool) {
        if isPositive {
            if negativeCount > 0 { countPair(scores, negatives.0) }
            if negativeCount > 1 { countPair(scores, negatives.1) }
            if negativeCount > 2 { countPair(scores, negatives.2) }
            if negativeCount > 3 { countPair(scores, negatives.3) }
            positives = (scores, positives.0, positives.1, positives.2)
            positiveCount = min(positiveCount + 1, 4)
        } else {
            if positiveCount > 0 { countPair(positives.0, scores) }
            if positiveCount > 1 { countPair(positives.1, scores) }
            if positiveCount > 2 { countPair(positives.2, scores) }
            if positiveCount > 3 { countPair(positives.3, scores) }
            negatives = (scores, negatives.0, negatives.1, negatives.2)
            negativeCount = min(negativeCount + 1, 4)
        }
    }

    private func record(of expert: Expert) -> Record {
        switch expert {
        case .network: network
        case .greedyDual: greedyDual
        case .recency: recency
        }
    }

    private static func count(_ record: inout Record, _ isPositive: Bool, _ weight: Float) {
        record.decisions += 1
        record.lost = record.lost * keep + (isPositive ? 1 : 0)
        record.freed = record.freed * keep + 1 / weight
    }

    private mutating func countPair(_ positive: Scores, _ negative: Scores) {
        let (keep, weight) = (ExpertSelector.keep, positive.weight)
        pairs = pairs * keep + weight
        network.ordered = network.ordered * keep + weight * ExpertSelector.order(positive.network, negative.network)
        greedyDual.ordered =
            greedyDual.ordered * keep + weight * ExpertSelector.order(positive.greedyDual, negative.greedyDual)
        recency.ordered = recency.ordered * keep + weight * ExpertSelector.order(positive.recency, negative.recency)
    }

    @inline(__always)
    private static func order(_ greater: Float, _ less: Float) -> Float {
        greater > less ? 1 : greater == less ? 0.5 : 0
    }
}
