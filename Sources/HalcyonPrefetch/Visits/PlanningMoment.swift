import HalcyonSupport

/// A moment between two requests of a user at which prefetches can be planned.
///
/// What is fetched at a moment has until the user's next request to arrive. A moment comes without knowledge of what follows it: the
/// end of a visit is noticed when the idle time is over, whether or not the user ever returns.
///
/// A replay has the ends of visits and the starts of days, and the others if a log recorded them. A live cache has all. A short pause
/// within a visit is no moment: the plan after its last request, ``PrefetchPolicy/plan(after:outlook:into:)``, is for it.
public struct PlanningMoment: Sendable, Equatable {
    /// The occasion of a moment.
    public enum Occasion: String, Sendable, Codable, CaseIterable {
        /// The user requested nothing for the idle time.
        case visitEnd
        /// A day began at midnight UTC, and the user requested nothing during the idle time before.
        case dayStart
        /// The app entered the background. The user's visit may go on.
        case background
        /// A condition ended that had held fetches back, such as a metered network or a low battery. The user's visit may go on.
        case connected
    }

    /// The occasion.
    public var occasion: Occasion
    /// The user.
    public var user: UInt32
    /// The time, in microseconds.
    public var time: Int64

    /// The default idle time after which a visit has ended, in microseconds: 30 minutes.
    public static let idleTime: Int64 = 1_800_000_000

    /// Creates a moment.
    public init(_ occasion: Occasion, user: UInt32, time: Int64) {
        self.occasion = occasion
        self.user = user
        self.time = time
    }
}
