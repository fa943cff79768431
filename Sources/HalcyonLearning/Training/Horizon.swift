/// How far ahead the label looks: within so many turnovers of the cache an object must be asked for again.
///
/// A turnover is as many misses as the cache has residents, at the present miss ratio. The reach is what an object's place is worth
/// being held for where many come back soon; where next to none does, there would be nothing to learn from, and what comes back
/// later would look like what never does. Then the label looks twice as far, and again, until some come back within it; and half as far as
/// soon as many would come back within that. So it stays where it is where the times until objects come back are spread, as nearly everywhere.
struct Horizon: BitwiseCopyable {
    /// The range of the reach, in turnovers.
    static let range = 0.05...16.0
    /// How many times the reach the label looks ahead at most.
    static let mostStretch = 16
    /// Misses that a label waits for beyond that. They count in the smallest caches: where a turnover is a handful of
    /// misses, too little would come back within a share of it to learn from.
    static let fewestMisses = 8.0
    /// Accesses to what is remembered that must be known before the stretch changes, and at least as many as the cache has residents: a
    /// scan or a loop that passes is no reason to learn anew.
    static let fewestReturns = 100
    /// Less than this share of them within the horizon is next to none.
    static let leastShare: Float = 0.05
    /// This share of them within half of it is many. Where the horizon was doubled because there were next to none, there is less than
    /// ``leastShare`` within half of it, so it does not go back at once.
    static let largeShare: Float = 0.2

    /// In turnovers of the cache.
    let reach: Double
    /// How many times the reach the label looks ahead: a power of two.
    private(set) var stretch: Int

    /// Accesses to what is remembered since the stretch changed.
    private var returns = 0
    /// The share of them within the horizon and within half of it: moving means.
    private var within: Float = 0
    private var withinHalf: Float = 0

    init(reach: Double, stretch: Int = 1) {
        self.reach = reach
        self.stretch = stretch
    }

    /// The requests that a label waits for in a cache of so many residents. O(1).
    func requests(residents: Double, missRatio: Double) -> UInt32 {
        let misses = Horizon.fewestMisses + residents * reach * Double(stretch)
        return UInt32(min(misses / max(missRatio, 0.001), 1e9))
    }

    /// Takes into account that an object that is remembered came back `gap` requests after its last access, to a cache of so many
    /// residents whose labels wait for `horizon` requests. O(1).
    @inline(__always)
    mutating func note(gap: UInt32, horizon: UInt32, residents: Int) {
        let wanted = max(Horizon.fewestReturns, residents)
        returns = min(returns, wanted - 1) + 1
        let share = 1 / Float(returns)
        within += ((gap <= horizon ? 1 : 0) - within) * share
        withinHalf += ((gap <= horizon / 2 ? 1 : 0) - withinHalf) * share
        if returns < wanted { return }
        if within < Horizon.leastShare && stretch < Horizon.mostStretch {
            change(to: stretch * 2)
        } else if withinHalf > Horizon.largeShare && stretch > 1 {
            change(to: stretch / 2)
        }
    }

    private mutating func change(to stretch: Int) {
        self.stretch = stretch
        returns = 0
    }
}
