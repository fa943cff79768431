/// A way to choose victims. Each gives a score to a resident; the resident with the lowest score is the victim.
enum Expert {
    /// The network; see ``NetworkScorer``.
    case network
    /// GreedyDual-Size-Frequency; see ``GreedyDual``.
    case greedyDual

    /// The name in reports.
    var name: String {
        switch self {
        case .network: "network"
        case .greedyDual: "gdsf"
        }
    }
}
