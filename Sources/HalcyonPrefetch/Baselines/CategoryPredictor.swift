import HalcyonEviction
import HalcyonLearning

/// The probabilities of a user's next category: half from the user's counts, half from the transitions after the
/// user's last categories.
///
///     P(c) = ½ (n(user, c) + s · share(c)) / (n(user) + s) + ½ mean over the last categories l of n(l, c) / n(l)
///
/// `share` is the category's decayed share of all accesses; `s` is ``smoothing``. Candidates are the user's 16 most
/// frequent categories, the 16 most frequent successors of each last category (``RankedCounts``) and the ``listed``
/// most popular ones. An access counts for each of its categories. Only the first ``maxMembers`` categories of a set
/// are used.
///
/// An access and a prediction are O(categories a set × 16). Bytes: 98 a user and 98 a category, each at most 2¹⁶
/// times. Also 12 a category; 12 a set and 4 for each member, at most 2²² sets; 4 a user, at most 16 MB.
struct CategoryPredictor: ~Copyable {
    /// The weight of the shares over all users in a user's counts, in accesses.
    static let smoothing: Float = 4
    /// The number of popular categories that are candidates for every user.
    static let listed = 8
    /// The maximum number of categories of a set that are used.
    static let maxMembers = 4

    /// The candidates of the last prediction, in no particular order.
    private(set) var candidates: [UInt32] = []
    private var weights = SlotArray<Float>(repeating: 0)
    private var considered = SlotArray<Int>(repeating: 0)
    private var round = 0

    private(set) var popularity: DecayedPopularity
    private var ranking = PopularityLists(width: CategoryPredictor.listed)
    private var sets = CategorySetMembers()
    private var habits = RankedCounts(width: 16, bound: 1 << 16)
    private var transitions = RankedCounts(width: 16, bound: 1 << 16)
    /// The last set of each user that has members.
    private var last = SlotArray<CategorySetID>(repeating: 0)

    init(halfLife: Int) { popularity = DecayedPopularity(halfLife: halfLife) }

    var byteCount: Int {
        weights.byteCount + considered.byteCount + popularity.byteCount + ranking.byteCount + sets.byteCount
            + habits.byteCount + transitions.byteCount + last.byteCount
    }

    /// The members of a set, at most ``maxMembers``.
    @inline(__always)
    subscript(set: CategorySetID) -> UnsafeBufferPointer<UInt32> { sets[set] }

    mutating func define(_ set: CategorySetID, members: [UInt32]) {
        guard set != 0 else { return }
        sets.define(set, members: Array(members.filter { $0 < BaselineBounds.categories }.prefix(Self.maxMembers)))
    }

    /// Records a user's access to an object with the categories `set`.
    mutating func note(_ set: CategorySetID, of user: UInt32) {
        popularity.advance()
        let members = sets[set]
        if members.isEmpty { return }
        let slot = BaselineBounds.slot(ofUser: user)
        for category in members {
            popularity.count(category)
            ranking.raise(category, on: 0, scores: popularity.scores)
            habits.add(category, to: UInt64(user))
            for previous in sets[last[slot]] { transitions.add(category, to: UInt64(previous)) }
        }
        last[slot] = set
    }

    /// Returns the probability of a category that is among the ``candidates``.
    @inline(__always)
    func probability(of category: UInt32) -> Float { weights[category] }

    /// Computes ``candidates`` and their probabilities for the next request of `user`.
    mutating func predict(for user: UInt32) {
        candidates.removeAll(keepingCapacity: true)
        round &+= 1
        var habitual: Float = 0
        if let row = habits.row(of: UInt64(user)) {
            habitual = Float(row.total)
            let each = 0.5 / (habitual + Self.smoothing)
            for place in 0..<row.size { weigh(row.items[place], Float(row.counts[place]) * each) }
        }
        let previous = sets[last[BaselineBounds.slot(ofUser: user)]]
        for category in previous {
            guard let row = transitions.row(of: UInt64(category)) else { continue }
            let each = 0.5 / Float(row.total * previous.count)
            for place in 0..<row.size { weigh(row.items[place], Float(row.counts[place]) * each) }
        }
        for category in ranking[0] { weigh(category, 0) }
        guard popularity.total > 0 else { return }
        let shared = 0.5 * Self.smoothing / ((habitual + Self.smoothing) * popularity.total)
        for category in candidates { weights[category] += popularity.scores[category] * shared }
    }

    @inline(__always)
    private mutating func weigh(_ category: UInt32, _ weight: Float) {
        if considered[category] == round {
            weights[category] += weight
        } else {
            considered[category] = round
            weights[category] = weight
            candidates.append(category)
        }
    }
}
