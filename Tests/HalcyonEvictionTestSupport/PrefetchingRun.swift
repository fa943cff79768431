import HalcyonEviction

/// A cache that prefetches, checked on both sides: what it does, and what it asks of its policy.
public struct PrefetchingRun {
    /// The cache. Accesses and removals go through ``access(_:)`` and ``remove(_:)``.
    public let cache: AnyCache
    /// What the cache does, as its user sees it.
    public let outer = CacheRecord()
    /// What the policy receives.
    public let inner: PolicyRecord

    /// An empty cache under `policy`, with the categories of micro-traces defined.
    public init(_ policy: ConfiguredPolicy, _ context: PolicyContext) {
        var context = context
        context.prefetches = true
        inner = PolicyRecord()
        cache = policy.makeCache(context, decorator: PolicyChecker(inner))
        for set in 1..<MicroTrace.categorySetCount {
            cache.define(categorySet: CategorySetID(set), members: [UInt32(set - 1)])
        }
    }

    /// Serves an access.
    public func access(_ access: Access) -> AccessOutcome {
        let outcome = cache.access(access)
        outer.add(access, outcome, cache)
        return outcome
    }

    /// Removes an entry.
    public func remove(_ entry: EntryID) {
        cache.remove(entry)
        if outer.sizes.removeValue(forKey: entry) != nil { outer.events.append(.removal(entry)) }
    }
}

/// What a cache does, from its outcomes and victims.
public final class CacheRecord {
    /// Everything in order.
    public fileprivate(set) var events: [PolicyRecord.Event] = []
    /// The residents with their sizes.
    public fileprivate(set) var sizes: [EntryID: Int] = [:]
    /// The rules that were broken, in order.
    public private(set) var breaches: [String] = []

    /// The size of all residents.
    public var used: Int { sizes.values.reduce(0, +) }

    /// The entries evicted, in order.
    public var victims: [EntryID] {
        events.compactMap { if case .eviction(let entry) = $0 { entry } else { nil } }
    }

    fileprivate func add(_ access: Access, _ outcome: AccessOutcome, _ cache: AnyCache) {
        let entry = access.entry
        if outcome == .hit {
            require(sizes[entry] != nil, "hit on \(entry), which is not resident")
            events.append(.hit(entry))
        } else if sizes.removeValue(forKey: entry) != nil {
            events.append(.removal(entry))
        }
        var victims: [EntryID] = []
        cache.takeVictims(into: &victims)
        for victim in victims {
            require(sizes.removeValue(forKey: victim) != nil, "the victim \(victim) is not resident")
            events.append(.eviction(victim))
        }
        switch outcome {
        case .miss, .stale:
            sizes[entry] = access.size
            events.append(.insertion(entry))
        case .refused: events.append(.refusal(entry))
        case .hit, .lowerTierHit: break
        }
        require(cache.contains(entry) == (sizes[entry] != nil), "\(entry) is resident or not")
    }

    private func require(_ condition: Bool, _ breach: @autoclosure () -> String) {
        if !condition { breaches.append("after \(events.count) events: \(breach())") }
    }
}
