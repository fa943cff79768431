/// What an object must promise to be fetched, as a share of what a hit is worth.
///
/// The budget and the cache have room for few, so a fetch takes a chance from the next ones: as an animal passes over what is worth
/// less than what it mostly finds (Charnov: Optimal foraging, the marginal value theorem, 1976), it must promise as much as the best
/// candidate of a plan does on average where that is ``reference``, and where the best promise less, less of that in the same
/// proportion: there chances lie close together. Where little of what is fetched is wasted, more may be risked: the price is no higher
/// than ``perSquare`` times the square of how many are wasted for one that is used.
struct PrefetchThreshold {
    /// What the best promise where a fetch must promise as much.
    private static let reference: Float = 0.04
    /// The weight of a plan in the average, once there were many.
    private static let rate: Float = 0.0005
    /// The maximum that is asked of a fetch where one is wasted for one that is used; four times as much where two are.
    private static let perSquare: Float = 0.003
    /// What is kept of the counts of used and wasted objects when another is counted.
    private static let memory: Float = 0.999

    private let minimum: Float
    private let maximum: Float
    private var best: Float = 0
    private var plans: Float = 0
    /// Of the objects that were worth their price: how many were asked for within the horizon, and how many were not. Before
    /// anything is known one in eight is.
    private var used: Float = 2
    private var wasted: Float = 14

    init(minimum: Double, maximum: Double) {
        self.minimum = Float(minimum)
        self.maximum = Float(maximum)
    }

    /// The price of now.
    var current: Float {
        let wastedPerUsed = wasted / used
        return max(minimum, min(maximum, Self.perSquare * wastedPerUsed * wastedPerUsed, best * best / Self.reference))
    }

    /// Takes account of the probability of a plan's best candidate.
    mutating func note(best probability: Float) {
        plans += 1
        best += (probability - best) * max(Self.rate, 1 / plans)
    }

    /// Takes account of what became of an object that was worth its price.
    mutating func note(isUsed: Bool) {
        used = used * Self.memory + (isUsed ? 1 : 0)
        wasted = wasted * Self.memory + (isUsed ? 0 : 1)
    }
}
