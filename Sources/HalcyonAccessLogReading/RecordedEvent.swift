/// An event of a cache beside its accesses: what a replay needs to repeat what prefetching did.
public struct RecordedEvent: Sendable, Equatable {
    /// What happened.
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// A prefetch began to fetch an image.
        case prefetchStart = 1
        /// A prefetched image was stored, with the duration of its fetch and its size. The first access that finds it has the outcome
        /// ``RecordedAccess/Outcome/prefetched``; an access between start and arrival waits for the fetch.
        case prefetchArrival = 2
        /// A prefetch ended without an image: it failed, or was cancelled.
        case prefetchEnd = 3
        /// A prefetch policy set which entries leave first: those of the ``victim`` events that follow, in their order, and no others.
        case plan = 4
        /// An entry that leaves before the eviction policy is asked.
        case victim = 5
        /// A prefetched entry was found likely to be requested.
        case likely = 6
        /// A prefetched entry was found unlikely to be requested.
        case unlikely = 7
        /// A visit of a user ended, and there was a plan.
        case visitEnd = 8
        /// A day began without the user, and there was a plan.
        case dayStart = 9
        /// The app entered the background. If the policy plans between requests, there was a plan for the last user.
        case background = 10
        /// A condition ended that had held fetches back, and there was a plan.
        case connected = 11
        /// The conditions of network and battery changed to ``conditions``.
        case conditions = 12
    }

    /// When it happened, in microseconds since 1970.
    public var time: Int64
    /// What happened.
    public var kind: Kind
    /// The computed key of the object; `nil` if there is none. Read from a log that keeps hashes, the 32 hexadecimal digits of its hash.
    public var key: String?
    /// The user or profile; `nil` where unknown.
    public var user: String?
    /// How long a fetch took, in microseconds; `nil` where that is not known.
    public var duration: Int64?
    /// The size of an object in bytes, as that of an access; 0 is unknown.
    public var cost: Int
    /// The conditions of network and battery as a set of bits: 1 Low Data Mode, 2 a low battery, 4 a metered network. 0 for other events.
    public var conditions: Int
    /// The number of accesses that were recorded before, of those that a reader reads. 0 for an event that is in no log.
    public var position = 0

    /// Creates an event.
    public init(
        time: Int64, kind: Kind, key: String? = nil, user: String? = nil, duration: Int64? = nil, cost: Int = 0,
        conditions: Int = 0
    ) {
        self.time = time
        self.kind = kind
        self.key = key
        self.user = user
        self.duration = duration
        self.cost = cost
        self.conditions = conditions
    }
}
