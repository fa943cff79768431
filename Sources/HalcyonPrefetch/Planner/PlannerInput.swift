import HalcyonLearning

/// The inputs of the planner's network by number: what it is told of a user and an object.
enum PlannerInput {
    static let width = 40

    /// As the eviction model is told: how long the session is, how much the user has asked for.
    static let activity = 0
    static let activityFeatures = Feature.sessionLength...Feature.userAccesses
    /// As the eviction model is told, but around 0 and with less weight: the time of day.
    static let time = 2
    static let timeFeatures = Feature.dayPhase...Feature.dayQuadrature
    static let one = 4
    /// Whether the user has asked for the object before; then how often, how many requests ago, decayed count, minutes ago.
    static let visited = 5
    static let visit = 6
    /// The object's rates: at three time scales, and at one among requests that were not a user's first.
    static let rates = 10
    /// Requests since the first access, users, minutes since it exists.
    static let counts = 14
    /// What its categories say, as to the eviction model: how all users and how the user use them, whether they are active, and
    /// whether they use to come next.
    static let habits = 17
    static let habitFeatures = Feature.categoryFast..<Feature.transition + 1
    /// Its share in its categories, and that of what the user is likely to want of them.
    static let share = 30
    static let shareOfOutlook = 31
    /// Whether it uses to come after the user's last object, and after the last two.
    static let succession = 32
    /// The same, as of late.
    static let recentSuccession = 34
    /// How often anything came after the user's last object, by which the network may tell how far to trust the last four.
    static let followed = 36
    /// How often users went on after the user's last pause: −1 never, 1 always.
    static let onward = 37
    /// Whether it is what the user went on to from the last object in the past (``Follower``), more the further that is ahead; ½ for what
    /// the user went on to from that.
    static let own = 38
    /// Whether it is what came after the user's last two objects, over all users, more the further that is ahead.
    static let third = 39

    // MARK: - Scales of what only the planner is told: most are logarithms scaled to about ±1.

    /// A phase of ``time``, from what the eviction model is told of it.
    @inline(__always)
    static func phase(_ told: Float) -> Float { (told - 1) * 0.15 }

    /// A count or a distance.
    @inline(__always)
    static func count(_ value: Float) -> Float { FastMath.log2(1 + value) * 0.15 }

    /// A rate or a share, which may be very small.
    @inline(__always)
    static func rate(_ value: Float) -> Float { (FastMath.log2(value + 1e-6) + 10) * 0.1 }
}
