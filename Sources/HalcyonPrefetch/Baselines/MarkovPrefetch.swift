import HalcyonEviction

/// Prefetches the most frequent successors of the requested object: a Markov chain of the first order.
///
/// A successor is the object that the same user requests next. Each object has its 16 most frequent successors over
/// all users, or 4 for each user separately. Repeated requests for one object are not a step.
///
/// An access and a plan are O(successors of an object). Bytes: 98 an object with a successor over all users, or 38 a
/// pair of user and object. There are at most 2¹⁸ of either, 26 MB. Also 4 a user, at most 16 MB.
///
/// Joseph, Grunwald: Prefetching using Markov predictors, ISCA 1997, for objects in place of addresses.
public final class MarkovPrefetch: PrefetchPolicy {
    private let isPerUser: Bool
    private var successors: RankedCounts
    /// The last object of each user.
    private var last = SlotArray<UInt32>(repeating: .none)

    /// Creates an empty chain.
    ///
    /// - Parameter isPerUser: whether each user has a separate chain.
    public init(_ context: PrefetchContext, isPerUser: Bool = false) {
        self.isPerUser = isPerUser
        successors = RankedCounts(width: isPerUser ? 4 : 16, bound: 1 << 18)
    }

    public func note(_ access: Access, isHit: Bool) {
        guard access.object != .none else { return }
        let slot = BaselineBounds.slot(ofUser: access.user)
        let previous = last[slot]
        if previous == access.object { return }
        last[slot] = access.object
        if previous != .none { successors.add(access.object, to: key(previous, of: access.user)) }
    }

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        guard let row = successors.row(of: key(access.object, of: access.user)) else { return }
        var missing = outlook.limit
        var place = 0
        while place < row.size && missing > 0 {
            let object = row.items[place]
            if object != access.object && !outlook.holds(object) {
                plan.propose(object)
                missing -= 1
            }
            place &+= 1
        }
    }

    public var metadataBytes: Int { successors.byteCount + last.byteCount }

    @inline(__always)
    private func key(_ object: UInt32, of user: UInt32) -> UInt64 {
        isPerUser ? UInt64(user) << 32 | UInt64(object) : UInt64(object)
    }
}
