/// A policy inside another that keeps apart what was fetched ahead of need, until somebody asks for it.
///
/// Such an entry is no evidence of anything: nobody has asked for it. So the wrapped policy does not hear of it, and
/// neither its order nor its ghosts change. The entries wait in the order in which they came, or were last held to be likely:
///
/// - one that is asked for leaves those that wait and comes in with the wrapped policy, as any other entry;
/// - one that is protected stays, and the wrapped policy chooses among its own, as long as it has any;
/// - one that is protected no longer is the first to go.
///
/// An entry is protected as long as it is likely: until whoever had it fetched says that it no longer is
/// (``reconsider(_:isLikely:)``), or has not said that it is for a third of as many requests to the cache as there are residents, at
/// least ``shortestProtection``. Every verb is O(1) beside what the wrapped policy takes. Bytes: 12 a slot beside its own.
public struct PrefetchingPolicy<Wrapped: EvictionPolicy & ~Copyable>: ~Copyable, EvictionPolicy {
    /// For how many requests an entry is protected at least after it was fetched or held to be likely.
    @inlinable
    public static var shortestProtection: Int { 15 }

    @inlinable
    static var notWaiting: UInt32 { .max }
    /// Later than any request, so that the time since then is longer than any protection.
    @inlinable
    static var longAgo: UInt32 { 1 << 31 }

    @usableFromInline var wrapped: Wrapped
    @usableFromInline var links = LinkArena()
    @usableFromInline var waiting = EntryList()
    /// The request at which an entry that waits was fetched, or held to be likely since. Those that wait are in this order.
    @usableFromInline var endorsed = SlotArray<UInt32>(repeating: .max)
    @usableFromInline var owned = 0
    @usableFromInline var used = 0
    @usableFromInline var dropped = 0

    /// Nothing waits yet.
    @inlinable
    public init(_ wrapped: consuming Wrapped) { self.wrapped = wrapped }

    @inlinable @inline(__always)
    public mutating func hit(_ access: Access) {
        // Whoever takes one from here to a faster cache ahead of need does not ask for it either.
        if access.isPrefetch { return }
        if endorsed[access.entry] == Self.notWaiting { wrapped.hit(access) } else { hitWaiting(access) }
    }

    @inlinable @inline(never)
    mutating func hitWaiting(_ access: Access) {
        used += 1
        // One that the wrapped policy refuses stays where it is, protected no longer.
        guard wrapped.admit(access) else { return reconsider(access, isLikely: false) }
        leave(access.entry)
        wrapped.insert(access)
        owned += 1
    }

    @inlinable
    public mutating func reconsider(_ access: Access, isLikely: Bool) {
        guard endorsed[access.entry] != Self.notWaiting else { return }
        links.remove(access.entry, from: &waiting)
        if isLikely {
            links.pushHead(access.entry, to: &waiting)
            endorsed[access.entry] = Self.moment(access)
        } else {
            links.pushTail(access.entry, to: &waiting)
            endorsed[access.entry] = Self.longAgo
        }
    }

    @inlinable
    public mutating func admit(_ access: Access) -> Bool { access.isPrefetch || wrapped.admit(access) }

    @inlinable
    public mutating func victim(for access: Access) -> EntryID {
        if let first = overdue(at: access) { return drop(first) }
        guard owned > 0 else { return drop(waiting.tail) }
        if access.isPrefetch {
            var now = access
            now.entry = .none
            let victim = wrapped.leastWanted(at: now)
            // A policy that names nobody keeps what it has.
            if victim == .none { return waiting.isEmpty ? access.entry : drop(waiting.tail) }
            owned -= 1
            return victim
        }
        let victim = wrapped.victim(for: access)
        if victim != access.entry { owned -= 1 }
        return victim
    }

    @inlinable
    public mutating func leastWanted(at now: Access) -> EntryID {
        if !waiting.isEmpty { return drop(waiting.tail) }
        let victim = wrapped.leastWanted(at: now)
        if victim != .none { owned -= 1 }
        return victim
    }

    @inlinable
    public mutating func insert(_ access: Access) {
        if access.isPrefetch {
            links.pushHead(access.entry, to: &waiting)
            endorsed[access.entry] = Self.moment(access)
        } else {
            wrapped.insert(access)
            owned += 1
        }
    }

    @inlinable
    public mutating func remove(_ entry: EntryID) {
        if endorsed[entry] != Self.notWaiting { return leave(entry) }
        wrapped.remove(entry)
        owned -= 1
    }

    @inlinable
    public mutating func resize(to capacity: Int) { wrapped.resize(to: capacity) }

    @inlinable
    public mutating func define(categorySet: CategorySetID, members: [UInt32]) {
        wrapped.define(categorySet: categorySet, members: members)
    }

    @inlinable
    public func remembers(_ entry: EntryID) -> Bool { wrapped.remembers(entry) }

    @inlinable
    public var overflows: Bool { wrapped.overflows }
    @inlinable
    public static var mayOverflow: Bool { Wrapped.mayOverflow }
    public static var computesInFloatingPoint: Bool { Wrapped.computesInFloatingPoint }

    @inlinable
    public var behaviour: CacheBehaviour { wrapped.behaviour }

    @inlinable
    public var metadataBytes: MetadataBytes {
        wrapped.metadataBytes + MetadataBytes(perNumber: links.byteCount + endorsed.byteCount)
    }

    @inlinable
    public var metrics: [PolicyMetric] {
        wrapped.metrics + [
            PolicyMetric("prefetched_used", Double(used)), PolicyMetric("prefetched_dropped", Double(dropped)),
            PolicyMetric("prefetched_waiting", Double(waiting.count)),
        ]
    }

    /// The entry that was likely longest ago, if it is protected no longer.
    @inlinable
    func overdue(at access: Access) -> EntryID? {
        guard !waiting.isEmpty else { return nil }
        let protection = max(Self.shortestProtection, (owned + waiting.count) / 3)
        let age = Int(Self.moment(access) &- endorsed[waiting.tail])
        return age > protection ? waiting.tail : nil
    }

    @inlinable
    mutating func drop(_ entry: EntryID) -> EntryID {
        leave(entry)
        dropped += 1
        return entry
    }

    @inlinable
    mutating func leave(_ entry: EntryID) {
        links.remove(entry, from: &waiting)
        endorsed[entry] = Self.notWaiting
    }

    /// The number of a request in 32 bits, never ``notWaiting``.
    @inlinable
    static func moment(_ access: Access) -> UInt32 { UInt32(truncatingIfNeeded: access.requestNumber) & 0x7FFF_FFFF }
}
