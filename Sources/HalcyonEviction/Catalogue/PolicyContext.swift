/// What a policy is told when it is made.
public struct PolicyContext: Sendable {
    /// The capacity of the cache it will serve, in the unit of ``Access/size``.
    public var capacity: Int
    /// How many entries to make room for from the start: the objects of the trace, or 0.
    public var entries: Int
    /// Whether every access will size 1.
    public var usesUniformSizes: Bool
    /// The seed of everything random.
    public var seed: UInt64
    /// For policies that need the future: the whole sequence of requests. `nil` in a live cache and in a stream.
    public var future: FutureKnowledge?
    /// How long an entry lives, in microseconds, its hits starting that anew; `nil` leaves it to the policy.
    public var lifetime: Int64?
    /// Whether a cache that shares its model with others adds to it what its own requests teach.
    public var adaptsModel = false
    /// Whether entries will be prefetched: the cache keeps them apart from the policy until their first request (see
    /// ``PrefetchedEntries``), and collects its victims.
    public var prefetches = false
    /// Whether entries are given deadlines of their own, as in a live cache.
    public var entriesExpire = false
    /// Whether the cache collects its victims for ``AnyCache/takeVictims(into:)``.
    public var keepsVictims = false

    /// A context; everything but the capacity has a neutral default.
    public init(
        capacity: Int, entries: Int = 0, usesUniformSizes: Bool = true, seed: UInt64 = 0,
        future: FutureKnowledge? = nil, lifetime: Int64? = nil
    ) {
        self.capacity = capacity
        self.entries = entries
        self.usesUniformSizes = usesUniformSizes
        self.seed = seed
        self.future = future
        self.lifetime = lifetime
    }
}
