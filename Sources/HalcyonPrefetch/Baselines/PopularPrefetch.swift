import HalcyonEviction

/// Prefetches the most popular objects over all users, by counts that halve every ``halfLife`` requests.
///
/// Only the ``listed`` most popular objects are candidates. Nothing is proposed for a cache that holds all of them. An
/// access and a plan are O(``listed``); an access to an object that is not a candidate is O(1). Bytes: 4 an object, at
/// most 64 MB. Objects numbered 2²⁴ or more are ignored.
public final class PopularPrefetch: PrefetchPolicy {
    /// The half-life of the counts, in requests.
    public static let halfLife = 5_000
    /// The number of candidates.
    public static let listed = 128

    private var popularity = DecayedPopularity(halfLife: PopularPrefetch.halfLife)
    private var ranking = PopularityLists(width: PopularPrefetch.listed)

    /// Creates a policy that has recorded nothing.
    public init(_ context: PrefetchContext) {}

    public func note(_ access: Access, isHit: Bool) {
        popularity.advance()
        guard access.object < BaselineBounds.objects else { return }
        popularity.count(access.object)
        ranking.raise(access.object, on: 0, scores: popularity.scores)
    }

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        var missing = outlook.limit
        for object in ranking[0] {
            guard missing > 0 else { return }
            if object == access.object || outlook.holds(object) { continue }
            plan.propose(object)
            missing -= 1
        }
    }

    public var metadataBytes: Int { popularity.byteCount + ranking.byteCount }
}
