/// A bounded cache whose policy's type its owner does not know. ``PolicyCache`` is the only class that conforms.
///
/// The interface of ``CacheCore`` behind dynamic dispatch: some nanoseconds a call, or a call a batch. A live storage uses
/// ``store(_:deadline:victims:)``, ``hit(_:deadline:victims:)`` and what follows; a replay ``replay(_:outcomes:)`` and
/// ``access(_:)``. A cache belongs to one thread at a time.
public protocol AnyCache: AnyObject {
    /// Serves a batch of requests in order and writes the outcome of each to `outcomes`.
    func replay(_ batch: RequestBatch, outcomes: UnsafeMutablePointer<AccessOutcome>)
    /// Serves one access; see ``CacheCore/access(_:)``.
    func access(_ access: Access) -> AccessOutcome
    /// Stores an entry and appends the victims to a list; see ``CacheCore/access(_:deadline:renews:)``.
    func store(_ access: Access, deadline: Int64, victims: inout [EntryID]) -> AccessOutcome
    /// Serves one hit and appends the victims to a list. Returns false if the entry is absent or has expired; see
    /// ``CacheCore/hit(_:deadline:)``.
    func hit(_ access: Access, deadline: Int64?, victims: inout [EntryID]) -> Bool
    /// What a hit would find. Changes nothing; see ``HitStanding``.
    func standing(of entry: EntryID, at time: Int64, deadline: Int64?) -> HitStanding
    /// A reference to this cache that is not counted.
    var uncounted: UncountedCache { get }
    /// Serves one hit on the core that ``uncounted`` refers to; see ``hit(_:deadline:victims:)``.
    static func hit(_ access: Access, deadline: Int64?, on core: UnsafeMutableRawPointer, victims: inout [EntryID])
        -> Bool
    /// Whether an entry is resident (it may have expired).
    func contains(_ entry: EntryID) -> Bool
    /// Whether an entry is resident and has not expired at a time in microseconds.
    func contains(_ entry: EntryID, freshAt time: Int64) -> Bool
    /// Whether entries expire, so that the two `contains` may differ.
    var entriesExpire: Bool { get }
    /// Whether the policy remembers an entry that is not resident; see ``EvictionPolicy/remembers(_:)``.
    func remembers(_ entry: EntryID) -> Bool
    /// The number of entries below the number `end` that are not resident and that the policy remembers. O(end).
    func rememberedCount(below end: EntryID) -> Int
    /// The size of an entry, or its size when it was last resident.
    func lastSize(of entry: EntryID) -> Int
    /// When an entry expires, in microseconds; `Int64.max` if never.
    func deadline(of entry: EntryID) -> Int64
    /// Removes an entry without counting an eviction.
    func remove(_ entry: EntryID)
    /// Reports whether a prefetched entry is still likely; one that is not is evicted first.
    func reconsider(_ access: Access, isLikely: Bool)
    /// Reports the members of a category set to the policy.
    func define(categorySet set: CategorySetID, members: [UInt32])
    /// Changes capacity and count limit and appends the victims to a list; see ``CacheCore/limit(capacity:count:at:)``.
    func limit(capacity: Int, count: Int, at now: Access, victims: inout [EntryID])
    /// Evicts down to a size and a count and appends the victims to a list; see ``CacheCore/trim(to:count:at:)``.
    func trim(to size: Int, count: Int, at now: Access, victims: inout [EntryID])
    /// Moves the victims since the last call to the end of `list`; none unless ``PolicyContext/keepsVictims`` or
    /// ``PolicyContext/prefetches`` is set.
    func takeVictims(into list: inout [EntryID])
    /// The size of all residents.
    var used: Int { get }
    /// The number of residents, expired ones included.
    var count: Int { get }
    /// The entries evicted to make room.
    var evictions: Int { get }
    /// The residents that were found expired or of another size.
    var expirations: Int { get }
    /// The heap bytes of bookkeeping.
    var metadataBytes: MetadataBytes { get }
    /// What the policy publishes about itself.
    var metrics: [PolicyMetric] { get }
}

extension AnyCache {
    /// All counters, and the bytes of bookkeeping.
    public var state: CacheState {
        CacheState(
            used: used, count: count, evictions: evictions, expirations: expirations, metadataBytes: metadataBytes,
            metrics: metrics)
    }
}

/// A reference to a cache that is not counted, so that a hit costs no atomic operation and threads share no count.
///
/// It is valid as long as the cache exists, which its owner sees to. Any number of threads may look while none changes the cache.
@frozen
public struct UncountedCache: BitwiseCopyable {
    @usableFromInline let type: any AnyCache.Type
    @usableFromInline let core: UnsafeMutableRawPointer
    @usableFromInline let tables: UnsafePointer<CacheTables>

    @inlinable
    init(_ type: any AnyCache.Type, core: UnsafeMutableRawPointer, tables: UnsafePointer<CacheTables>) {
        (self.type, self.core, self.tables) = (type, core, tables)
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
        type.hit(access, deadline: deadline, on: core, victims: &victims)
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

/// A ``CacheCore`` under a policy of one type, as ``AnyCache``.
///
/// Swift compiles the methods of a generic class once for all types, which would make each call into the policy a dynamic
/// one. The methods that matter for speed therefore call one static method of the policy (``EvictionPolicy/replay(_:on:outcomes:)``
/// and its neighbours), which Swift compiles for the policy's type. The core lies at a fixed address: a stored property of a
/// class would be checked for exclusive access at each use.
public final class PolicyCache<Policy: EvictionPolicy & ~Copyable>: AnyCache {
    @usableFromInline let core: UnsafeMutablePointer<CacheCore<Policy>>
    /// The tables of the core: its first property, whose address does not depend on the policy's type.
    @usableFromInline let tables: UnsafeMutablePointer<CacheTables>

    /// An empty cache.
    ///
    /// - Parameter times: receives the time of each choice of a victim; `nil` for a cache that is not timed.
    @inlinable
    public init(_ policy: consuming Policy, context: PolicyContext, times: CacheTimes? = nil) {
        core = .allocate(capacity: 1)
        core.initialize(to: CacheCore(policy, context, times: times))
        tables = UnsafeMutableRawPointer(core).assumingMemoryBound(to: CacheTables.self)
    }

    deinit {
        Policy.destroy(core)
        core.deallocate()
    }

    public func replay(_ batch: RequestBatch, outcomes: UnsafeMutablePointer<AccessOutcome>) {
        Policy.replay(batch, on: core, outcomes: outcomes)
    }

    public func access(_ access: Access) -> AccessOutcome { Policy.serve(access, on: core) }

    public func store(_ access: Access, deadline: Int64, victims: inout [EntryID]) -> AccessOutcome {
        Policy.store(access, deadline: deadline, on: core, victims: &victims)
    }

    public func hit(_ access: Access, deadline: Int64?, victims: inout [EntryID]) -> Bool {
        Policy.hit(access, deadline: deadline, on: core, victims: &victims)
    }

    public func standing(of entry: EntryID, at time: Int64, deadline: Int64?) -> HitStanding {
        tables.pointee.standing(of: entry, at: time, deadline: deadline)
    }

    public var uncounted: UncountedCache { UncountedCache(Self.self, core: core, tables: tables) }

    public static func hit(
        _ access: Access, deadline: Int64?, on core: UnsafeMutableRawPointer, victims: inout [EntryID]
    ) -> Bool {
        Policy.hit(
            access, deadline: deadline, on: core.assumingMemoryBound(to: CacheCore<Policy>.self), victims: &victims)
    }

    public func contains(_ entry: EntryID) -> Bool { tables.pointee.contains(entry) }

    public func contains(_ entry: EntryID, freshAt time: Int64) -> Bool {
        tables.pointee.contains(entry, freshAt: time)
    }

    public var entriesExpire: Bool { tables.pointee.entriesExpire }

    public func remembers(_ entry: EntryID) -> Bool { core.pointee.policy.remembers(entry) }

    public func rememberedCount(below end: EntryID) -> Int { Policy.rememberedCount(below: end, on: core) }

    public func lastSize(of entry: EntryID) -> Int { tables.pointee.lastSize(of: entry) }

    public func deadline(of entry: EntryID) -> Int64 { tables.pointee.deadline(of: entry) }

    public func remove(_ entry: EntryID) {
        let environment = FloatEnvironment.enter(if: Policy.computesInFloatingPoint)
        defer { environment.leave() }
        core.pointee.remove(entry)
    }

    public func reconsider(_ access: Access, isLikely: Bool) { tables.pointee.reconsider(access, isLikely: isLikely) }

    public func define(categorySet set: CategorySetID, members: [UInt32]) {
        core.pointee.policy.define(categorySet: set, members: members)
    }

    public func limit(capacity: Int, count: Int, at now: Access, victims: inout [EntryID]) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        core.pointee.limit(capacity: capacity, count: count, at: now)
        tables.pointee.takeVictims(into: &victims)
    }

    public func trim(to size: Int, count: Int, at now: Access, victims: inout [EntryID]) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        core.pointee.trim(to: size, count: count, at: now)
        tables.pointee.takeVictims(into: &victims)
    }

    public func takeVictims(into list: inout [EntryID]) { tables.pointee.takeVictims(into: &list) }

    public var used: Int { tables.pointee.used }

    public var count: Int { tables.pointee.count }

    public var evictions: Int { tables.pointee.evictions }

    public var expirations: Int { tables.pointee.expirations }

    public var metadataBytes: MetadataBytes { Policy.metadataBytes(on: core) }

    public var metrics: [PolicyMetric] { core.pointee.metrics }
}
