/// What a ``CacheCore`` keeps beside its policy: limits, counters, residency, sizes, deadlines, victims.
///
/// It is no generic type, so that code which does not know the policy reaches it as fast as the core does.
@usableFromInline
struct CacheTables: ~Copyable {
    /// The size that may be used, in the unit of ``Access/size``.
    @usableFromInline var capacity: Int
    /// The number of entries that may be resident.
    @usableFromInline var countLimit = Int.max
    /// The size of all residents.
    @usableFromInline var used = 0
    /// The number of residents.
    @usableFromInline var count = 0
    /// The entries evicted to make room.
    @usableFromInline var evictions = 0
    /// The residents that were found expired or of another size.
    @usableFromInline var expirations = 0

    /// The size down to which room is made once room is needed.
    @usableFromInline var roomLimit: Int
    @usableFromInline let usesUniformSizes: Bool
    /// Whether entries expire.
    @usableFromInline let entriesExpire: Bool
    @usableFromInline let keepsVictims: Bool
    /// Whether prefetched entries are kept apart from the policy.
    @usableFromInline let prefetches: Bool
    /// Whether a choice of a victim is the policy's alone: no entries are kept apart from it, and it is not timed.
    @usableFromInline let choosesDirectly: Bool
    /// Whether the policy may evict an entry for a hit; see ``EvictionPolicy/mayOverflow``.
    @usableFromInline let mayOverflow: Bool
    @usableFromInline let behaviour: CacheBehaviour
    @usableFromInline var resident: SlotArray<Bool>
    @usableFromInline var sizes: SlotArray<Int>
    /// `Int64.min` for entries that are not resident, so that one look says whether an entry is resident and fresh.
    @usableFromInline var deadlines: SlotArray<Int64>
    @usableFromInline var victims: [EntryID] = []
    @usableFromInline var prefetched = PrefetchedEntries()
    /// Receives the time of each choice of a victim; `nil` if the cache is not timed.
    @usableFromInline let times: CacheTimes?

    @inlinable
    init(_ context: PolicyContext, _ behaviour: CacheBehaviour, mayOverflow: Bool, times: CacheTimes?) {
        var behaviour = behaviour
        if let lifetime = context.lifetime {
            behaviour.lifetime = lifetime
            behaviour.hitsExtendLifetime = true
        }
        self.behaviour = behaviour
        self.mayOverflow = mayOverflow
        self.times = times
        capacity = max(context.capacity, 0)
        usesUniformSizes = context.usesUniformSizes
        entriesExpire = context.entriesExpire || behaviour.lifetime != nil
        keepsVictims = context.keepsVictims || context.prefetches
        prefetches = context.prefetches
        choosesDirectly = !context.prefetches && times == nil
        roomLimit = Self.roomLimit(context.capacity, behaviour)
        resident = SlotArray(repeating: false, capacity: context.entries)
        sizes = SlotArray(repeating: 0, capacity: usesUniformSizes ? 0 : context.entries)
        deadlines = SlotArray(repeating: .min, capacity: entriesExpire ? context.entries : 0)
    }

    /// The heap bytes of the tables.
    @inlinable
    var byteCount: Int { resident.byteCount + sizes.byteCount + deadlines.byteCount + prefetched.byteCount }

    /// The requests between two steps of ``EvictionPolicy/expect(_:step:)``: as long as memory takes to answer.
    @inlinable static var requestsPerStep: Int { 6 }

    /// Starts loading what a request of an entry reads first into the processor's cache.
    @inlinable @inline(__always)
    func expect(_ entry: EntryID) { resident.expect(entry) }

    /// Whether an entry is resident (it may have expired).
    @inlinable @inline(__always)
    func contains(_ entry: EntryID) -> Bool { resident[entry] }

    /// Whether an entry is resident and has not expired at `time`, in microseconds.
    @inlinable @inline(__always)
    func contains(_ entry: EntryID, freshAt time: Int64) -> Bool {
        entriesExpire ? time < deadlines[entry] : resident[entry]
    }

    /// The size of an entry, or its size when it was last resident.
    @inlinable @inline(__always)
    func lastSize(of entry: EntryID) -> Int { usesUniformSizes ? 1 : sizes[entry] }

    /// When an entry expires, in microseconds; `Int64.max` if never, or if it is not resident.
    @inlinable
    func deadline(of entry: EntryID) -> Int64 {
        resident[entry] && entriesExpire ? deadlines[entry] : .max
    }

    /// What ``CacheCore/hit(_:deadline:)`` would find. Changes nothing.
    ///
    /// A deferrable hit finds its entry whenever it is served, as long as only hits are served before it. None of them
    /// shortens the lifetime of the entry or evicts it.
    @inlinable @inline(__always)
    func standing(of entry: EntryID, at time: Int64, deadline: Int64?) -> HitStanding {
        if !entriesExpire { return !resident[entry] ? .absent : mayOverflow ? .immediate : .deferrable }
        let present = deadlines[entry]
        if time >= present { return resident[entry] ? .immediate : .absent }
        if let deadline, bounded(deadline, time) < present { return .immediate }
        return mayOverflow ? .immediate : .deferrable
    }

    /// Reports whether a prefetched entry that was not requested since is still likely; see ``PrefetchedEntries``.
    @inlinable
    mutating func reconsider(_ access: Access, isLikely: Bool) {
        if prefetches, resident[access.entry] { prefetched.reconsider(access, isLikely: isLikely) }
    }

    /// Moves the victims since the last call to the end of `list`, in their order.
    @inlinable @inline(__always)
    mutating func takeVictims(into list: inout [EntryID]) {
        if victims.isEmpty { return }
        list.append(contentsOf: victims)
        victims.removeAll(keepingCapacity: true)
    }

    @inlinable
    static func roomLimit(_ capacity: Int, _ behaviour: CacheBehaviour) -> Int {
        Int((Double(max(capacity, 0)) * behaviour.lowWaterMark).rounded(.down))
    }

    /// A deadline, or the end of the policy's lifetime if that is earlier.
    @inlinable @inline(__always)
    func bounded(_ deadline: Int64, _ time: Int64) -> Int64 {
        guard let lifetime = behaviour.lifetime else { return deadline }
        return min(deadline, time &+ lifetime)
    }

    /// Whether a resident has the size that is requested and has not expired.
    @inlinable @inline(__always)
    func isFresh(_ access: Access) -> Bool {
        if !usesUniformSizes && sizes[access.entry] != access.size { return false }
        return !entriesExpire || access.time < deadlines[access.entry]
    }

    @inlinable @inline(__always)
    mutating func insert(_ access: Access, deadline: Int64) {
        resident[access.entry] = true
        if !usesUniformSizes { sizes[access.entry] = access.size }
        if entriesExpire { deadlines[access.entry] = bounded(deadline, access.time) }
        used &+= access.size
        count &+= 1
    }

    @inlinable @inline(__always)
    mutating func remove(_ entry: EntryID) {
        used &-= usesUniformSizes ? 1 : sizes[entry]
        resident[entry] = false
        if entriesExpire { deadlines[entry] = .min }
        count &-= 1
    }

    @inlinable @inline(__always)
    mutating func evict(_ victim: EntryID) {
        precondition(resident[victim], "the policy evicted an entry that is not resident")
        remove(victim)
        evictions &+= 1
        if keepsVictims { victims.append(victim) }
    }
}

/// What a hit would find; see `CacheTables.standing(of:at:deadline:)`.
public enum HitStanding: Sendable {
    /// The entry is not resident: there is nothing to hit.
    case absent
    /// The entry is resident and stays so: the hit may be served later, after other hits.
    case deferrable
    /// The entry has expired, would expire sooner, or others may be evicted for the hit: it must be served at once.
    case immediate
}
