/// The inputs of the planner's network by number: what it is told of a user and an object.
enum PlannerInput {
    /// The number of inputs; a multiple of 8, so that rows lie well in memory.
    static let width = 40

    /// Session, requests, pause, time of day as two waves, 1.
    static let situation = 0
    /// Whether the user has asked for the object before; then how often, how many requests ago, how many requests after the
    /// time before, decayed count, minutes ago; then how late it is, by that rhythm.
    static let visited = 6
    static let visit = 7
    static let rhythm = 12
    /// The object's rates: at three time scales, at the shortest, at two among requests that were not a user's first.
    static let rates = 13
    /// Requests since the first and accesses, requests since the last, users, minutes since it exists.
    static let counts = 19
    /// What its categories say (the first rows of ``CategoryParts``), and its share in them.
    static let category = 24
    static let share = 31
    static let transition = 32
    static let shareOfOutlook = 33
    static let allReturns = 34
    /// Whether it uses to come after the user's last object, and after the last two.
    static let succession = 35
    /// How often users went on after such a pause: −1 never, 1 always.
    static let onward = 37
    /// The same as ``succession``, as of late.
    static let recentSuccession = 38

    // MARK: - Scales: most inputs are logarithms scaled to about ±1.

    /// A count or a distance.
    @inline(__always)
    static func count(_ value: Float) -> Float { FastMath.log2(1 + value) * 0.15 }

    /// A rate or a share, which may be very small.
    @inline(__always)
    static func rate(_ value: Float) -> Float { (FastMath.log2(value + 1e-6) + 10) * 0.1 }
}
