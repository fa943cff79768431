/// A policy inside another that notes how long the choice of each victim takes, and changes nothing else.
@usableFromInline
struct TimedPolicy<Wrapped: EvictionPolicy & ~Copyable>: ~Copyable, EvictionPolicy {
    @usableFromInline var wrapped: Wrapped
    @usableFromInline let times: CacheTimes

    /// A stopwatch around `wrapped`.
    @inlinable
    init(_ wrapped: consuming Wrapped, times: CacheTimes) {
        self.wrapped = wrapped
        self.times = times
    }

    @inlinable @inline(__always)
    mutating func victim(for access: Access) -> EntryID { times.choice { wrapped.victim(for: access) } }

    @inlinable
    mutating func leastWanted(at now: Access) -> EntryID { times.choice { wrapped.leastWanted(at: now) } }

    @inlinable @inline(__always)
    mutating func hit(_ access: Access) { wrapped.hit(access) }

    @inlinable @inline(__always)
    mutating func admit(_ access: Access) -> Bool { wrapped.admit(access) }

    @inlinable @inline(__always)
    mutating func insert(_ access: Access) { wrapped.insert(access) }

    @inlinable @inline(__always)
    mutating func remove(_ entry: EntryID) { wrapped.remove(entry) }

    @inlinable
    mutating func reconsider(_ access: Access, isLikely: Bool) { wrapped.reconsider(access, isLikely: isLikely) }

    @inlinable
    mutating func define(categorySet: CategorySetID, members: [UInt32]) {
        wrapped.define(categorySet: categorySet, members: members)
    }

    @inlinable
    mutating func resize(to capacity: Int) { wrapped.resize(to: capacity) }

    @inlinable
    func remembers(_ entry: EntryID) -> Bool { wrapped.remembers(entry) }

    @inlinable @inline(__always)
    var overflows: Bool { wrapped.overflows }
    @inlinable
    static var mayOverflow: Bool { Wrapped.mayOverflow }
    @inlinable
    static var computesInFloatingPoint: Bool { Wrapped.computesInFloatingPoint }

    @inlinable
    var behaviour: CacheBehaviour { wrapped.behaviour }
    @inlinable
    var metadataBytes: MetadataBytes { wrapped.metadataBytes }
    @inlinable
    var metrics: [PolicyMetric] { wrapped.metrics }
}
