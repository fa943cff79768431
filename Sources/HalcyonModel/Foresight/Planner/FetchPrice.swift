/// What an object must promise to be fetched, as a share of what a hit is worth.
///
/// Where there is room that is a fixed price. Where an entry must leave, the fetch also takes a chance from the next ones, as
/// the budget and the cache have room for few: so it must promise more than the best candidate of a plan does on average, as an animal
/// passes over what is worth less than what it mostly finds (Charnov: Optimal foraging, the marginal value theorem, 1976).
/// That asks much of a fetch where much can be foreseen and little where there is little, and never less than where there is
/// room.
struct FetchPrice {
    /// The part of the average that a fetch must promise.
    private static let share: Float = 1.1
    /// The weight of a plan in the average, once there were many.
    private static let rate: Float = 0.0005

    private let whereRoom: Float
    private let mostWhenFull: Float
    private var best: Float = 0
    private var plans: Float = 0

    /// - Parameters:
    ///   - whereRoom: the price where there is room.
    ///   - mostWhenFull: the most that is asked where an entry must leave.
    init(whereRoom: Double, mostWhenFull: Double) {
        self.whereRoom = Float(whereRoom)
        self.mostWhenFull = Float(mostWhenFull)
    }

    /// The price where an entry must leave.
    var whenFull: Float { max(whereRoom, min(mostWhenFull, Self.share * best)) }

    /// The price of now.
    func price(hasRoom: Bool) -> Float { hasRoom ? whereRoom : whenFull }

    /// Takes account of the probability of a plan's best candidate, where an entry must leave.
    mutating func note(best probability: Float) {
        plans += 1
        best += (probability - best) * max(Self.rate, 1 / plans)
    }
}
