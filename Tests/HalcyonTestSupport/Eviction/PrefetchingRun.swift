import HalcyonEviction

/// A cache with a ``HalcyonEviction/PrefetchingPolicy`` inside, checked on both sides: what the cache asks of it, and what it
/// asks of the policy within.
public struct PrefetchingRun {
    /// The cache.
    public let cache: CacheRun
    /// What the cache told.
    public let outer: PolicyRecord
    /// What the policy within was told.
    public let inner: PolicyRecord

    /// An empty cache under `policy`, with the categories of micro-traces defined.
    public init(_ policy: ConfiguredPolicy, _ context: PolicyContext) {
        let (outer, inner) = (PolicyRecord(), PolicyRecord())
        cache = policy.makeCache(context, decorator: Decorator(outer: outer, inner: inner))
        (self.outer, self.inner) = (outer, inner)
        for set in 1..<MicroTrace.categorySetCount { cache.define(CategorySetID(set), [UInt32(set - 1)]) }
    }

    private struct Decorator: PolicyDecorator {
        let outer: PolicyRecord
        let inner: PolicyRecord

        func makeCache<Policy: EvictionPolicy & ~Copyable>(
            around policy: consuming Policy, context: PolicyContext
        ) -> CacheRun {
            let within = CheckedPolicy(policy, capacity: context.capacity, record: inner)
            let prefetching = PrefetchingPolicy(within)
            return CacheRun(CheckedPolicy(prefetching, capacity: context.capacity, record: outer), context: context)
        }
    }
}
