// Why the interface of a cache core is spelled three times: speed behind a type that is not known.
//
// 1. `CacheCore<Policy>` is the implementation, generic over the policy.
// 2. `AnyCache` is what an owner holds: one class for all policies, because an owner chooses the policy by name.
// 3. `CoreOperations` leads from the second to the first.
//
// Swift compiles a generic function for one type (it specializes the function) only where it compiles a caller for
// that type. An owner is no such caller. The methods of a generic class behind a protocol are compiled once for all
// policies: each of their calls into the policy is an indirect one that nothing inlines. But the implementation of a
// protocol's requirement is compiled for each conforming type, by the module that declares the conformance. So
// `CoreOperations` has a static requirement for each operation that calls the policy. Its default implementation is the
// generic one of `CacheCore`. Every policy gets specialized operations, also one of another package. An operation costs
// one indirect call: a few nanoseconds, or one for a whole batch of a replay. What does not need the policy lies in
// `CacheTables`, which is no generic type.
//
// Measured over a million skewed requests in batches, at a capacity of a tenth of the objects. A request takes 15 ns
// under LRU, 17 under SIEVE and 30 under S3-FIFO. In code that is not specialized, it takes 22, 23 and 36.

/// The operations of a cache core that call its policy, compiled for the type of the policy.
///
/// Every ``EvictionPolicy`` has them by default, and none implements them. `core` points to a ``CacheCore`` under the
/// policy.
public protocol CoreOperations: ~Copyable {
    /// Returns an empty cache under `policy`.
    static func makeCache(_ policy: consuming Self, context: PolicyContext, times: CacheTimes?) -> AnyCache
    /// Serves a batch of requests; see ``CacheCore/replay(_:outcomes:)``.
    static func replay(
        _ batch: RequestBatch, on core: UnsafeMutableRawPointer, outcomes: UnsafeMutablePointer<AccessOutcome>)
    /// Serves one access; see ``CacheCore/access(_:)``.
    static func access(_ access: Access, on core: UnsafeMutableRawPointer) -> AccessOutcome
    /// Stores an entry; see ``CacheCore/access(_:deadline:renews:)``.
    static func store(_ access: Access, deadline: Int64, on core: UnsafeMutableRawPointer) -> AccessOutcome
    /// Serves one hit; see ``CacheCore/hit(_:deadline:)``.
    static func hit(_ access: Access, deadline: Int64?, on core: UnsafeMutableRawPointer) -> Bool
    /// Removes an entry without counting an eviction; see ``CacheCore/remove(_:)``.
    static func remove(_ entry: EntryID, on core: UnsafeMutableRawPointer)
    /// Changes capacity and count limit; see ``CacheCore/limit(capacity:count:at:)``.
    static func limit(capacity: Int, count: Int, at now: Access, on core: UnsafeMutableRawPointer)
    /// Evicts down to a size and a count; see ``CacheCore/trim(to:count:at:)``.
    static func trim(to size: Int, count: Int, at now: Access, on core: UnsafeMutableRawPointer)
    /// Reports the members of a category set; see ``EvictionPolicy/define(categorySet:members:)``.
    static func define(categorySet: CategorySetID, members: [UInt32], on core: UnsafeMutableRawPointer)
    /// Reports a list that is shown; see ``EvictionPolicy/shown(_:)``.
    static func shown(_ objects: [UInt32], on core: UnsafeMutableRawPointer)
    /// Returns whether the policy remembers an entry that is not resident; see ``EvictionPolicy/remembers(_:)``.
    static func remembers(_ entry: EntryID, on core: UnsafeMutableRawPointer) -> Bool
    /// Returns the number of entries that only the policy remembers; see ``CacheCore/rememberedCount(below:)``.
    static func rememberedCount(below end: EntryID, on core: UnsafeMutableRawPointer) -> Int
    /// Returns the heap bytes of bookkeeping; see ``CacheCore/metadataBytes``.
    static func metadataBytes(on core: UnsafeMutableRawPointer) -> MetadataBytes
    /// Returns what the policy publishes about itself; see ``CacheCore/metrics``.
    static func metrics(on core: UnsafeMutableRawPointer) -> [PolicyMetric]
    /// Returns the bytes of what the policy has learned; see ``EvictionPolicy/trainedModel``.
    static func trainedModel(on core: UnsafeMutableRawPointer) -> [UInt8]?
    /// Replaces what the policy has learned; see ``EvictionPolicy/adopt(trainedModel:)``.
    static func adopt(trainedModel: [UInt8], on core: UnsafeMutableRawPointer)
    /// Destroys the core and releases its memory.
    static func destroy(_ core: UnsafeMutableRawPointer)
}

extension EvictionPolicy where Self: ~Copyable {
    @inlinable @inline(__always)
    static func typed(_ core: UnsafeMutableRawPointer) -> UnsafeMutablePointer<CacheCore<Self>> {
        core.assumingMemoryBound(to: CacheCore<Self>.self)
    }

    /// Returns an empty cache.
    @inlinable
    public static func makeCache(_ policy: consuming Self, context: PolicyContext, times: CacheTimes?) -> AnyCache {
        AnyCache(policy, context: context, times: times)
    }

    /// Serves the batch in the standard floating-point environment.
    @inlinable
    public static func replay(
        _ batch: RequestBatch, on core: UnsafeMutableRawPointer, outcomes: UnsafeMutablePointer<AccessOutcome>
    ) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        typed(core).pointee.replay(batch, outcomes: outcomes)
    }

    /// Serves the access in the standard floating-point environment, if the policy needs it.
    @inlinable
    public static func access(_ access: Access, on core: UnsafeMutableRawPointer) -> AccessOutcome {
        let environment = FloatEnvironment.enter(if: computesInFloatingPoint)
        defer { environment.leave() }
        return typed(core).pointee.access(access)
    }

    /// Stores the entry in the standard floating-point environment, if the policy needs it.
    @inlinable
    public static func store(_ access: Access, deadline: Int64, on core: UnsafeMutableRawPointer) -> AccessOutcome {
        let environment = FloatEnvironment.enter(if: computesInFloatingPoint)
        defer { environment.leave() }
        return typed(core).pointee.access(access, deadline: deadline, renews: true)
    }

    /// Serves the hit in the standard floating-point environment, if the policy needs it.
    @inlinable
    public static func hit(_ access: Access, deadline: Int64?, on core: UnsafeMutableRawPointer) -> Bool {
        let environment = FloatEnvironment.enter(if: computesInFloatingPoint)
        defer { environment.leave() }
        return typed(core).pointee.hit(access, deadline: deadline)
    }

    /// Removes the entry in the standard floating-point environment, if the policy needs it.
    @inlinable
    public static func remove(_ entry: EntryID, on core: UnsafeMutableRawPointer) {
        let environment = FloatEnvironment.enter(if: computesInFloatingPoint)
        defer { environment.leave() }
        typed(core).pointee.remove(entry)
    }

    /// Changes the limits in the standard floating-point environment.
    @inlinable
    public static func limit(capacity: Int, count: Int, at now: Access, on core: UnsafeMutableRawPointer) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        typed(core).pointee.limit(capacity: capacity, count: count, at: now)
    }

    /// Evicts in the standard floating-point environment.
    @inlinable
    public static func trim(to size: Int, count: Int, at now: Access, on core: UnsafeMutableRawPointer) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        typed(core).pointee.trim(to: size, count: count, at: now)
    }

    /// Reports the set to the policy.
    @inlinable
    public static func define(categorySet: CategorySetID, members: [UInt32], on core: UnsafeMutableRawPointer) {
        typed(core).pointee.policy.define(categorySet: categorySet, members: members)
    }

    /// Reports the list to the policy in the standard floating-point environment.
    @inlinable
    public static func shown(_ objects: [UInt32], on core: UnsafeMutableRawPointer) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        typed(core).pointee.policy.shown(objects)
    }

    /// Asks the policy.
    @inlinable
    public static func remembers(_ entry: EntryID, on core: UnsafeMutableRawPointer) -> Bool {
        typed(core).pointee.policy.remembers(entry)
    }

    /// Counts in O(end).
    @inlinable
    public static func rememberedCount(below end: EntryID, on core: UnsafeMutableRawPointer) -> Int {
        typed(core).pointee.rememberedCount(below: end)
    }

    /// The bytes of the core and the policy.
    @inlinable
    public static func metadataBytes(on core: UnsafeMutableRawPointer) -> MetadataBytes {
        typed(core).pointee.metadataBytes
    }

    /// The metrics of the policy and of the prefetched entries.
    @inlinable
    public static func metrics(on core: UnsafeMutableRawPointer) -> [PolicyMetric] { typed(core).pointee.metrics }

    /// The model of the policy.
    @inlinable
    public static func trainedModel(on core: UnsafeMutableRawPointer) -> [UInt8]? {
        typed(core).pointee.policy.trainedModel
    }

    /// Replaces the model of the policy.
    @inlinable
    public static func adopt(trainedModel: [UInt8], on core: UnsafeMutableRawPointer) {
        typed(core).pointee.policy.adopt(trainedModel: trainedModel)
    }

    /// Releases what the core owns, and its memory.
    @inlinable
    public static func destroy(_ core: UnsafeMutableRawPointer) {
        typed(core).deinitialize(count: 1)
        typed(core).deallocate()
    }
}

/// A bounded cache under any policy: a ``CacheCore`` whose policy's type its owner does not know.
///
/// A call takes some nanoseconds more than one on the core, and so does a call for a whole batch. A live storage uses
/// ``store(_:deadline:victims:)``, ``hit(_:deadline:victims:)`` and what follows; a replay ``replay(_:outcomes:)`` and
/// ``access(_:)``. A cache belongs to one thread at a time.
public final class AnyCache {
    /// The type of the policy.
    @usableFromInline let policy: any (CoreOperations & ~Copyable).Type
    /// The core lies at a fixed address: a stored property of a class would be checked for exclusive access at each use.
    @usableFromInline let core: UnsafeMutableRawPointer
    /// The tables of the core: its first property, whose address does not depend on the policy's type.
    @usableFromInline let tables: UnsafeMutablePointer<CacheTables>

    /// Creates an empty cache.
    ///
    /// - Parameter times: receives the time of each choice of a victim; `nil` for a cache that is not timed.
    @inlinable
    public init<Policy: EvictionPolicy & ~Copyable>(
        _ policy: consuming Policy, context: PolicyContext, times: CacheTimes? = nil
    ) {
        let core = UnsafeMutablePointer<CacheCore<Policy>>.allocate(capacity: 1)
        core.initialize(to: CacheCore(policy, context, times: times))
        self.policy = Policy.self
        self.core = UnsafeMutableRawPointer(core)
        tables = self.core.assumingMemoryBound(to: CacheTables.self)
    }

    deinit { policy.destroy(core) }

    // MARK: - Requests

    /// Serves a batch of requests in order and writes the outcome of each to `outcomes`.
    @inlinable
    public func replay(_ batch: RequestBatch, outcomes: UnsafeMutablePointer<AccessOutcome>) {
        policy.replay(batch, on: core, outcomes: outcomes)
    }

    /// Serves one access; see ``CacheCore/access(_:)``.
    @inlinable
    public func access(_ access: Access) -> AccessOutcome { policy.access(access, on: core) }

    /// Stores an entry and appends the victims to a list; see ``CacheCore/access(_:deadline:renews:)``.
    @inlinable
    public func store(_ access: Access, deadline: Int64, victims: inout [EntryID]) -> AccessOutcome {
        let outcome = policy.store(access, deadline: deadline, on: core)
        tables.pointee.takeVictims(into: &victims)
        return outcome
    }

    /// Serves one hit and appends the victims to a list. Returns false if the entry is absent or has expired; see
    /// ``CacheCore/hit(_:deadline:)``.
    @inlinable
    public func hit(_ access: Access, deadline: Int64?, victims: inout [EntryID]) -> Bool {
        uncounted.hit(access, deadline: deadline, victims: &victims)
    }

    /// What a hit would find. Changes nothing; see ``HitStanding``.
    @inlinable
    public func standing(of entry: EntryID, at time: Int64, deadline: Int64?) -> HitStanding {
        tables.pointee.standing(of: entry, at: time, deadline: deadline)
    }

    /// A reference to this cache that is not counted.
    @inlinable
    public var uncounted: UncountedCache { UncountedCache(policy: policy, core: core, tables: tables) }

    // MARK: - Entries

    /// Whether an entry is resident (it may have expired).
    @inlinable
    public func contains(_ entry: EntryID) -> Bool { tables.pointee.contains(entry) }

    /// Whether an entry is resident and has not expired at a time in microseconds.
    @inlinable
    public func contains(_ entry: EntryID, freshAt time: Int64) -> Bool {
        tables.pointee.contains(entry, freshAt: time)
    }

    /// Whether entries expire, so that the two `contains` may differ.
    public var entriesExpire: Bool { tables.pointee.entriesExpire }
    /// Whether the policy remembers an entry that is not resident; see ``EvictionPolicy/remembers(_:)``.
    public func remembers(_ entry: EntryID) -> Bool { policy.remembers(entry, on: core) }
    /// The number of entries below the number `end` that are not resident and that the policy remembers. O(end).
    public func rememberedCount(below end: EntryID) -> Int { policy.rememberedCount(below: end, on: core) }
    /// The size of an entry, or its size when it was last resident.
    public func lastSize(of entry: EntryID) -> Int { tables.pointee.lastSize(of: entry) }
    /// When an entry expires, in microseconds; `Int64.max` if never.
    public func deadline(of entry: EntryID) -> Int64 { tables.pointee.deadline(of: entry) }

    // MARK: - The owner's calls

    /// Removes an entry without counting an eviction.
    public func remove(_ entry: EntryID) { policy.remove(entry, on: core) }

    /// Reports whether a prefetched entry is still likely; one that is not is evicted first.
    public func reconsider(_ access: Access, isLikely: Bool) { tables.pointee.reconsider(access, isLikely: isLikely) }

    /// Reports the members of a category set to the policy.
    public func define(categorySet set: CategorySetID, members: [UInt32]) {
        policy.define(categorySet: set, members: members, on: core)
    }

    /// Reports the objects of a list that is shown to the policy; see ``EvictionPolicy/shown(_:)``.
    public func shown(_ objects: [UInt32]) { policy.shown(objects, on: core) }

    /// Changes capacity and count limit and appends the victims to a list; see ``CacheCore/limit(capacity:count:at:)``.
    public func limit(capacity: Int, count: Int, at now: Access, victims: inout [EntryID]) {
        policy.limit(capacity: capacity, count: count, at: now, on: core)
        takeVictims(into: &victims)
    }

    /// Evicts down to a size and a count and appends the victims to a list; see ``CacheCore/trim(to:count:at:)``.
    public func trim(to size: Int, count: Int, at now: Access, victims: inout [EntryID]) {
        policy.trim(to: size, count: count, at: now, on: core)
        takeVictims(into: &victims)
    }

    /// Moves the victims since the last call to the end of `list`; none unless ``PolicyContext/keepsVictims`` or
    /// ``PolicyContext/prefetches`` is set.
    @inlinable
    public func takeVictims(into list: inout [EntryID]) { tables.pointee.takeVictims(into: &list) }

    // MARK: - Counters

    /// The size of all residents.
    @inlinable public var used: Int { tables.pointee.used }
    /// The number of residents, expired ones included.
    @inlinable public var count: Int { tables.pointee.count }
    /// The entries evicted to make room.
    public var evictions: Int { tables.pointee.evictions }
    /// The residents that were found expired or of another size.
    public var expirations: Int { tables.pointee.expirations }
    /// The heap bytes of bookkeeping.
    public var metadataBytes: MetadataBytes { policy.metadataBytes(on: core) }
    /// What the policy publishes about itself.
    public var metrics: [PolicyMetric] { policy.metrics(on: core) }

    /// The bytes of what the policy has learned; see ``EvictionPolicy/trainedModel``.
    public var trainedModel: [UInt8]? { policy.trainedModel(on: core) }

    /// Replaces what the policy has learned; see ``EvictionPolicy/adopt(trainedModel:)``.
    public func adopt(trainedModel: [UInt8]) { policy.adopt(trainedModel: trainedModel, on: core) }

    /// All counters, and the bytes of bookkeeping.
    public var state: CacheState {
        CacheState(
            used: used, count: count, evictions: evictions, expirations: expirations, metadataBytes: metadataBytes,
            metrics: metrics)
    }
}

/// A reference to a cache that is not counted, so that a hit costs no atomic operation and threads share no count.
///
/// It is valid as long as the cache exists, which its owner sees to. Any number of threads may look while none changes
/// the cache.
@frozen
public struct UncountedCache: BitwiseCopyable {
    @usableFromInline let policy: any (CoreOperations & ~Copyable).Type
    @usableFromInline let core: UnsafeMutableRawPointer
    @usableFromInline let tables: UnsafeMutablePointer<CacheTables>

    @inlinable
    init(
        policy: any (CoreOperations & ~Copyable).Type, core: UnsafeMutableRawPointer,
        tables: UnsafeMutablePointer<CacheTables>
    ) {
        (self.policy, self.core, self.tables) = (policy, core, tables)
    }

    /// What a hit would find. Changes nothing; see ``HitStanding``.
    @inlinable @inline(__always)
    public func standing(of entry: EntryID, at time: Int64, deadline: Int64?) -> HitStanding {
        tables.pointee.standing(of: entry, at: time, deadline: deadline)
    }

    /// Whether an entry is resident and has not expired at a time in microseconds.
    @inlinable @inline(__always)
    public func contains(_ entry: EntryID, freshAt time: Int64) -> Bool {
        tables.pointee.contains(entry, freshAt: time)
    }

    /// Serves one hit; see ``AnyCache/hit(_:deadline:victims:)``.
    @inlinable @inline(__always)
    public func hit(_ access: Access, deadline: Int64?, victims: inout [EntryID]) -> Bool {
        guard policy.hit(access, deadline: deadline, on: core) else { return false }
        tables.pointee.takeVictims(into: &victims)
        return true
    }
}

/// The counters of a cache.
public struct CacheState: Sendable, Equatable {
    /// The size of all residents.
    public let used: Int
    /// The number of residents.
    public let count: Int
    /// The entries evicted to make room.
    public let evictions: Int
    /// The residents that were found expired or of another size.
    public let expirations: Int
    /// The heap bytes of bookkeeping.
    public let metadataBytes: MetadataBytes
    /// What the policy publishes about itself.
    public let metrics: [PolicyMetric]
}
