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
///
/// What it inherits from ``CoreOperations`` is not for a policy to write: the default implementations run its cache.
public protocol EvictionPolicy: CoreOperations, ~Copyable {
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

    /// Receives the objects of a list that is shown to a user, in their order, before the requests that follow it.
    ///
    /// Objects are numbers as in ``Access/object``, `UInt32.max` for one without a number, and most of them are not resident. Called
    /// only where ``PolicyContext/showsLists`` is set. By default ignored.
    mutating func shown(_ objects: [UInt32])

    /// Expiration and trimming of the cache. By default neither.
    var behaviour: CacheBehaviour { get }

    /// The heap bytes the policy holds for its bookkeeping.
    var metadataBytes: MetadataBytes { get }

    /// Named quantities that the policy publishes (`adaptation target`, `ghost hits`); every report shows them. By default none.
    var metrics: [PolicyMetric] { get }

    /// What the policy has learned, as bytes with which a later one can start
    /// (``CataloguedPolicy/parameters(_:startingWith:)``). By default `nil`: nothing.
    var trainedModel: [UInt8]? { get }

    /// Replaces what the policy has learned by the model that it started with. By default ignored.
    ///
    /// A policy that starts with a model receives calls that the model has learned from already, so that it knows the
    /// entries. It then takes the model back.
    mutating func adopt(trainedModel: [UInt8])

    /// Whether decisions depend on the numbers of entries. A replay then gives each object a number of its own, instead of
    /// the number of an object that is forgotten. By default false.
    static var decidesByNumber: Bool { get }
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

    /// Does nothing.
    @inlinable
    public mutating func shown(_ objects: [UInt32]) {}

    /// Neither expiration nor trimming.
    @inlinable
    public var behaviour: CacheBehaviour { CacheBehaviour() }

    /// Unknown, reported as 0.
    @inlinable
    public var metadataBytes: MetadataBytes { MetadataBytes() }

    /// None.
    @inlinable
    public var metrics: [PolicyMetric] { [] }

    /// Nothing.
    @inlinable
    public var trainedModel: [UInt8]? { nil }

    /// Does nothing.
    @inlinable
    public mutating func adopt(trainedModel: [UInt8]) {}

    /// False: numbers only tell entries apart.
    @inlinable
    public static var decidesByNumber: Bool { false }
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
