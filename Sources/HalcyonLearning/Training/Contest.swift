/// Who decides: a heuristic until the network is ready, then the network, unless it makes more mistakes.
///
/// Now and then all judges are asked whom they would evict, among the same candidates (``GreedyDual`` where costs differ: among all residents). When it is known whether that object
/// was asked for again within the horizon, it counts for those who chose it: hits lost, over the room that was made, as
/// moving sums over some thousand choices. The network hands back only where it has lost more than the better heuristic
/// by more than chance explains (four standard deviations of counts): measured, a network that was made to prove itself
/// first came too late on traces of 10,000 to 100,000 requests and gave away half of its gain.
///
/// For reports, the judges are also compared by how often they put a pair of samples with different labels in order.
struct Contest: BitwiseCopyable {
    /// Who may decide.
    enum Judge: UInt8 {
        case network, greedyDual, recency

        /// The bit of ``Sample/outcome`` that marks what this judge would have evicted.
        var choice: UInt8 { 2 << rawValue }
    }

    /// What the network and the heuristics gave a sample.
    struct Verdicts: BitwiseCopyable {
        var network: Float = 0
        var greedyDual: Float = 0
        var recency: Float = 0
        var weight: Float = 1
    }

    private struct Record: BitwiseCopyable {
        var choices = 0
        var lost: Float = 0
        var freed: Float = 0
        var ordered: Float = 0

        var loss: Float { freed > 0 ? lost / freed : 0 }
    }

    /// Choices of the network that must be known before they count.
    private static let fewestChoices = 100

    private typealias Recent = (Verdicts, Verdicts, Verdicts, Verdicts)
    private var positives: Recent = (Verdicts(), Verdicts(), Verdicts(), Verdicts())
    private var negatives: Recent = (Verdicts(), Verdicts(), Verdicts(), Verdicts())
    private var positiveCount = 0
    private var negativeCount = 0
    private var pairs: Float = 0
    private var network = Record()
    private var greedyDual = Record()
    private var recency = Record()

    /// The hits that a judge's choices would have lost for each unit of room: a moving mean.
    func loss(_ judge: Judge) -> Float { record(judge).loss }

    /// The share of pairs in order, by judge; 0 before there was a pair.
    func concordance(_ judge: Judge) -> Float { pairs > 0 ? record(judge).ordered / pairs : 0 }

    /// Who is to decide.
    ///
    /// - Parameter costsDiffer: whether objects take different room. Then recency never decides: it makes room by large
    ///   objects that happen to be old, which loses little for the room and yet more than room would have to cost.
    func winner(networkIsReady: Bool, costsDiffer: Bool) -> Judge {
        let isKnown = min(greedyDual.choices, recency.choices) >= Contest.fewestChoices
        let heuristic: Judge = isKnown && !costsDiffer && recency.loss < greedyDual.loss ? .recency : .greedyDual
        guard networkIsReady else { return heuristic }
        guard isKnown, network.choices >= Contest.fewestChoices else { return .network }
        let best = record(heuristic)
        // What the network would have lost while making as much room as the heuristic did.
        let room = best.freed / max(network.freed, .leastNormalMagnitude)
        let excess = network.lost * room - best.lost
        return excess > 4 * (network.lost * room * room + best.lost).squareRoot() ? heuristic : .network
    }

    /// Takes into account what became of an object that judges would have evicted.
    mutating func note(choices: UInt8, isPositive: Bool, weight: Float) {
        if choices & Judge.network.choice != 0 { Contest.note(&network, isPositive, weight) }
        if choices & Judge.greedyDual.choice != 0 { Contest.note(&greedyDual, isPositive, weight) }
        if choices & Judge.recency.choice != 0 { Contest.note(&recency, isPositive, weight) }
    }

    /// Takes a sample into account whose label has become known.
    mutating func note(_ verdicts: Verdicts, isPositive: Bool) {
        if isPositive {
            if negativeCount > 0 { compare(verdicts, negatives.0) }
            if negativeCount > 1 { compare(verdicts, negatives.1) }
            if negativeCount > 2 { compare(verdicts, negatives.2) }
            if negativeCount > 3 { compare(verdicts, negatives.3) }
            positives = (verdicts, positives.0, positives.1, positives.2)
            positiveCount = min(positiveCount + 1, 4)
        } else {
            if positiveCount > 0 { compare(positives.0, verdicts) }
            if positiveCount > 1 { compare(positives.1, verdicts) }
            if positiveCount > 2 { compare(positives.2, verdicts) }
            if positiveCount > 3 { compare(positives.3, verdicts) }
            negatives = (verdicts, negatives.0, negatives.1, negatives.2)
            negativeCount = min(negativeCount + 1, 4)
        }
    }

    private func record(_ judge: Judge) -> Record {
        switch judge {
        case .network: network
        case .greedyDual: greedyDual
        case .recency: recency
        }
    }

    private static func note(_ record: inout Record, _ isPositive: Bool, _ weight: Float) {
        let keep: Float = 0.999
        record.choices += 1
        record.lost = record.lost * keep + (isPositive ? 1 : 0)
        record.freed = record.freed * keep + 1 / weight
    }

    private mutating func compare(_ positive: Verdicts, _ negative: Verdicts) {
        let keep: Float = 0.999
        let weight = positive.weight
        pairs = pairs * keep + weight
        network.ordered = network.ordered * keep + weight * Contest.order(positive.network, negative.network)
        greedyDual.ordered =
            greedyDual.ordered * keep + weight * Contest.order(positive.greedyDual, negative.greedyDual)
        recency.ordered = recency.ordered * keep + weight * Contest.order(positive.recency, negative.recency)
    }

    @inline(__always)
    private static func order(_ greater: Float, _ less: Float) -> Float {
        greater > less ? 1 : greater == less ? 0.5 : 0
    }
}
