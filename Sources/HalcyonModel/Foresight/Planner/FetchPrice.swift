/// What an object must promise to be fetched, as a share of what a hit is worth.
///
/// The budget and the cache have room for few, so a fetch takes a chance from the next ones: it must promise more than the best
/// candidate of a plan does on average, as an animal passes over what is worth less than what it mostly finds (Charnov: Optimal
/// foraging, the marginal value theorem, 1976). That asks much of a fetch where much can be foreseen and little where there is
/// little.
struct FetchPrice {
    /// The part of the average that a fetch must promise.
    private static let share: Float = 1.1
    /// The weight of a plan in the average, once there were many.
    private static let rate: Float = 0.0005

    private let least: Float
    private let most: Float
    private var best: Float = 0
    private var plans: Float = 0

    init(least: Double, most: Double) {
        self.least = Float(least)
        self.most = Float(most)
    }

    /// The price of now.
    var now: Float { max(least, min(most, Self.share * best)) }

    /// Takes account of the probability of a plan's best candidate.
    mutating func note(best probability: Float) {
        plans += 1
        best += (probability - best) * max(Self.rate, 1 / plans)
    }
}
