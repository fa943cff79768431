/// A ``CacheCore`` with any policy for a storage that holds values, behind closures compiled for that very policy.
///
/// Beside what a replay needs (``CacheRun``), a storage must hear who was evicted, give each entry a deadline, and change
/// limits while it runs. Not thread-safe: it belongs inside its owner's lock.
///
/// The index lies at a fixed address, which the closures know and the object owns: a stored property of a class would be
/// checked for exclusive access at each use, which takes longer than a hit of LRU. No closure leaves the object, and a call
/// of one of its verbs keeps it alive; so nobody comes to that address once it is gone.
public final class LiveIndex {
    @usableFromInline let storing: (Access, Int64, inout [EntryID]) -> AccessOutcome
    @usableFromInline let hitting: (Access, Int64?, inout [EntryID]) -> Bool
    @usableFromInline let finding: (EntryID, Int64, Int64?) -> HitStanding
    @usableFromInline let containing: (EntryID) -> Bool
    @usableFromInline let containingFresh: (EntryID, Int64) -> Bool
    @usableFromInline let remembering: (EntryID) -> Bool
    @usableFromInline let sizing: (EntryID) -> Int
    @usableFromInline let ending: (EntryID) -> Int64
    @usableFromInline let removing: (EntryID) -> Void
    @usableFromInline let reconsidering: (Access, Bool) -> Void
    @usableFromInline let defining: (CategorySetID, [UInt32]) -> Void
    @usableFromInline let limiting: (Int, Int, Access, inout [EntryID]) -> Void
    @usableFromInline let trimming: (Int, Int, Access, inout [EntryID]) -> Void
    @usableFromInline let using: () -> Int
    @usableFromInline let counting: () -> Int
    @usableFromInline let describing: () -> CacheState
    /// Whom the index belongs to; see ``IndexBox``.
    @usableFromInline let owner: AnyObject

    /// An index around `policy`, compiled for its type where that is known to the caller.
    @inlinable @inline(__always)
    public init<Policy: EvictionPolicy & ~Copyable>(_ policy: consuming Policy, context: PolicyContext) {
        let box = IndexBox(
            CacheCore(
                policy: policy, capacity: context.capacity, usesUniformSizes: context.usesUniformSizes,
                entries: context.entries, lifetime: context.lifetime, entriesExpire: true, keepsVictims: true))
        let index = box.index
        owner = box
        storing = { access, deadline, victims in
            let environment = FloatEnvironment.enter(if: Policy.computesInFloatingPoint)
            defer { environment.leave() }
            let outcome = index.pointee.access(access, deadline: deadline, renews: true)
            index.pointee.takeVictims(into: &victims)
            return outcome
        }
        hitting = { access, deadline, victims in
            let environment = FloatEnvironment.enter(if: Policy.computesInFloatingPoint)
            defer { environment.leave() }
            guard index.pointee.hit(access, deadline: deadline) else { return false }
            index.pointee.takeVictims(into: &victims)
            return true
        }
        finding = { index.pointee.standing(of: $0, at: $1, deadline: $2) }
        containing = { index.pointee.contains($0) }
        containingFresh = { index.pointee.contains($0, freshAt: $1) }
        remembering = { index.pointee.policy.remembers($0) }
        sizing = { index.pointee.lastSize(of: $0) }
        ending = { index.pointee.deadline(of: $0) }
        removing = { entry in
            let environment = FloatEnvironment.enter(if: Policy.computesInFloatingPoint)
            defer { environment.leave() }
            index.pointee.remove(entry)
        }
        reconsidering = { index.pointee.reconsider($0, isLikely: $1) }
        defining = { index.pointee.policy.define(categorySet: $0, members: $1) }
        limiting = { capacity, count, now, victims in
            let environment = FloatEnvironment.enter()
            defer { environment.leave() }
            index.pointee.limit(capacity: capacity, count: count, at: now)
            index.pointee.takeVictims(into: &victims)
        }
        trimming = { size, count, now, victims in
            let environment = FloatEnvironment.enter()
            defer { environment.leave() }
            index.pointee.trim(to: size, count: count, at: now)
            index.pointee.takeVictims(into: &victims)
        }
        using = { index.pointee.used }
        counting = { index.pointee.count }
        describing = {
            CacheState(
                used: index.pointee.used, count: index.pointee.count, evictions: index.pointee.evictions,
                expirations: index.pointee.expirations, metadataBytes: index.pointee.metadataBytes,
                metrics: index.pointee.policy.metrics)
        }
    }

    /// Serves one store: the access, when the entry expires, and the list to which the victims are added.
    /// See ``CacheCore/access(_:deadline:renews:)``.
    public func store(_ access: Access, deadline: Int64, victims: inout [EntryID]) -> AccessOutcome {
        storing(access, deadline, &victims)
    }

    /// Serves one hit on an entry that is resident and has not expired, and says whether it was.
    /// See ``CacheCore/hit(_:deadline:)``.
    @inlinable
    public func hit(_ access: Access, deadline: Int64?, victims: inout [EntryID]) -> Bool {
        hitting(access, deadline, &victims)
    }

    /// What a hit would find, without serving it; nothing changes. See ``CacheCore/standing(of:at:deadline:)``.
    @inlinable
    public func standing(of entry: EntryID, at time: Int64, deadline: Int64?) -> HitStanding {
        finding(entry, time, deadline)
    }

    /// Whether an entry is resident (it may have expired).
    public func contains(_ entry: EntryID) -> Bool { containing(entry) }

    /// Whether an entry is resident and has not expired at a time.
    public func contains(_ entry: EntryID, freshAt time: Int64) -> Bool { containingFresh(entry, time) }

    /// Whether the policy remembers an entry that is not resident; see ``EvictionPolicy/remembers(_:)``.
    public func remembers(_ entry: EntryID) -> Bool { remembering(entry) }

    /// What an entry sizes, or size when it was last resident.
    public func lastSize(of entry: EntryID) -> Int { sizing(entry) }

    /// When an entry expires, in microseconds; `Int64.max` if never.
    public func deadline(of entry: EntryID) -> Int64 { ending(entry) }

    /// Takes an entry out.
    public func remove(_ entry: EntryID) { removing(entry) }

    /// Says whether what was stored ahead of need is still likely; see ``CacheCore/reconsider(_:isLikely:)``.
    public func reconsider(_ access: Access, isLikely: Bool) { reconsidering(access, isLikely) }

    /// Tells the policy the members of a category set.
    public func define(categorySet set: CategorySetID, members: [UInt32]) { defining(set, members) }

    /// Changes capacity and count limit; see ``CacheCore/limit(capacity:count:at:)``.
    public func limit(capacity: Int, count: Int, at now: Access, victims: inout [EntryID]) {
        limiting(capacity, count, now, &victims)
    }

    /// Evicts down to a size and a count; see ``CacheCore/trim(to:count:at:)``.
    public func trim(to size: Int, count: Int, at now: Access, victims: inout [EntryID]) {
        trimming(size, count, now, &victims)
    }

    /// What is used of the capacity.
    public var used: Int { using() }

    /// The number of residents, expired ones included.
    public var count: Int { counting() }

    /// The state as of now.
    public var state: CacheState { describing() }
}
