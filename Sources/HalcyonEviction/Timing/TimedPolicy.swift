/// A policy inside another that notes how long the choice of each victim takes, and changes nothing else.
struct TimedPolicy<Wrapped: EvictionPolicy & ~Copyable>: ~Copyable, EvictionPolicy {
    private var wrapped: Wrapped
    private let times: CacheTimes

    /// A stopwatch around `wrapped`.
    init(_ wrapped: consuming Wrapped, times: CacheTimes) {
        self.wrapped = wrapped
        self.times = times
    }

    @inline(__always)
    mutating func victim(for access: Access) -> EntryID { times.choice { wrapped.victim(for: access) } }

    @inline(__always)
    mutating func hit(_ access: Access) { wrapped.hit(access) }

    @inline(__always)
    mutating func admit(_ access: Access) -> Bool { wrapped.admit(access) }

    @inline(__always)
    mutating func insert(_ access: Access) { wrapped.insert(access) }

    @inline(__always)
    mutating func remove(_ entry: EntryID) { wrapped.remove(entry) }

    mutating func reconsider(_ access: Access, isLikely: Bool) { wrapped.reconsider(access, isLikely: isLikely) }

    mutating func define(categorySet: CategorySetID, members: [UInt32]) {
        wrapped.define(categorySet: categorySet, members: members)
    }

    mutating func resize(to capacity: Int) { wrapped.resize(to: capacity) }

    func remembers(_ entry: EntryID) -> Bool { wrapped.remembers(entry) }

    @inline(__always)
    var overflows: Bool { wrapped.overflows }
    static var mayOverflow: Bool { Wrapped.mayOverflow }

    var behaviour: CacheBehaviour { wrapped.behaviour }
    var metadataBytes: Int { wrapped.metadataBytes }
    var metrics: [PolicyMetric] { wrapped.metrics }
}
