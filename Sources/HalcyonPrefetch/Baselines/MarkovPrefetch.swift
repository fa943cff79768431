import HalcyonEviction

/// Fetches what followed most often on the object that was asked for: a Markov chain of the first order.
///
/// What follows is what the same user asks for next; each object keeps its ``width`` most frequent successors
/// (``RankedCounts``), over all users or for each user apart. A repeated access to one object is no step.
///
/// An access and a plan are O(``width``). Bytes: 98 an object with a successor over all users, 38 a pair of user and object
/// for each user apart, both at most 2¹⁸ times and so 26 MB; 4 a user, at most 16 MB.
///
/// Joseph, Grunwald: Prefetching using Markov predictors, ISCA 1997, for objects in place of addresses.
public final class MarkovPrefetch: PrefetchPolicy {
    private let isPerUser: Bool
    private var successors: RankedCounts
    /// What each user asked for last.
    private var last = SlotArray<UInt32>(repeating: .none)

    /// A chain that has seen nothing.
    ///
    /// - Parameter isPerUser: whether each user has one of their own.
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
