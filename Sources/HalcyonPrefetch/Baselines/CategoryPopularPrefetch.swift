import HalcyonEviction

/// Fetches what is popular in the categories that the user is likely to ask for next.
///
/// An object's score is the probability of its category (``CategoryPredictor``) times its share of the category's popularity,
/// both decayed with a half-life of ``halfLife`` requests; one with several categories is judged by the best of them. An
/// object that was announced and never asked for counts as a thousandth of an access. In each category the ``listed`` most
/// popular objects are considered.
///
/// An access is O(categories × ``listed``), a plan O(categories considered × (``listed`` + limit)). Bytes: 4 an object, at
/// most 64 MB: objects numbered 2²⁴ or more are of no account; 258 a category up to the largest number, at most 2¹⁶; and
/// those of the predictor.
public final class CategoryPopularPrefetch: PrefetchPolicy {
    /// After how many requests a request counts half.
    public static let halfLife = 5_000
    /// How many objects of a category are considered.
    public static let listed = 64
    private static let announcement: Float = 0.001

    private var predictor = CategoryPredictor(halfLife: CategoryPopularPrefetch.halfLife)
    private var popularity = DecayedPopularity(halfLife: CategoryPopularPrefetch.halfLife)
    private var rankings = PopularityLists(width: CategoryPopularPrefetch.listed)
    private var best: [(object: UInt32, score: Float)] = []

    /// Nothing is known yet.
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
        best.removeAll(keepingCapacity: true)
        for category in predictor.candidates {
            let accesses = predictor.popularity.scores[category]
            guard accesses > 0 else { continue }
            let scale = predictor.probability(of: category) / accesses
            for object in rankings[category] {
                let score = popularity.scores[object] * scale
                if best.count == outlook.limit && best[best.count - 1].score >= score { break }
                if object == access.object || outlook.holds(object) { continue }
                consider(object, score: score, limit: outlook.limit)
            }
        }
        for proposal in best { plan.propose(proposal.object) }
    }

    public var metadataBytes: Int { predictor.byteCount + popularity.byteCount + rankings.byteCount }

    private func rank(_ object: UInt32, _ set: CategorySetID) {
        for category in predictor[set] { rankings.raise(object, on: category, scores: popularity.scores) }
    }

    /// Puts an object among the best, by its score; the last of more than `limit` leaves.
    private func consider(_ object: UInt32, score: Float, limit: Int) {
        if let place = best.firstIndex(where: { $0.object == object }) {
            if best[place].score >= score { return }
            best.remove(at: place)
        }
        var place = best.count
        while place > 0 && best[place - 1].score < score { place -= 1 }
        best.insert((object, score), at: place)
        if best.count > limit { best.removeLast() }
    }
}
