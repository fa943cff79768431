import HalcyonEviction

/// Prefetches the object whose key is the next number: the one-block lookahead of disks.
///
/// Keys are known only through ``PrefetchContext/nextByKey``. If that is `nil`, nothing is prefetched. The policy does not
/// know which keys will ever be requested: it proposes the next number after every request, and a number that never
/// occurs is a wasted fetch. O(1), no bytes.
///
/// Smith: Sequential program prefetching in memory hierarchies, IEEE Computer 11(12), 1978.
public final class NextKeyPrefetch: PrefetchPolicy {
    private let next: (@Sendable (UInt32) -> UInt32?)?

    /// Creates a lookahead by the keys of `context`.
    public init(_ context: PrefetchContext) { next = context.nextByKey }

    public func note(_ access: Access, isHit: Bool) {}

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        guard outlook.limit > 0, let object = next?(access.object) else { return }
        if object != access.object && !outlook.holds(object) { plan.propose(object) }
    }

    public var metadataBytes: Int { 0 }
}
