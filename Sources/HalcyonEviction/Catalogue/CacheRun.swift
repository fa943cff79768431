/// A bounded cache with any policy, behind closures that were compiled for that very policy.
///
/// Calling through an existential for each request would size more than most policies take; a call a batch sizes nothing.
public struct CacheRun {
    /// Serves a batch; see ``CacheCore/replay(_:outcomes:)``.
    public let replay: (RequestBatch, UnsafeMutablePointer<AccessOutcome>) -> Void
    /// Serves one access.
    public let access: (Access) -> AccessOutcome
    /// Whether an entry is resident.
    public let contains: (EntryID) -> Bool
    /// Whether an entry is resident and has not expired at a time; see ``CacheCore/contains(_:freshAt:)``.
    public let containsFresh: (EntryID, Int64) -> Bool
    /// Whether entries expire, so that ``contains`` may say more than ``containsFresh``.
    public let entriesExpire: Bool
    /// Whether the policy remembers an entry that is not resident; see ``EvictionPolicy/remembers(_:)``.
    public let remembers: (EntryID) -> Bool
    /// The number of entries below a number that are not resident and that the policy remembers. O(number).
    public let rememberedCount: (EntryID) -> Int
    /// Takes an entry out.
    public let remove: (EntryID) -> Void
    /// Says whether what was brought in ahead of need is still likely; see ``CacheCore/reconsider(_:isLikely:)``.
    public let reconsider: (Access, Bool) -> Void
    /// Tells the policy the members of a category set.
    public let define: (CategorySetID, [UInt32]) -> Void
    /// The state as of now.
    public let state: () -> CacheState
    /// What is used of the capacity, which the state says too, at more size.
    public let used: () -> Int
    /// Moves those that were evicted since the last call to the end of a list; nobody unless the cache was made to
    /// prefetch (``PolicyContext/prefetches``).
    public let takeVictims: (inout [EntryID]) -> Void

    /// A cache around `policy`, compiled for its type.
    @inlinable @inline(__always)
    public init<Policy: EvictionPolicy & ~Copyable>(_ policy: consuming Policy, context: PolicyContext) {
        let box = IndexBox(
            CacheCore(
                policy: policy, capacity: context.capacity, usesUniformSizes: context.usesUniformSizes,
                entries: context.entries, lifetime: context.lifetime, keepsVictims: context.prefetches))
        replay = { batch, outcomes in
            let environment = FloatEnvironment.enter()
            defer { environment.leave() }
            box.index.pointee.replay(batch, outcomes: outcomes)
        }
        access = { access in
            let environment = FloatEnvironment.enter(if: Policy.computesInFloatingPoint)
            defer { environment.leave() }
            return box.index.pointee.access(access)
        }
        contains = { entry in box.index.pointee.contains(entry) }
        containsFresh = { entry, time in box.index.pointee.contains(entry, freshAt: time) }
        entriesExpire = box.index.pointee.entriesExpire
        remembers = { entry in box.index.pointee.policy.remembers(entry) }
        rememberedCount = { end in box.index.pointee.rememberedCount(below: end) }
        remove = { entry in
            let environment = FloatEnvironment.enter(if: Policy.computesInFloatingPoint)
            defer { environment.leave() }
            box.index.pointee.remove(entry)
        }
        reconsider = { access, isLikely in box.index.pointee.reconsider(access, isLikely: isLikely) }
        define = { set, members in box.index.pointee.policy.define(categorySet: set, members: members) }
        state = {
            CacheState(
                used: box.index.pointee.used, count: box.index.pointee.count, evictions: box.index.pointee.evictions,
                expirations: box.index.pointee.expirations, metadataBytes: box.index.pointee.metadataBytes,
                metrics: box.index.pointee.policy.metrics)
        }
        used = { box.index.pointee.used }
        takeVictims = { list in box.index.pointee.takeVictims(into: &list) }
    }

    /// A cache from its verbs, for caches that are made of caches.
    ///
    /// - Parameter containsFresh: `nil` where entries do not expire.
    ///
    /// - Parameter rememberedCount: by default asks `contains` and `remembers` for each entry.
    public init(
        replay: @escaping (RequestBatch, UnsafeMutablePointer<AccessOutcome>) -> Void,
        access: @escaping (Access) -> AccessOutcome, contains: @escaping (EntryID) -> Bool,
        remembers: @escaping (EntryID) -> Bool, remove: @escaping (EntryID) -> Void,
        define: @escaping (CategorySetID, [UInt32]) -> Void, state: @escaping () -> CacheState,
        used: @escaping () -> Int, takeVictims: @escaping (inout [EntryID]) -> Void = { _ in },
        reconsider: @escaping (Access, Bool) -> Void = { _, _ in },
        containsFresh: ((EntryID, Int64) -> Bool)? = nil, rememberedCount: ((EntryID) -> Int)? = nil
    ) {
        self.replay = replay
        self.access = access
        self.contains = contains
        self.containsFresh = containsFresh ?? { entry, _ in contains(entry) }
        entriesExpire = containsFresh != nil
        self.remembers = remembers
        self.rememberedCount =
            rememberedCount ?? { end in (0..<end).reduce(0) { !contains($1) && remembers($1) ? $0 + 1 : $0 } }
        self.remove = remove
        self.define = define
        self.state = state
        self.used = used
        self.takeVictims = takeVictims
        self.reconsider = reconsider
    }
}

/// The counters of a cache.
public struct CacheState: Sendable, Equatable {
    /// What is used of the capacity.
    public let used: Int
    /// The number of residents.
    public let count: Int
    /// How many entries were evicted to make room.
    public let evictions: Int
    /// How many residents were found expired or of another size.
    public let expirations: Int
    /// The heap bytes of bookkeeping.
    public let metadataBytes: MetadataBytes
    /// What the policy publishes about itself.
    public let metrics: [PolicyMetric]

    /// A state from its counters.
    @inlinable
    public init(
        used: Int, count: Int, evictions: Int, expirations: Int, metadataBytes: MetadataBytes,
        metrics: [PolicyMetric]
    ) {
        self.used = used
        self.count = count
        self.evictions = evictions
        self.expirations = expirations
        self.metadataBytes = metadataBytes
        self.metrics = metrics
    }
}
