/// Decides which new objects are admitted to a cache, before its policy does.
///
/// A filter must be causal and deterministic, as a policy: it sees the accesses in order and nothing else.
public protocol AdmissionFilter: ~Copyable {
    /// An empty filter.
    init(_ parameters: AdmissionParameters, context: PolicyContext)
    /// Updates the filter for a request of a resident entry.
    mutating func hit(_ access: Access)
    /// Updates the filter for a request of an absent entry, and returns whether to admit the entry.
    mutating func admit(_ access: Access) -> Bool
    /// Updates the filter for an entry that is resident from now on. By default ignored.
    mutating func insert(_ access: Access)
    /// Returns whether the filter still knows an entry that is not resident; see ``EvictionPolicy/remembers(_:)``. Only when
    /// neither the policy nor the filter knows an entry, its number goes to another object, which both then see for the
    /// first time. So this must be true while an earlier request of the entry can affect a decision on its number.
    func remembers(_ entry: EntryID) -> Bool
    /// Adapts the filter to another capacity of the cache. By default ignored.
    mutating func resize(to capacity: Int)
    /// The heap bytes of the filter.
    var metadataBytes: MetadataBytes { get }
    /// Named quantities that the filter publishes. By default none.
    var metrics: [PolicyMetric] { get }
    /// Whether decisions depend on the numbers of entries.
    static var decidesByNumber: Bool { get }
}

extension AdmissionFilter where Self: ~Copyable {
    /// Does nothing.
    public mutating func hit(_ access: Access) {}
    /// Does nothing.
    public mutating func insert(_ access: Access) {}
    /// Remembers nothing.
    public func remembers(_ entry: EntryID) -> Bool { false }
    /// Does nothing.
    public mutating func resize(to capacity: Int) {}
    /// None.
    public var metadataBytes: MetadataBytes { MetadataBytes() }
    /// None.
    public var metrics: [PolicyMetric] { [] }
    /// False.
    public static var decidesByNumber: Bool { false }
}

/// A policy behind an admission filter: an object is admitted if both admit it.
///
/// Both see every request, also of objects that the other refuses, as in libCacheSim. So a policy that remembers evicted
/// entries forgets one that is requested again, even if the filter then refuses it.
///
/// The layer is compiled once for all policies. A request therefore takes some tens of nanoseconds longer than under the
/// policy alone, beside the work of the filter. Bytes an entry: those of the policy and of the filter.
public struct AdmissionLayer<Base: EvictionPolicy & ~Copyable, Filter: AdmissionFilter & ~Copyable>: ~Copyable,
    EvictionPolicy
{
    private var base: Base
    private var filter: Filter

    /// Puts a filter in front of a policy.
    public init(_ base: consuming Base, filter: consuming Filter) {
        self.base = base
        self.filter = filter
    }

    public mutating func hit(_ access: Access) {
        filter.hit(access)
        base.hit(access)
    }

    public mutating func admit(_ access: Access) -> Bool {
        let isWanted = base.admit(access)
        let isAdmitted = filter.admit(access)
        if isWanted, !isAdmitted { base.cancelAdmission(access) }
        return isWanted && isAdmitted
    }

    public mutating func cancelAdmission(_ access: Access) { base.cancelAdmission(access) }

    public mutating func victim(for access: Access) -> EntryID { base.victim(for: access) }
    public mutating func leastWanted(at now: Access) -> EntryID { base.leastWanted(at: now) }

    public mutating func insert(_ access: Access) {
        filter.insert(access)
        base.insert(access)
    }

    public mutating func remove(_ entry: EntryID) { base.remove(entry) }
    public func remembers(_ entry: EntryID) -> Bool { base.remembers(entry) || filter.remembers(entry) }
    public var overflows: Bool { base.overflows }
    public static var mayOverflow: Bool { Base.mayOverflow }

    public mutating func resize(to capacity: Int) {
        filter.resize(to: capacity)
        base.resize(to: capacity)
    }

    public mutating func define(categorySet: CategorySetID, members: [UInt32]) {
        base.define(categorySet: categorySet, members: members)
    }

    public mutating func shown(_ objects: [UInt32]) { base.shown(objects) }

    public var behaviour: CacheBehaviour { base.behaviour }
    public var metadataBytes: MetadataBytes { base.metadataBytes + filter.metadataBytes }
    public var metrics: [PolicyMetric] { base.metrics + filter.metrics }
    public var trainedModel: [UInt8]? { base.trainedModel }
    public mutating func adopt(trainedModel: [UInt8]) { base.adopt(trainedModel: trainedModel) }
    public static var decidesByNumber: Bool { Base.decidesByNumber || Filter.decidesByNumber }
}

/// Admits objects below a size. As libCacheSim's `size` admission.
///
/// O(1), no memory.
public struct SizeAdmission: AdmissionFilter {
    private let below: Int

    public init(_ parameters: AdmissionParameters, context: PolicyContext) { below = parameters.below }

    public mutating func admit(_ access: Access) -> Bool { access.size < below }
}
