/// The residents of a cache that were prefetched and not requested since. The eviction policy does not know them.
///
/// Such an entry has had no request, which would show its popularity. So neither the policy's order nor its ghosts
/// change. The entries form a list in the order in which they were prefetched, or last confirmed as likely:
///
/// - At its first request an entry leaves the list and is inserted into the policy, as any other entry.
/// - While an entry is protected, the policy chooses the victim among its own entries, as long as it has any.
/// - An entry that is no longer protected is evicted first.
///
/// An entry is protected until the prefetcher calls it unlikely (``AnyCache/reconsider(_:isLikely:)``), or has not
/// confirmed it for a third as many requests as there are residents, at least ``shortestProtection``. All methods are
/// O(1). Bytes: 16 an entry number.
@usableFromInline
struct PrefetchedEntries: ~Copyable {
    /// The number of requests for which an entry is protected at least after it was prefetched or confirmed.
    @usableFromInline static let shortestProtection = 15

    @usableFromInline static let notListed = Int.max
    /// Earlier than any request, so that the time since then is longer than any protection.
    @usableFromInline static let longAgo = Int.min / 2

    @usableFromInline var links = LinkArena()
    @usableFromInline var list = EntryList()
    /// The request at which an entry was prefetched or last confirmed; ``notListed`` for all others.
    @usableFromInline var lastConfirmed = SlotArray<Int>(repeating: .max)
    /// The number of residents that the policy knows.
    @usableFromInline var policyCount = 0
    @usableFromInline var usedCount = 0
    @usableFromInline var droppedCount = 0

    @usableFromInline init() {}

    @inlinable
    func contains(_ entry: EntryID) -> Bool { lastConfirmed[entry] != Self.notListed }

    @usableFromInline var byteCount: Int { links.byteCount + lastConfirmed.byteCount }

    var metrics: [PolicyMetric] {
        [
            PolicyMetric("prefetched_used", Double(usedCount)),
            PolicyMetric("prefetched_dropped", Double(droppedCount)),
            PolicyMetric("prefetched_waiting", Double(list.count)),
        ]
    }

    @usableFromInline
    mutating func add(_ access: Access) {
        links.pushHead(access.entry, to: &list)
        lastConfirmed[access.entry] = access.requestNumber
    }

    @usableFromInline
    mutating func remove(_ entry: EntryID) {
        links.remove(entry, from: &list)
        lastConfirmed[entry] = Self.notListed
    }

    /// Evicts an entry; returns it.
    @usableFromInline
    mutating func drop(_ entry: EntryID) -> EntryID {
        remove(entry)
        droppedCount += 1
        return entry
    }

    @usableFromInline
    mutating func reconsider(_ access: Access, isLikely: Bool) {
        guard contains(access.entry) else { return }
        links.remove(access.entry, from: &list)
        if isLikely {
            links.pushHead(access.entry, to: &list)
            lastConfirmed[access.entry] = access.requestNumber
        } else {
            links.pushTail(access.entry, to: &list)
            lastConfirmed[access.entry] = Self.longAgo
        }
    }

    /// The entry that was confirmed longest ago, if it is no longer protected.
    @usableFromInline
    func unprotected(at access: Access) -> EntryID? {
        guard !list.isEmpty else { return nil }
        let protection = max(Self.shortestProtection, (policyCount + list.count) / 3)
        return access.requestNumber &- lastConfirmed[list.tail] > protection ? list.tail : nil
    }
}

extension CacheCore where Policy: ~Copyable {
    /// A hit. Prefetching a resident (from a slower cache into this one) is no request.
    @inlinable @inline(never)
    mutating func hitPrefetching(_ access: Access) {
        if access.isPrefetch { return }
        guard tables.prefetched.contains(access.entry) else { return policy.hit(access) }
        tables.prefetched.usedCount += 1
        // An entry that the policy refuses stays where it is, without protection.
        guard policy.admit(access) else { return tables.prefetched.reconsider(access, isLikely: false) }
        tables.prefetched.remove(access.entry)
        policy.insert(access)
        tables.prefetched.policyCount += 1
    }

    @inlinable @inline(never)
    mutating func insertPrefetching(_ access: Access) {
        if access.isPrefetch { return tables.prefetched.add(access) }
        policy.insert(access)
        tables.prefetched.policyCount += 1
    }

    @inlinable @inline(never)
    mutating func withdrawPrefetching(_ entry: EntryID) {
        if tables.prefetched.contains(entry) { return tables.prefetched.remove(entry) }
        policy.remove(entry)
        tables.prefetched.policyCount -= 1
    }

    @inlinable @inline(never)
    mutating func victimPrefetching(for access: Access) -> EntryID {
        if let first = tables.prefetched.unprotected(at: access) { return tables.prefetched.drop(first) }
        guard tables.prefetched.policyCount > 0 else { return tables.prefetched.drop(tables.prefetched.list.tail) }
        if access.isPrefetch {
            var now = access
            now.entry = .none
            let victim = policy.leastWanted(at: now)
            // A policy that names no entry keeps what it has.
            if victim == .none {
                return tables.prefetched.list.isEmpty
                    ? access.entry : tables.prefetched.drop(tables.prefetched.list.tail)
            }
            tables.prefetched.policyCount -= 1
            return victim
        }
        let victim = policy.victim(for: access)
        if victim != access.entry { tables.prefetched.policyCount -= 1 }
        return victim
    }

    @inlinable @inline(never)
    mutating func leastWantedPrefetching(at now: Access) -> EntryID {
        if !tables.prefetched.list.isEmpty { return tables.prefetched.drop(tables.prefetched.list.tail) }
        let victim = policy.leastWanted(at: now)
        if victim != .none { tables.prefetched.policyCount -= 1 }
        return victim
    }
}
