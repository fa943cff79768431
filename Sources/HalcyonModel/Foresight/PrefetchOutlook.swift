/// What a prefetch policy may know of the cache for which it plans.
public struct PrefetchOutlook {
    /// How many objects may be fetched now; no use in proposing more.
    public var limit: Int
    /// Whether there is room for another entry without one having to leave.
    public var hasRoom: Bool
    /// Some of the objects that were fetched ahead for the user, are in the cache, and were not asked for since; at most
    /// ``WaitingObjects/mostAtOnce``, and only where one has to leave.
    public var waiting: [UInt32]
    /// Whether an object is in the cache or on its way there.
    public var holds: (UInt32) -> Bool

    /// An outlook.
    public init(limit: Int, hasRoom: Bool, waiting: [UInt32] = [], holds: @escaping (UInt32) -> Bool) {
        self.limit = limit
        self.hasRoom = hasRoom
        self.waiting = waiting
        self.holds = holds
    }
}
