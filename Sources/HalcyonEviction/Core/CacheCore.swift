/// The state machine of a bounded cache: which entries are resident, their sizes and deadlines, admission and eviction.
///
/// Every storage of the live cache holds one, and so does every cache of a replay: both decide by the same code. All
/// methods are O(1) beside what the policy takes. Bytes an entry beside the policy's own: 1, or 9 with variable sizes; 8
/// more if entries expire; 16 more if the cache prefetches.
///
/// `used` never exceeds `capacity`, nor `count` the `countLimit`. The core calls the policy in the order that
/// ``EvictionPolicy`` states. Prefetched entries that were not requested since are kept apart from the policy; see
/// `PrefetchedEntries`.
public struct CacheCore<Policy: EvictionPolicy & ~Copyable>: ~Copyable {
    /// Everything but the policy. The first property: its address is that of the core.
    @usableFromInline var tables: CacheTables
    /// The eviction policy.
    public var policy: Policy

    /// An empty cache; nothing is ever kept in one with a capacity of 0 or less.
    ///
    /// - Parameter times: receives the time of each choice of a victim; `nil` for a cache that is not timed.
    @inlinable
    public init(_ policy: consuming Policy, _ context: PolicyContext, times: CacheTimes? = nil) {
        tables = CacheTables(context, policy.behaviour, mayOverflow: Policy.mayOverflow, times: times)
        self.policy = policy
    }

    /// The size that may be used, in the unit of ``Access/size``.
    @inlinable public var capacity: Int { tables.capacity }
    /// The number of entries that may be resident.
    @inlinable public var countLimit: Int { tables.countLimit }
    /// The size of all residents.
    @inlinable public var used: Int { tables.used }
    /// The number of residents.
    @inlinable public var count: Int { tables.count }
    /// The entries evicted to make room.
    @inlinable public var evictions: Int { tables.evictions }
    /// The residents that were found expired or of another size.
    @inlinable public var expirations: Int { tables.expirations }
    /// Whether an entry is resident (it may have expired).
    @inlinable public func contains(_ entry: EntryID) -> Bool { tables.contains(entry) }
    /// Moves the victims since the last call to the end of `list`, in their order.
    @inlinable public mutating func takeVictims(into list: inout [EntryID]) { tables.takeVictims(into: &list) }

    /// The heap bytes of bookkeeping, the policy's included.
    @inlinable
    public var metadataBytes: MetadataBytes { policy.metadataBytes + MetadataBytes(perNumber: tables.byteCount) }

    /// What the policy publishes about itself, and what the cache knows of its prefetched entries.
    public var metrics: [PolicyMetric] { policy.metrics + (tables.prefetches ? tables.prefetched.metrics : []) }

    /// The number of entries below the number `end` that are not resident and that the policy remembers. O(end).
    @inlinable
    public func rememberedCount(below end: EntryID) -> Int {
        var count = 0
        for entry in 0..<end where !tables.resident[entry] && policy.remembers(entry) { count &+= 1 }
        return count
    }

    // MARK: - Requests

    /// Serves the requests of a batch in order and writes the outcome of each to `outcomes`.
    @inlinable
    public mutating func replay(_ batch: RequestBatch, outcomes: UnsafeMutablePointer<AccessOutcome>) {
        for position in 0..<batch.entries.count {
            expect(batch, after: position)
            outcomes[position] = access(batch.access(position))
        }
    }

    /// Starts loading what the requests after `position` will read; see ``EvictionPolicy/expect(_:step:)``.
    @inlinable @inline(__always)
    mutating func expect(_ batch: RequestBatch, after position: Int) {
        for step in 0..<Policy.expectationSteps {
            let ahead = position &+ (Policy.expectationSteps &- step) &* CacheTables.requestsPerStep
            if ahead >= batch.entries.count { continue }
            if step == 0 { tables.expect(batch.entries[ahead]) }
            policy.expect(batch.access(ahead), step: step)
        }
    }

    /// Serves one access: a hit, or a miss that inserts the entry and evicts until it fits.
    @inlinable @inline(__always)
    public mutating func access(_ access: Access) -> AccessOutcome {
        self.access(access, deadline: .max, renews: tables.behaviour.hitsExtendLifetime)
    }

    /// Serves one access to an entry that has its own deadline.
    ///
    /// - Parameters:
    ///   - deadline: when the entry expires, in microseconds; the policy's lifetime may end earlier. Ignored unless entries
    ///     expire.
    ///   - renews: whether a hit sets the deadline again; otherwise the entry keeps the one it has.
    @inlinable @inline(__always)
    public mutating func access(_ access: Access, deadline: Int64, renews: Bool) -> AccessOutcome {
        guard tables.resident[access.entry] else { return insert(access, deadline: deadline) ? .miss : .refused }
        if tables.isFresh(access) {
            if renews && tables.entriesExpire {
                tables.deadlines[access.entry] = tables.bounded(deadline, access.time)
            }
            hit(access)
            return .hit
        }
        remove(access.entry)
        tables.expirations &+= 1
        return insert(access, deadline: deadline) ? .stale : .refused
    }

    /// Serves an access to an entry that is resident and has not expired. Returns false, and changes nothing, if there is
    /// none.
    ///
    /// - Parameters:
    ///   - access: its size is ignored.
    ///   - deadline: the new deadline of the entry, as in ``access(_:deadline:renews:)``; `nil` for the one it has.
    @inlinable @inline(__always)
    public mutating func hit(_ access: Access, deadline: Int64?) -> Bool {
        guard tables.contains(access.entry, freshAt: access.time) else { return false }
        if let deadline, tables.entriesExpire {
            tables.deadlines[access.entry] = tables.bounded(deadline, access.time)
        }
        var access = access
        access.size = tables.lastSize(of: access.entry)
        hit(access)
        return true
    }

    @inlinable @inline(__always)
    mutating func hit(_ access: Access) {
        if tables.prefetches { hitPrefetching(access) } else { policy.hit(access) }
        while policy.overflows && count > 0 { tables.evict(victim(for: access)) }
    }

    /// Inserts an absent entry, if it is admitted and fits. Returns whether it is resident now.
    @inlinable @inline(__always)
    mutating func insert(_ access: Access, deadline: Int64) -> Bool {
        guard (tables.prefetches && access.isPrefetch) || policy.admit(access), access.size <= capacity,
            access.size >= 0, countLimit > 0
        else { return false }
        if used &+ access.size > capacity || count >= countLimit || policy.overflows {
            guard makeRoom(for: access) else { return false }
        }
        tables.insert(access, deadline: deadline)
        if tables.prefetches { insertPrefetching(access) } else { policy.insert(access) }
        return true
    }

    /// Evicts until an entry fits. Returns false if the policy chooses that very entry.
    @inlinable @inline(__always)
    mutating func makeRoom(for access: Access) -> Bool {
        let limit = used &+ access.size > capacity ? max(tables.roomLimit, access.size) : capacity
        while (used &+ access.size > limit || count >= countLimit || policy.overflows) && count > 0 {
            let victim = victim(for: access)
            if victim == access.entry {
                tables.times?.withdrawChoice()
                return false
            }
            tables.evict(victim)
        }
        return true
    }

    @inlinable @inline(__always)
    mutating func victim(for access: Access) -> EntryID {
        if tables.choosesDirectly { return policy.victim(for: access) }
        return timed { $0.tables.prefetches ? $0.victimPrefetching(for: access) : $0.policy.victim(for: access) }
    }

    // MARK: - The owner's calls

    /// Removes an entry, if it is resident, without counting an eviction.
    @inlinable
    public mutating func remove(_ entry: EntryID) {
        guard tables.resident[entry] else { return }
        withdraw(entry)
        tables.remove(entry)
    }

    /// Changes the capacity and the count limit, and evicts until both hold.
    ///
    /// - Parameter now: the time, by the request's number and by the clock; its entry is `EntryID.none`.
    @inlinable
    public mutating func limit(capacity: Int, count countLimit: Int, at now: Access) {
        let changesCapacity = self.capacity != max(capacity, 0)
        tables.capacity = max(capacity, 0)
        tables.countLimit = max(countLimit, 0)
        tables.roomLimit = CacheTables.roomLimit(capacity, tables.behaviour)
        trim(to: self.capacity, count: self.countLimit, at: now)
        guard changesCapacity else { return }
        policy.resize(to: self.capacity)
        trim(to: self.capacity, count: self.countLimit, at: now)
    }

    /// Evicts until at most `target` is used by at most `number` entries.
    ///
    /// - Parameter now: the time, by the request's number and by the clock; its entry is `EntryID.none`.
    @inlinable
    public mutating func trim(to target: Int, count number: Int = .max, at now: Access) {
        while (used > target || count > number || policy.overflows) && count > 0 {
            let victim = timed {
                $0.tables.prefetches ? $0.leastWantedPrefetching(at: now) : $0.policy.leastWanted(at: now)
            }
            if victim != .none {
                tables.evict(victim)
            } else if let first = (0..<EntryID(tables.resident.capacity)).first(where: { tables.resident[$0] }) {
                // A policy that names no entry loses the resident with the lowest number.
                withdraw(first)
                tables.evict(first)
            }
        }
    }

    /// Removes an entry from the policy, or from the prefetched entries.
    @inlinable @inline(__always)
    mutating func withdraw(_ entry: EntryID) {
        if tables.prefetches { withdrawPrefetching(entry) } else { policy.remove(entry) }
    }

    /// Makes a choice, and reports how long it took if the cache is timed.
    @inlinable @inline(never)
    mutating func timed(_ choose: (inout Self) -> EntryID) -> EntryID {
        guard let times = tables.times else { return choose(&self) }
        let start = times.now
        let victim = choose(&self)
        times.addChoice(since: start)
        return victim
    }
}
