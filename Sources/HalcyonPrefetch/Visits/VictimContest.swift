import HalcyonLearning

/// Compares two choosers of victims, the planner and the eviction policy, by which object of a pair is requested first: the
/// planner's victim or the object kept in its place.
struct VictimContest {
    private static let memory = 0.9995
    private static let enough = 100.0

    /// The pairs whose kept object was requested first, less those whose victim was.
    private var balance = Balance()
    private let usesPlannerAtFirst: Bool

    init(usesPlannerAtFirst: Bool) { self.usesPlannerAtFirst = usesPlannerAtFirst }

    /// Whether the planner chooses: if it has more gains than losses, or by default until there are 100 pairs.
    var usesPlanner: Bool { balance.squares < Self.enough ? usesPlannerAtFirst : balance.excess > 0 }

    /// The decayed counts of the pairs: those that the planner won, and the others.
    var counts: (gains: Float, losses: Float) {
        get { (Float((balance.squares + balance.excess) / 2), Float((balance.squares - balance.excess) / 2)) }
        set {
            (balance.excess, balance.squares) = (
                Double(newValue.gains) - Double(newValue.losses), Double(newValue.gains) + Double(newValue.losses)
            )
        }
    }

    /// Records which object of a pair was requested first. The kept one is a gain.
    mutating func note(isGain: Bool) { balance.count(isGain ? 1 : -1, keeping: Self.memory) }
}
