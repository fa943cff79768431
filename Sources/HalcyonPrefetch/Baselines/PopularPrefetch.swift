import HalcyonEviction

/// Fetches what is asked for most over all users: counts that halve every ``halfLife`` requests.
///
/// Only the ``listed`` most popular objects are considered; a cache that holds them all is offered nothing. An access and a
/// plan are O(``listed``), an access to an object that is not among them O(1). Bytes: 4 an object, at most 64 MB: objects
/// numbered 2²⁴ or more are of no account.
public final class PopularPrefetch: PrefetchPolicy {
    /// After how many requests a request counts half.
    public static let halfLife = 5_000
    /// How many objects are considered.
    public static let listed = 128

    private var popularity = DecayedPopularity(halfLife: PopularPrefetch.halfLife)
    private var ranking = PopularityLists(width: PopularPrefetch.listed)

    /// Nothing is popular yet.
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
