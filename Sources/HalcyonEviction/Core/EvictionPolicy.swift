/// Who stays when a bounded cache is full.
///
/// A policy sees dense integers, never keys, and is told five things: an entry was hit, an entry was asked for and is
/// absent (may it come in?), room is needed (who goes?), an entry was inserted, an entry was removed from outside. It
/// decides; ``CacheCore`` keeps residency, size and expiration and calls the verbs in this order:
///
/// - resident: ``hit(_:)``, then ``victim(for:)`` while the policy ``overflows``;
/// - absent: ``admit(_:)``, then, if admitted, ``victim(for:)`` until there is room and nothing overflows, then
///   ``insert(_:)``;
/// - expired, replaced or removed by the owner: ``remove(_:)``.
///
/// A policy must be causal (decide from what it has been told and nothing else) and deterministic (the same verbs and the
/// same seed give the same answers). A plain `struct` with arrays will do; see `Experiments/CustomPolicy`.
/// The policies of this module are non-copyable because their state lives in ``SlotArray``s.
public protocol EvictionPolicy: ~Copyable {
    /// A resident entry was asked for.
    mutating func hit(_ access: Access)

    /// An absent entry was asked for. Returns whether it may come in; a policy that remembers evicted entries learns here
    /// that one of them came back. Called once a miss, before room is made. By default everything is admitted.
    mutating func admit(_ access: Access) -> Bool

    /// Chooses a resident entry to evict for the benefit of `access` and stops counting it as resident. Called only
    /// while at least one entry is resident. The answer may be the entry of `access` itself: the newcomer is worth the
    /// least and is refused after all, and who went before stays out.
    mutating func victim(for access: Access) -> EntryID

    /// Chooses a resident entry to evict though nobody wants its place: a limit was lowered, memory is short. Called only
    /// while at least one entry is resident. By default ``victim(for:)`` is asked for an access to no entry.
    ///
    /// - Parameter now: the time, by the request's number and by the clock; its entry is ``EntryID/none``.
    mutating func leastWanted(at now: Access) -> EntryID

    /// The entry came in.
    mutating func insert(_ access: Access)

    /// A resident entry was taken out from outside: expired, replaced, removed by the owner.
    mutating func remove(_ entry: EntryID)

    /// Whether an entry that is not resident still has a place in the policy's memory (a ghost). The owner of the keys
    /// reuses the number of an entry only when this is false. By default nothing is remembered.
    func remembers(_ entry: EntryID) -> Bool

    /// Whether a resident must go although the cache as a whole has room, because a part of it has outgrown its share.
    /// Asked after a hit and before an insertion; ``victim(for:)`` is called until it is false. By default never.
    var overflows: Bool { get }

    /// Whether ``overflows`` is ever true. Only where it is not may an index be told of a hit later than it happened, because nobody
    /// leaves for it; so a policy that implements the one implements the other. By default not.
    static var mayOverflow: Bool { get }

    /// Whether ``hit(_:)``, ``admit(_:)``, ``victim(for:)``, ``insert(_:)`` or ``remove(_:)`` compute with floating-point numbers. If
    /// so, a live cache sets the standard ``FloatEnvironment`` for each call, which takes some nanoseconds. True by default.
    static var computesInFloatingPoint: Bool { get }

    /// The cache has another capacity from now on, and holds no more than that: a policy that gives parts of it shares takes
    /// them anew. By default of no account.
    mutating func resize(to capacity: Int)

    /// What the members of a category set are; told once, before the first access that carries the set. By default ignored.
    mutating func define(categorySet: CategorySetID, members: [UInt32])

    /// How the policy wants the cache around it to behave: expiration, trimming. By default neither.
    var behaviour: CacheBehaviour { get }

    /// The heap bytes the policy holds for its bookkeeping.
    var metadataBytes: MetadataBytes { get }

    /// Named quantities that the policy publishes (`adaptation target`, `ghost hits`); every report shows them. By default none.
    var metrics: [PolicyMetric] { get }

    // The methods below run a cache core under this policy. No policy implements them: their default implementations are
    // compiled for the type of the policy, by the module that it stands in, so that a cache of unknown type is fast.

    /// An empty cache under `policy`; see ``PolicyCache``.
    static func makeCache(_ policy: consuming Self, context: PolicyContext, times: CacheTimes?) -> any AnyCache
    /// Serves a batch of requests; see ``CacheCore/replay(_:outcomes:)``.
    static func replay(
        _ batch: RequestBatch, on core: UnsafeMutablePointer<CacheCore<Self>>,
        outcomes: UnsafeMutablePointer<AccessOutcome>)
    /// Serves one access; see ``CacheCore/access(_:)``.
    static func serve(_ access: Access, on core: UnsafeMutablePointer<CacheCore<Self>>) -> AccessOutcome
    /// Stores an entry; see ``AnyCache/store(_:deadline:victims:)``.
    static func store(
        _ access: Access, deadline: Int64, on core: UnsafeMutablePointer<CacheCore<Self>>, victims: inout [EntryID]
    ) -> AccessOutcome
    /// Serves one hit; see ``AnyCache/hit(_:deadline:victims:)``.
    static func hit(
        _ access: Access, deadline: Int64?, on core: UnsafeMutablePointer<CacheCore<Self>>, victims: inout [EntryID]
    ) -> Bool
    /// The heap bytes of bookkeeping; see ``CacheCore/metadataBytes``.
    static func metadataBytes(on core: UnsafeMutablePointer<CacheCore<Self>>) -> MetadataBytes
    /// The number of entries that only the policy remembers; see ``CacheCore/rememberedCount(below:)``.
    static func rememberedCount(below end: EntryID, on core: UnsafeMutablePointer<CacheCore<Self>>) -> Int
    /// Destroys the core at an address.
    static func destroy(_ core: UnsafeMutablePointer<CacheCore<Self>>)
}

extension EvictionPolicy where Self: ~Copyable {
    /// Admits everything.
    @inlinable
    public mutating func admit(_ access: Access) -> Bool { true }

    /// Whoever would go for a newcomer.
    @inlinable
    public mutating func leastWanted(at now: Access) -> EntryID { victim(for: now) }

    /// Remembers nothing.
    @inlinable
    public func remembers(_ entry: EntryID) -> Bool { false }

    /// Never: only the cache as a whole has a limit.
    @inlinable
    public var overflows: Bool { false }

    /// It never does.
    @inlinable
    public static var mayOverflow: Bool { false }

    /// It may.
    @inlinable
    public static var computesInFloatingPoint: Bool { true }

    /// Gives nothing a share.
    @inlinable
    public mutating func resize(to capacity: Int) {}

    /// Has no use for categories.
    @inlinable
    public mutating func define(categorySet: CategorySetID, members: [UInt32]) {}

    /// Neither expiration nor trimming.
    @inlinable
    public var behaviour: CacheBehaviour { CacheBehaviour() }

    /// Unknown, reported as 0.
    @inlinable
    public var metadataBytes: MetadataBytes { MetadataBytes() }

    /// None.
    @inlinable
    public var metrics: [PolicyMetric] { [] }
}

extension EvictionPolicy where Self: ~Copyable {
    /// An empty cache.
    @inlinable
    public static func makeCache(
        _ policy: consuming Self, context: PolicyContext, times: CacheTimes?
    ) -> any AnyCache {
        PolicyCache(policy, context: context, times: times)
    }

    /// Serves the batch in the standard floating-point environment.
    @inlinable
    public static func replay(
        _ batch: RequestBatch, on core: UnsafeMutablePointer<CacheCore<Self>>,
        outcomes: UnsafeMutablePointer<AccessOutcome>
    ) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        core.pointee.replay(batch, outcomes: outcomes)
    }

    /// Serves the access in the standard floating-point environment, if the policy needs it.
    @inlinable
    public static func serve(_ access: Access, on core: UnsafeMutablePointer<CacheCore<Self>>) -> AccessOutcome {
        let environment = FloatEnvironment.enter(if: computesInFloatingPoint)
        defer { environment.leave() }
        return core.pointee.access(access)
    }

    /// Stores the entry in the standard floating-point environment, if the policy needs it.
    @inlinable
    public static func store(
        _ access: Access, deadline: Int64, on core: UnsafeMutablePointer<CacheCore<Self>>, victims: inout [EntryID]
    ) -> AccessOutcome {
        let environment = FloatEnvironment.enter(if: computesInFloatingPoint)
        defer { environment.leave() }
        let outcome = core.pointee.access(access, deadline: deadline, renews: true)
        core.pointee.takeVictims(into: &victims)
        return outcome
    }

    /// Serves the hit in the standard floating-point environment, if the policy needs it.
    @inlinable
    public static func hit(
        _ access: Access, deadline: Int64?, on core: UnsafeMutablePointer<CacheCore<Self>>, victims: inout [EntryID]
    ) -> Bool {
        let environment = FloatEnvironment.enter(if: computesInFloatingPoint)
        defer { environment.leave() }
        guard core.pointee.hit(access, deadline: deadline) else { return false }
        core.pointee.takeVictims(into: &victims)
        return true
    }

    /// The bytes of the core and the policy.
    @inlinable
    public static func metadataBytes(on core: UnsafeMutablePointer<CacheCore<Self>>) -> MetadataBytes {
        core.pointee.metadataBytes
    }

    /// Counts in O(end).
    @inlinable
    public static func rememberedCount(below end: EntryID, on core: UnsafeMutablePointer<CacheCore<Self>>) -> Int {
        core.pointee.rememberedCount(below: end)
    }

    /// Releases what the core owns.
    @inlinable
    public static func destroy(_ core: UnsafeMutablePointer<CacheCore<Self>>) { core.deinitialize(count: 1) }
}

/// How a policy wants the cache around it to behave.
public struct CacheBehaviour: Sendable, Equatable {
    /// How long an entry lives, in microseconds; `nil` for ever.
    public var lifetime: Int64?
    /// Whether a hit starts the lifetime anew.
    public var hitsExtendLifetime: Bool
    /// The share of the capacity down to which room is made once room is needed; 1 evicts no more than necessary.
    public var lowWaterMark: Double

    /// By default entries live for ever and no more is evicted than necessary.
    public init(lifetime: Int64? = nil, hitsExtendLifetime: Bool = false, lowWaterMark: Double = 1) {
        self.lifetime = lifetime
        self.hitsExtendLifetime = hitsExtendLifetime
        self.lowWaterMark = lowWaterMark
    }
}

/// A quantity that a policy publishes about itself.
public struct PolicyMetric: Sendable, Equatable {
    /// What it is, in snake case.
    public var name: String
    /// Its value at the end of the run.
    public var value: Double

    /// A named quantity.
    public init(_ name: String, _ value: Double) {
        self.name = name
        self.value = value
    }
}
