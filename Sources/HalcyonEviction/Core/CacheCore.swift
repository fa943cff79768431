/// The state machine of a bounded cache: which entries are resident, their sizes and deadlines, admission and eviction.
///
/// Every storage of the live cache holds one, and so does every cache of a replay: both decide by the same code. All
/// methods are O(1) beside what the policy takes. Bytes an entry beside the policy's own: 1, or 9 with variable sizes; 8
/// more if entries expire; 12 more if the cache prefetches.
///
/// `used` never exceeds `capacity`, nor `count` the `countLimit`. The core calls the policy in the order that
/// ``EvictionPolicy`` states. Prefetched entries that were not requested since are kept apart from the policy; see
/// ``PrefetchedEntries``.
public struct CacheCore<Policy: EvictionPolicy & ~Copyable>: ~Copyable {
    /// Its limits and what it counts.
    @usableFromInline var tally: CacheTally

    /// What may be used, in the unit of ``Access/size``.
    @inlinable public var capacity: Int { tally.capacity }
    /// How many entries may be resident.
    @inlinable public var countLimit: Int { tally.countLimit }
    /// What is used.
    @inlinable public var used: Int { tally.used }
    /// The number of resident entries.
    @inlinable public var count: Int { tally.count }
    /// How many entries were evicted to make room.
    @inlinable public var evictions: Int { tally.evictions }
    /// How many residents were found expired or of another size.
    @inlinable public var expirations: Int { tally.expirations }

    @usableFromInline let behaviour: CacheBehaviour
    @usableFromInline var roomLimit: Int
    @usableFromInline let usesUniformSizes: Bool
    @usableFromInline let entriesExpire: Bool
    @usableFromInline let keepsVictims: Bool
    @usableFromInline var victims: [EntryID] = []
    @usableFromInline var resident: SlotArray<Bool>
    @usableFromInline var sizes: SlotArray<Int>
    /// `Int64.min` where nobody is resident, so that one look says whether an entry is there and has not expired.
    @usableFromInline var deadlines: SlotArray<Int64>
    /// Whether prefetched entries are kept apart from the policy.
    @usableFromInline let prefetches: Bool
    @usableFromInline var prefetched = PrefetchedEntries()
    /// Receives the time of each choice of a victim; `nil` if the cache is not timed.
    @usableFromInline let times: CacheTimes?
    /// The eviction policy. The last property: all others have offsets that do not depend on its type.
    public var policy: Policy

    /// An empty cache.
    ///
    /// - Parameters:
    ///   - capacity: what may be used; nothing is ever kept in a cache of 0 or less.
    ///   - usesUniformSizes: whether every access will size 1, which saves 8 bytes an entry.
    ///   - entries: how many entries to make room for from the start.
    ///   - lifetime: how long an entry lives in microseconds, hits starting that anew; `nil` leaves it to the policy.
    ///   - entriesExpire: whether entries are given deadlines of their own; see ``access(_:deadline:renews:)``.
    ///   - keepsVictims: whether victims are collected for ``takeVictims(into:)``.
    ///   - prefetches: whether prefetched entries are kept apart from the policy; see ``PrefetchedEntries``.
    ///   - times: receives the time of each choice of a victim; `nil` for a cache that is not timed.
    @inlinable
    public init(
        policy: consuming Policy, capacity: Int, usesUniformSizes: Bool = false, entries: Int = 0,
        lifetime: Int64? = nil, entriesExpire: Bool = false, keepsVictims: Bool = false,
        prefetches: Bool = false, times: CacheTimes? = nil
    ) {
        var behaviour = policy.behaviour
        if let lifetime {
            behaviour.lifetime = lifetime
            behaviour.hitsExtendLifetime = true
        }
        self.behaviour = behaviour
        tally = CacheTally(capacity: max(capacity, 0))
        self.usesUniformSizes = usesUniformSizes
        self.entriesExpire = entriesExpire || behaviour.lifetime != nil
        self.keepsVictims = keepsVictims
        roomLimit = Self.roomLimit(capacity, behaviour)
        resident = SlotArray(repeating: false, capacity: entries)
        sizes = SlotArray(repeating: 0, capacity: usesUniformSizes ? 0 : entries)
        deadlines = SlotArray(repeating: .min, capacity: self.entriesExpire ? entries : 0)
        self.prefetches = prefetches
        self.times = times
        self.policy = policy
    }

    /// The heap bytes of bookkeeping, the policy's included.
    @inlinable
    public var metadataBytes: MetadataBytes {
        policy.metadataBytes
            + MetadataBytes(
                perNumber: resident.byteCount + sizes.byteCount + deadlines.byteCount + prefetched.byteCount)
    }

    /// What the policy publishes about itself, and what the cache knows of its prefetched entries.
    public var metrics: [PolicyMetric] { policy.metrics + (prefetches ? prefetched.metrics : []) }

    /// The number of entries below the number `end` that are not resident and that the policy remembers. O(end).
    @inlinable
    public func rememberedCount(below end: EntryID) -> Int {
        var count = 0
        for entry in 0..<end where !resident[entry] && policy.remembers(entry) { count &+= 1 }
        return count
    }

    /// Whether an entry is resident (it may have expired).
    @inlinable @inline(__always)
    public func contains(_ entry: EntryID) -> Bool { resident[entry] }

    /// What a resident entry sizes; 0 for one that is not resident.
    @inlinable
    public func size(of entry: EntryID) -> Int {
        guard resident[entry] else { return 0 }
        return usesUniformSizes ? 1 : sizes[entry]
    }

    /// What an entry sizes, or size when it was last resident.
    @inlinable @inline(__always)
    public func lastSize(of entry: EntryID) -> Int { usesUniformSizes ? 1 : sizes[entry] }

    /// When an entry expires, in microseconds; `Int64.max` if never or if it is not resident.
    @inlinable
    public func deadline(of entry: EntryID) -> Int64 {
        resident[entry] && entriesExpire ? deadlines[entry] : .max
    }

    /// Whether an entry is resident and has not expired at `time`.
    @inlinable @inline(__always)
    public func contains(_ entry: EntryID, freshAt time: Int64) -> Bool {
        entriesExpire ? time < deadlines[entry] : resident[entry]
    }

    /// Serves one access: a hit, or a miss that brings the entry in and evicts whoever must go.
    @inlinable @inline(__always)
    public mutating func access(_ access: Access) -> AccessOutcome {
        serve(access, deadline: .max, renews: behaviour.hitsExtendLifetime)
    }

    /// Serves one access to an entry that has a deadline of its own.
    ///
    /// - Parameters:
    ///   - deadline: when the entry expires, in microseconds; the policy's lifetime may end earlier. It counts only where
    ///     entries expire.
    ///   - renews: whether a hit starts that anew; otherwise it keeps the deadline that it has.
    @inlinable @inline(__always)
    public mutating func access(_ access: Access, deadline: Int64, renews: Bool) -> AccessOutcome {
        serve(access, deadline: deadline, renews: renews)
    }

    /// Serves an access to an entry that is resident and has not expired, and says whether it was: on a miss nothing changes.
    ///
    /// - Parameters:
    ///   - access: what it says of the size is of no account.
    ///   - deadline: takes the place of the one that the entry has, unless it is `nil`; as in ``access(_:deadline:renews:)``.
    @inlinable @inline(__always)
    public mutating func hit(_ access: Access, deadline: Int64?) -> Bool {
        guard contains(access.entry, freshAt: access.time) else { return false }
        if let deadline, entriesExpire { deadlines[access.entry] = bounded(deadline, access.time) }
        var access = access
        access.size = lastSize(of: access.entry)
        touch(access)
        return true
    }

    /// Tells the policy whether an entry that was brought in ahead of need is still held to be likely, if it is resident; see
    /// ``EvictionPolicy/reconsider(_:isLikely:)``.
    @inlinable
    public mutating func reconsider(_ access: Access, isLikely: Bool) {
        if prefetches, resident[access.entry] { prefetched.reconsider(access, isLikely: isLikely) }
    }

    /// What ``hit(_:deadline:)`` would find, without serving it. Nothing changes.
    ///
    /// A hit that may wait is one that finds its entry in time whenever it is served, as long as all that is served before it are
    /// hits: none of them can shorten the time that the entry has, nor evict it.
    @inlinable @inline(__always)
    public func standing(of entry: EntryID, at time: Int64, deadline: Int64?) -> HitStanding {
        if !entriesExpire { return !resident[entry] ? .absent : Policy.mayOverflow ? .immediate : .deferrable }
        let present = deadlines[entry]
        if time >= present { return resident[entry] ? .immediate : .absent }
        if let deadline, bounded(deadline, time) < present { return .immediate }
        return Policy.mayOverflow ? .immediate : .deferrable
    }

    /// Takes an entry out, if it is resident, without counting an eviction.
    @inlinable
    public mutating func remove(_ entry: EntryID) {
        guard resident[entry] else { return }
        withdraw(entry)
        release(entry)
    }

    /// Changes what may be used and how many may be resident, and evicts until that holds.
    ///
    /// - Parameter now: the time, by the request's number and by the clock; its entry is ``EntryID/none``.
    @inlinable
    public mutating func limit(capacity: Int, count countLimit: Int, at now: Access) {
        let isAnother = self.capacity != max(capacity, 0)
        tally.capacity = max(capacity, 0)
        tally.countLimit = max(countLimit, 0)
        roomLimit = Self.roomLimit(capacity, behaviour)
        trim(to: self.capacity, count: self.countLimit, at: now)
        guard isAnother else { return }
        policy.resize(to: self.capacity)
        trim(to: self.capacity, count: self.countLimit, at: now)
    }

    /// Evicts until at most `target` is used by at most `number` entries.
    ///
    /// - Parameter now: the time, by the request's number and by the clock; its entry is ``EntryID/none``.
    @inlinable
    public mutating func trim(to target: Int, count number: Int = .max, at now: Access) {
        while (used > target || count > number || policy.overflows) && count > 0 {
            let victim = leastWanted(at: now)
            if victim != .none {
                evict(victim)
            } else if let first = (0..<EntryID(resident.capacity)).first(where: { resident[$0] }) {
                // A policy that refuses to name anyone loses the resident with the lowest number.
                withdraw(first)
                evict(first)
            }
        }
    }

    /// Moves those that were evicted since the last call to the end of `list`, in their order.
    @inlinable @inline(__always)
    public mutating func takeVictims(into list: inout [EntryID]) {
        if victims.isEmpty { return }
        list.append(contentsOf: victims)
        victims.removeAll(keepingCapacity: true)
    }

    @inlinable
    static func roomLimit(_ capacity: Int, _ behaviour: CacheBehaviour) -> Int {
        Int((Double(max(capacity, 0)) * behaviour.lowWaterMark).rounded(.down))
    }

    @inlinable @inline(__always)
    mutating func serve(_ access: Access, deadline: Int64, renews: Bool) -> AccessOutcome {
        if resident[access.entry] {
            if isFresh(access) {
                if renews && entriesExpire { deadlines[access.entry] = bounded(deadline, access.time) }
                touch(access)
                return .hit
            }
            remove(access.entry)
            tally.expirations &+= 1
            return bringIn(access, deadline: deadline) ? .stale : .refused
        }
        return bringIn(access, deadline: deadline) ? .miss : .refused
    }

    @inlinable @inline(__always)
    mutating func touch(_ access: Access) {
        if prefetches { hitPrefetching(access) } else { policy.hit(access) }
        while policy.overflows && count > 0 { evict(victim(for: access)) }
    }

    @inlinable @inline(__always)
    func bounded(_ deadline: Int64, _ time: Int64) -> Int64 {
        guard let lifetime = behaviour.lifetime else { return deadline }
        return min(deadline, time &+ lifetime)
    }

    @inlinable @inline(__always)
    func isFresh(_ access: Access) -> Bool {
        if !usesUniformSizes && sizes[access.entry] != access.size { return false }
        return !entriesExpire || access.time < deadlines[access.entry]
    }

    @inlinable @inline(__always)
    mutating func bringIn(_ access: Access, deadline: Int64) -> Bool {
        guard (prefetches && access.isPrefetch) || policy.admit(access), access.size <= capacity, access.size >= 0, countLimit > 0 else { return false }
        if used &+ access.size > capacity || count >= countLimit || policy.overflows {
            guard makeRoom(for: access) else { return false }
        }
        resident[access.entry] = true
        if !usesUniformSizes { sizes[access.entry] = access.size }
        if entriesExpire { deadlines[access.entry] = bounded(deadline, access.time) }
        tally.used &+= access.size
        tally.count &+= 1
        if prefetches { insertPrefetching(access) } else { policy.insert(access) }
        return true
    }

    @inlinable @inline(__always)
    mutating func makeRoom(for access: Access) -> Bool {
        let limit = used &+ access.size > capacity ? max(roomLimit, access.size) : capacity
        while (used &+ access.size > limit || count >= countLimit || policy.overflows) && count > 0 {
            let victim = victim(for: access)
            if victim == access.entry { return false }
            evict(victim)
        }
        return true
    }

    @inlinable @inline(__always)
    mutating func victim(for access: Access) -> EntryID {
        if times == nil && !prefetches { return policy.victim(for: access) }
        return timed { $0.prefetches ? $0.victimPrefetching(for: access) : $0.policy.victim(for: access) }
    }

    @inlinable
    mutating func leastWanted(at now: Access) -> EntryID {
        timed { $0.prefetches ? $0.leastWantedPrefetching(at: now) : $0.policy.leastWanted(at: now) }
    }

    /// Makes a choice, and reports how long it took if the cache is timed.
    @inlinable
    mutating func timed(_ choose: (inout Self) -> EntryID) -> EntryID {
        guard let times else { return choose(&self) }
        let start = times.now
        let victim = choose(&self)
        times.addChoice(since: start)
        return victim
    }

    /// Takes an entry out of the policy, or out of the prefetched entries.
    @inlinable @inline(__always)
    mutating func withdraw(_ entry: EntryID) {
        if prefetches { withdrawPrefetching(entry) } else { policy.remove(entry) }
    }

    @inlinable @inline(__always)
    mutating func evict(_ victim: EntryID) {
        precondition(resident[victim], "the policy evicted an entry that is not resident")
        release(victim)
        tally.evictions &+= 1
        if keepsVictims { victims.append(victim) }
    }

    @inlinable @inline(__always)
    mutating func release(_ entry: EntryID) {
        tally.used &-= usesUniformSizes ? 1 : sizes[entry]
        resident[entry] = false
        if entriesExpire { deadlines[entry] = .min }
        tally.count &-= 1
    }
}

/// The limits of a ``CacheCore`` and what it counts: what others may read and it alone may set, by code that is compiled where
/// the policy stands.
@usableFromInline
struct CacheTally {
    @usableFromInline var capacity: Int
    @usableFromInline var countLimit = Int.max
    @usableFromInline var used = 0
    @usableFromInline var count = 0
    @usableFromInline var evictions = 0
    @usableFromInline var expirations = 0

    @inlinable
    init(capacity: Int) { self.capacity = capacity }
}
