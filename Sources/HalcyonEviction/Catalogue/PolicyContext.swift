/// What a policy and its cache are made with.
public struct PolicyContext: Sendable {
    /// The capacity of the cache it will serve, in the unit of ``Access/size``.
    public var capacity: Int
    /// The number of entries to allocate memory for in advance: the objects of the trace, or 0.
    public var entries: Int
    /// Whether every access has the size 1.
    public var usesUniformSizes: Bool
    /// The seed of everything random.
    public var seed: UInt64
    /// For policies that need the future: the whole sequence of requests. `nil` in a live cache and in a stream.
    public var future: FutureKnowledge?
    /// The lifetime of an entry in microseconds, which each hit restarts; `nil` leaves it to the policy.
    public var lifetime: Int64?
    /// Whether entries will be prefetched: the cache keeps them apart from the policy until their first request (see
    /// `PrefetchedEntries`), and collects its victims.
    public var prefetches = false
    /// Whether entries are given deadlines of their own, as in a live cache.
    public var entriesExpire = false
    /// Where entries have deadlines of their own, how long most of them stay after their last access, in microseconds; `nil` if
    /// they do not expire. A policy that simulates others assumes it for all entries.
    public var usualLifetime: Int64?
    /// Whether one user makes all requests, as on a phone. A policy may then start with a model that was trained for such caches.
    public var servesOneUser = false
    /// Whether the policy receives the lists that are shown; see ``EvictionPolicy/shown(_:)``.
    public var showsLists = false
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

/// The whole sequence of requests, for offline policies alone.
///
/// 4 bytes a request beside the trace's own 4.
public struct FutureKnowledge: Sendable {
    /// The entry of each request.
    public let entries: [EntryID]
    /// For each request the index of the next one for the same entry, or ``never``.
    public let nextUse: [UInt32]

    /// The next use of an entry that is not requested again.
    public static let never = UInt32.max

    /// The most requests: 4,294,967,294.
    public static let largestCount = Int(UInt32.max) - 1

    /// Finds the next use of each request in one pass from the end. O(requests + entries).
    ///
    /// - Parameters:
    ///   - entries: the requests in order, at most ``largestCount``.
    ///   - entryCount: one more than the largest entry.
    public init(entries: [EntryID], entryCount: Int) {
        precondition(entries.count <= FutureKnowledge.largestCount, "more requests than an offline policy can know")
        var upcoming = SlotArray<UInt32>(repeating: FutureKnowledge.never, capacity: entryCount)
        nextUse = [UInt32](unsafeUninitializedCapacity: entries.count) { buffer, count in
            for index in stride(from: entries.count - 1, through: 0, by: -1) {
                let entry = entries[index]
                buffer[index] = upcoming[entry]
                upcoming[entry] = UInt32(truncatingIfNeeded: index)
            }
            count = entries.count
        }
        self.entries = entries
    }
}
