/// What a prefetch policy may know of the cache for which it plans.
public struct PrefetchOutlook {
    /// How many objects may be fetched now; no use in proposing more.
    public var limit: Int
    /// How much may come in without an entry having to leave, in the unit of ``Access/size``.
    public var room: Int
    /// The most that an entry may cost to be let in at all, however many others leave.
    public var capacity: Int
    /// Some of the objects that were fetched ahead for the user, are in the cache, and were not asked for since; at most
    /// ``WaitingObjects/mostAtOnce``, and only where another like the one just asked for would not find room.
    public var waiting: [UInt32]
    /// Whether an object is in the cache or on its way there.
    public var holds: (UInt32) -> Bool

    /// An outlook.
    public init(
        limit: Int, room: Int, capacity: Int = .max, waiting: [UInt32] = [], holds: @escaping (UInt32) -> Bool
    ) {
        self.limit = limit
        self.room = room
        self.capacity = capacity
        self.waiting = waiting
        self.holds = holds
    }
}
