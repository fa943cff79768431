import HalcyonEviction

/// A policy inside another that watches the order of the verbs, asks for the victim to be a resident, and writes
/// everything down.
///
/// A breach is recorded in ``PolicyRecord/breaches``, not trapped on, so that a test can report all of them.
public struct CheckedPolicy<Wrapped: EvictionPolicy & ~Copyable>: ~Copyable, EvictionPolicy {
    private var wrapped: Wrapped
    private let record: PolicyRecord
    private var capacity: Int

    /// A watch around `wrapped`.
    public init(_ wrapped: consuming Wrapped, capacity: Int, record: PolicyRecord) {
        self.wrapped = wrapped
        self.capacity = capacity
        self.record = record
    }

    public mutating func hit(_ access: Access) {
        record.require(record.sizes[access.entry] != nil, "hit on \(access.entry), which is not resident")
        record.require(record.pending == nil, "hit while \(record.pending ?? 0) is being brought in")
        record.events.append(.hit(access.entry))
        wrapped.hit(access)
    }

    public mutating func admit(_ access: Access) -> Bool {
        record.require(record.sizes[access.entry] == nil, "admit of \(access.entry), which is resident")
        let admitted = wrapped.admit(access)
        // What does not fit is not brought in whatever the policy says.
        let comes = admitted && access.size <= capacity && access.size >= 0
        record.pending = comes ? access.entry : nil
        if !comes { record.events.append(.refusal(access.entry)) }
        return admitted
    }

    public mutating func victim(for access: Access) -> EntryID {
        record.require(!record.sizes.isEmpty, "asked for a victim while nothing is resident")
        let isDue = record.pending == access.entry || wrapped.overflows
        record.require(isDue, "asked for a victim for \(access.entry), which was not admitted")
        let victim = wrapped.victim(for: access)
        if victim == access.entry && record.pending == victim {
            // The new object itself is refused after all.
            record.pending = nil
            record.events.append(.refusal(victim))
            return victim
        }
        return leave(victim)
    }

    public mutating func leastWanted(at now: Access) -> EntryID {
        record.require(!record.sizes.isEmpty, "asked for the least wanted while nothing is resident")
        record.require(now.entry == .none, "asked for the least wanted for the benefit of \(now.entry)")
        let victim = wrapped.leastWanted(at: now)
        return victim == .none ? .none : leave(victim)
    }

    private func leave(_ victim: EntryID) -> EntryID {
        guard record.sizes.removeValue(forKey: victim) != nil else {
            record.require(false, "the victim \(victim) is not resident")
            // A resident in its place, so that the run can go on.
            let standIn = record.sizes.keys.min() ?? victim
            record.sizes[standIn] = nil
            return standIn
        }
        record.events.append(.eviction(victim))
        return victim
    }

    public mutating func insert(_ access: Access) {
        record.require(record.sizes[access.entry] == nil, "insert of \(access.entry), which is resident")
        record.require(record.pending == access.entry, "insert of \(access.entry), which was not admitted")
        record.pending = nil
        record.sizes[access.entry] = access.size
        record.events.append(.insertion(access.entry))
        wrapped.insert(access)
    }

    public mutating func remove(_ entry: EntryID) {
        record.require(record.sizes[entry] != nil, "removal of \(entry), which is not resident")
        record.sizes[entry] = nil
        record.events.append(.removal(entry))
        wrapped.remove(entry)
    }

    public func remembers(_ entry: EntryID) -> Bool { wrapped.remembers(entry) }

    public mutating func define(categorySet: CategorySetID, members: [UInt32]) {
        wrapped.define(categorySet: categorySet, members: members)
    }

    public mutating func shown(_ objects: [UInt32]) { wrapped.shown(objects) }

    public mutating func resize(to capacity: Int) {
        self.capacity = capacity
        wrapped.resize(to: capacity)
    }

    public var overflows: Bool {
        record.require(Wrapped.mayOverflow || !wrapped.overflows, "overflows, and does not say that it may")
        return wrapped.overflows
    }
    public static var mayOverflow: Bool { Wrapped.mayOverflow }
    public static var computesInFloatingPoint: Bool { Wrapped.computesInFloatingPoint }
    public var behaviour: CacheBehaviour { wrapped.behaviour }
    public var metadataBytes: MetadataBytes { wrapped.metadataBytes }
    public var metrics: [PolicyMetric] { wrapped.metrics }
}

/// What happened to a policy, and which rules were broken.
public final class PolicyRecord {
    /// One verb and what came of it.
    public enum Event: Equatable, Sendable {
        case hit(EntryID)
        case refusal(EntryID)
        case eviction(EntryID)
        case insertion(EntryID)
        case removal(EntryID)
    }

    /// Every verb in order.
    public fileprivate(set) var events: [Event] = []
    /// Which rules were broken, in order.
    public fileprivate(set) var breaches: [String] = []
    /// The residents by the verbs alone, with their sizes.
    public fileprivate(set) var sizes: [EntryID: Int] = [:]
    fileprivate var pending: EntryID?

    /// Nothing happened yet.
    public init() {}

    /// The entries evicted, in order.
    public var victims: [EntryID] {
        events.compactMap { if case .eviction(let entry) = $0 { entry } else { nil } }
    }

    /// The entries hit, in order.
    public var hits: [EntryID] {
        events.compactMap { if case .hit(let entry) = $0 { entry } else { nil } }
    }

    /// The size of all residents.
    public var used: Int { sizes.values.reduce(0, +) }

    /// Notes a breach unless `condition` holds.
    public func require(_ condition: Bool, _ breach: @autoclosure () -> String) {
        if !condition { breaches.append("after \(events.count) verbs: \(breach())") }
    }
}

/// Puts a ``CheckedPolicy`` around a policy of the catalogue.
public struct PolicyChecker: PolicyDecorator {
    private let record: PolicyRecord

    /// A checker that writes to `record`.
    public init(_ record: PolicyRecord) { self.record = record }

    public func makeCache<Policy: EvictionPolicy & ~Copyable>(
        around policy: consuming Policy, context: PolicyContext
    ) -> AnyCache {
        AnyCache(CheckedPolicy(policy, capacity: context.capacity, record: record), context: context)
    }
}
