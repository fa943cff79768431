/// A ``BoundedIndex`` with any policy for a storage that holds values, behind closures compiled for that very policy.
///
/// Beside what a replay needs (``CacheRun``), a storage must hear who was evicted, give each entry a deadline, and change
/// limits while it runs. A class, so that passing it on retains one object and not every closure. Not thread-safe: it belongs
/// inside its owner's lock.
public final class LiveIndex {
    /// Serves one store: the access, when the entry expires, and the list to which the victims are added.
    /// See ``BoundedIndex/access(_:deadline:renews:)``.
    public let store: (Access, _ deadline: Int64, _ victims: inout [EntryID]) -> AccessOutcome
    /// Serves one hit on an entry that is resident and has not expired, and says whether it was; the access' cost is of
    /// no account. `deadline` replaces the one that the entry has, unless it is `nil`.
    public let hit: (Access, _ deadline: Int64?, _ victims: inout [EntryID]) -> Bool
    /// Whether an entry is resident (it may have expired).
    public let contains: (EntryID) -> Bool
    /// Whether an entry is resident and has not expired at a time.
    public let containsFresh: (EntryID, Int64) -> Bool
    /// Whether the policy remembers an entry that is not resident; see ``EvictionPolicy/remembers(_:)``.
    public let remembers: (EntryID) -> Bool
    /// What an entry costs, or cost when it was last resident.
    public let cost: (EntryID) -> Int
    /// When an entry expires, in microseconds; `Int64.max` if never.
    public let deadline: (EntryID) -> Int64
    /// Takes an entry out.
    public let remove: (EntryID) -> Void
    /// Tells the policy the members of a category set.
    public let define: (CategorySetID, [UInt32]) -> Void
    /// Changes capacity and count limit; see ``BoundedIndex/limit(capacity:count:at:)``.
    public let limit: (_ capacity: Int, _ count: Int, _ now: Access, _ victims: inout [EntryID]) -> Void
    /// Evicts down to a cost and a count; see ``BoundedIndex/trim(to:count:at:)``.
    public let trim: (_ cost: Int, _ count: Int, _ now: Access, _ victims: inout [EntryID]) -> Void
    /// What is used of the capacity.
    public let used: () -> Int
    /// The number of residents, expired ones included.
    public let count: () -> Int
    /// The state as of now.
    public let state: () -> CacheState

    /// An index around `policy`, compiled for its type.
    @inline(__always)
    public init<Policy: EvictionPolicy & ~Copyable>(_ policy: consuming Policy, context: PolicyContext) {
        let box = Box(
            BoundedIndex(
                policy: policy, capacity: context.capacity, everyCostIsOne: context.everyCostIsOne,
                entries: context.entries, lifetime: context.lifetime, entriesExpire: true, keepsVictims: true))
        store = { access, deadline, victims in
            let outcome = box.index.pointee.access(access, deadline: deadline, renews: true)
            box.index.pointee.takeVictims(into: &victims)
            return outcome
        }
        hit = { access, deadline, victims in
            guard box.index.pointee.contains(access.entry, freshAt: access.time) else { return false }
            var access = access
            access.cost = box.index.pointee.cost(of: access.entry)
            _ = box.index.pointee.access(access, deadline: deadline ?? 0, renews: deadline != nil)
            box.index.pointee.takeVictims(into: &victims)
            return true
        }
        contains = { box.index.pointee.contains($0) }
        containsFresh = { box.index.pointee.contains($0, freshAt: $1) }
        remembers = { box.index.pointee.policy.remembers($0) }
        cost = { box.index.pointee.lastCost(of: $0) }
        deadline = { box.index.pointee.deadline(of: $0) }
        remove = { box.index.pointee.remove($0) }
        define = { box.index.pointee.policy.define(categorySet: $0, members: $1) }
        limit = { capacity, count, now, victims in
            box.index.pointee.limit(capacity: capacity, count: count, at: now)
            box.index.pointee.takeVictims(into: &victims)
        }
        trim = { cost, count, now, victims in
            box.index.pointee.trim(to: cost, count: count, at: now)
            box.index.pointee.takeVictims(into: &victims)
        }
        used = { box.index.pointee.used }
        count = { box.index.pointee.count }
        state = {
            CacheState(
                used: box.index.pointee.used, count: box.index.pointee.count, evictions: box.index.pointee.evictions,
                expirations: box.index.pointee.expirations, metadataBytes: box.index.pointee.metadataBytes,
                metrics: box.index.pointee.policy.metrics)
        }
    }

    /// Keeps the index at a fixed address: a stored property of a class would be checked for exclusive access at each use,
    /// which takes longer than a hit of LRU.
    private final class Box<Policy: EvictionPolicy & ~Copyable> {
        let index: UnsafeMutablePointer<BoundedIndex<Policy>>

        init(_ index: consuming BoundedIndex<Policy>) {
            self.index = .allocate(capacity: 1)
            self.index.initialize(to: index)
        }

        deinit {
            index.deinitialize(count: 1)
            index.deallocate()
        }
    }
}
