import HalcyonEviction
import HalcyonSupport

/// Prefetches the popular objects of the categories that the user is likely to request next.
///
/// An object's score is the probability of its category (`CategoryPredictor`) times its share of the category's
/// popularity. Both decay with a half-life of ``halfLife`` requests. An object with several categories has the score
/// of the best one. An announced object that was never requested counts as a thousandth of an access. In each category
/// the ``listed`` most popular objects are candidates.
///
/// An access is O(categories × ``listed``), a plan O(candidate categories × (``listed`` + limit)). Bytes: 4 an object,
/// at most 64 MB; 258 a category up to the largest number, at most 2¹⁶; and those of the predictor. Objects numbered
/// 2²⁴ or more are ignored.
public final class CategoryPopularPrefetch: PrefetchPolicy {
    /// The half-life of the counts, in requests.
    public static let halfLife = 5_000
    /// The number of candidates of a category.
    public static let listed = 64
    private static let announcement: Float = 0.001

    private var predictor = CategoryPredictor(halfLife: CategoryPopularPrefetch.halfLife)
    private var popularity = DecayedPopularity(halfLife: CategoryPopularPrefetch.halfLife)
    private var rankings = PopularityLists(width: CategoryPopularPrefetch.listed)
    private var best = TopK<UInt32, Float>()

    /// Creates a policy that has recorded nothing.
    public init(_ context: PrefetchContext) {}

    public func define(categorySet: CategorySetID, members: [UInt32]) {
        predictor.define(categorySet, members: members)
    }

    public func announce(_ object: AnnouncedObject) {
        guard object.object < BaselineBounds.objects, popularity.scores[object.object] == 0 else { return }
        popularity.count(object.object, share: Self.announcement)
        rank(object.object, object.categories)
    }

    public func note(_ access: Access, isHit: Bool) {
        popularity.advance()
        predictor.note(access.categories, of: access.user)
        guard access.object < BaselineBounds.objects else { return }
        popularity.count(access.object)
        rank(access.object, access.categories)
    }

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        guard outlook.limit > 0 else { return }
        predictor.predict(for: access.user)
        best.reset(limit: outlook.limit)
        for category in predictor.candidates {
            let accesses = predictor.popularity.scores[category]
            guard accesses > 0 else { continue }
            let scale = predictor.probability(of: category) / accesses
            for object in rankings[category] {
                let score = popularity.scores[object] * scale
                guard best.accepts(score) else { break }
                if object == access.object || outlook.holds(object) { continue }
                best.raise(object, to: score)
            }
        }
        for entry in best.entries { plan.propose(entry.element) }
    }

    public var metadataBytes: Int { predictor.byteCount + popularity.byteCount + rankings.byteCount }

    private func rank(_ object: UInt32, _ set: CategorySetID) {
        for category in predictor[set] { rankings.raise(object, on: category, scores: popularity.scores) }
    }
}
