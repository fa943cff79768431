/// An eviction policy: which entry is evicted when a bounded cache is full.
///
/// A policy sees dense integers, never keys. ``CacheCore`` keeps residency, sizes and expiration, and calls the policy in
/// this order:
///
/// - resident entry: ``hit(_:)``, then ``victim(for:)`` while the policy ``overflows``;
/// - absent entry: ``admit(_:)``; if admitted, ``victim(for:)`` until the entry fits and nothing overflows; then
///   ``insert(_:)``;
/// - entry that has expired, or that the owner replaces or removes: ``remove(_:)``.
///
/// A policy must be causal: it decides from these calls and nothing else. It must be deterministic: the same calls and the
/// same seed give the same decisions. A plain `struct` with arrays suffices; see `Experiments/CustomPolicy`. The policies of
/// this module are non-copyable because their state lives in ``SlotArray``s.
public protocol EvictionPolicy: ~Copyable {
    /// Updates the policy for a request of a resident entry.
    mutating func hit(_ access: Access)

    /// Updates the policy for a request of an absent entry, and returns whether to admit the entry.
    ///
    /// Called once a miss, before room is made. A policy that remembers evicted entries learns here that one is requested
    /// again. By default every entry is admitted.
    mutating func admit(_ access: Access) -> Bool

    /// Updates the policy for an entry that ``admit(_:)`` admitted and that is not inserted, because another rule refuses it.
    /// By default ignored.
    mutating func cancelAdmission(_ access: Access)

    /// Chooses the victim that makes room for `access`, and stops counting it as resident.
    ///
    /// Called only while an entry is resident. The victim may be the entry of `access` itself: then the new object is
    /// refused after all, and the entries evicted before stay evicted.
    mutating func victim(for access: Access) -> EntryID

    /// Chooses a victim although no entry needs its place, because a limit was lowered or memory is short.
    ///
    /// Called only while an entry is resident. By default ``victim(for:)`` for an access to no entry.
    ///
    /// - Parameter now: the time, by the request's number and by the clock; its entry is `EntryID.none`.
    mutating func leastWanted(at now: Access) -> EntryID

    /// Updates the policy for an entry that is resident from now on.
    mutating func insert(_ access: Access)

    /// Removes a resident entry that has expired, or that the owner replaces or removes.
    mutating func remove(_ entry: EntryID)

    /// Returns whether the policy still knows an entry that is not resident (a ghost). A live cache reuses the number of an
    /// entry only when this is false. By default false.
    func remembers(_ entry: EntryID) -> Bool

    /// Whether a part of the cache has outgrown its share, so that an entry is evicted although the whole cache has room.
    ///
    /// Read after a hit and before an insertion; ``victim(for:)`` is called until it is false. By default false.
    var overflows: Bool { get }

    /// Whether ``overflows`` is ever true. A live cache defers hits only under policies that never overflow. A policy that
    /// implements the one implements the other. By default false.
    static var mayOverflow: Bool { get }

    /// Whether ``hit(_:)``, ``admit(_:)``, ``victim(for:)``, ``insert(_:)`` or ``remove(_:)`` compute with floating-point
    /// numbers. If so, a live cache sets the standard ``FloatEnvironment`` for each call, which takes some nanoseconds. By
    /// default true.
    static var computesInFloatingPoint: Bool { get }

    /// The number of steps in which ``expect(_:step:)`` loads what a request reads; 0, the default, for a policy that does
    /// not implement it.
    static var expectationSteps: Int { get }

    /// Starts loading what a coming request will read into the processor's cache. Must change nothing. It is mutating because
    /// Swift 6.3 copies a large noncopyable value at a call that borrows it.
    ///
    /// Only a replay calls it, because it has the coming requests in memory: once for each step, the last one a few
    /// requests ahead. A step may read what the step before has loaded, such as the place of a record.
    mutating func expect(_ access: Access, step: Int)

    /// Adapts the policy to another capacity of the cache, which uses no more than that already. By default ignored.
    mutating func resize(to capacity: Int)

    /// Receives the members of a category set, once, before the first access that carries the set. By default ignored.
    mutating func define(categorySet: CategorySetID, members: [UInt32])

    /// Expiration and trimming of the cache. By default neither.
    var behaviour: CacheBehaviour { get }

    /// The heap bytes the policy holds for its bookkeeping.
    var metadataBytes: MetadataBytes { get }

    /// Named quantities that the policy publishes (`adaptation target`, `ghost hits`); every report shows them. By default none.
    var metrics: [PolicyMetric] { get }

    /// Whether decisions depend on the numbers of entries. A replay then gives each object a number of its own, instead of
    /// the number of an object that is forgotten. By default false.
    static var decidesByNumber: Bool { get }

    // The methods below run a cache core under this policy. No policy implements them. Their default implementations are
    // compiled for the policy's type, by the module of the policy, so that a cache of unknown type is fast.

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

    /// Does nothing.
    @inlinable
    public mutating func cancelAdmission(_ access: Access) {}

    /// The victim for an access to no entry.
    @inlinable
    public mutating func leastWanted(at now: Access) -> EntryID { victim(for: now) }

    /// Remembers nothing.
    @inlinable
    public func remembers(_ entry: EntryID) -> Bool { false }

    /// Never: only the cache as a whole has a limit.
    @inlinable
    public var overflows: Bool { false }

    /// Never.
    @inlinable
    public static var mayOverflow: Bool { false }

    /// True.
    @inlinable
    public static var computesInFloatingPoint: Bool { true }

    /// None.
    @inlinable
    public static var expectationSteps: Int { 0 }

    /// Does nothing.
    @inlinable
    public mutating func expect(_ access: Access, step: Int) {}

    /// Does nothing.
    @inlinable
    public mutating func resize(to capacity: Int) {}

    /// Does nothing.
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

    /// False: numbers only tell entries apart.
    @inlinable
    public static var decidesByNumber: Bool { false }
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
    /// Whether a hit restarts the lifetime.
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
