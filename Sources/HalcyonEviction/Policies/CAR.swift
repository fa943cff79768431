/// CAR (clock with adaptive replacement) is ARC with clocks in place of LRU lists, so a hit only sets one bit.
///
/// The residents requested once (T1) and again (T2) are on two clocks. The ghost lists B1 and B2 remember the entries
/// evicted from each. This is the pseudo-code of the paper with sizes in place of counts. Before a new object is
/// inserted, ghosts are removed until |T1| + |B1| fits in c and all four lists fit in 2c.
///
/// With `rules=libcachesim` the miss counts are equal to those of libCacheSim 0.3.5. That release differs from the
/// paper in three places. It adapts the target before the eviction, not after, and by whole numbers. It also removes a
/// ghost of B1 on ghost hits. It never removes a ghost of B2, because the preceding branch covers the condition, so
/// its memory grows with the trace. Over seven traces at four sizes, the paper's misses are between 4.3 % below and
/// 4.1 % above those of the release, and 0.3 % above on average.
///
/// A hit and an insertion are O(1), an eviction is amortised O(1). Bytes an entry: 10, and 8 more for variable sizes.
/// The ghosts are about as large as the cache.
public struct CAR: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The pseudo-code to follow.
        public enum Rules: String, CaseIterable, Sendable {
            case paper, libcachesim
        }

        /// The pseudo-code to follow.
        public var rules = Rules.paper
        public static let table = [
            Parameter<Self>.choice("rules", \.rules, "the paper, or libCacheSim 0.3.5 with unbounded ghosts")
        ]

        public init() {}
    }

    public static let info = PolicyInfo(
        name: "car", summary: "clock with adaptive replacement: ARC with clocks in place of LRU lists",
        source: "Bansal, Modha: CAR: Clock with adaptive replacement, FAST 2004")

    private static let t1: UInt8 = 0, t2: UInt8 = 1, b1: UInt8 = 2, b2: UInt8 = 3

    private var capacity: Int
    private let followsPaper: Bool
    private var lists: ListFamily
    private var referenced: SlotArray<Bool>
    /// The target size of T1: p in the paper.
    private var target = 0.0
    /// The ghost list that contained the requested entry, or none.
    private var ghostHit = ListFamily.none

    public init(_ parameters: Parameters, context: PolicyContext) {
        capacity = context.capacity
        followsPaper = parameters.rules == .paper
        lists = ListFamily(count: 4, context: context)
        referenced = SlotArray(repeating: false, capacity: context.entries)
    }

    public mutating func resize(to capacity: Int) {
        self.capacity = capacity
        target = min(target, Double(capacity))
        forgetGhosts(for: 0)
    }

    public mutating func hit(_ access: Access) { referenced[access.entry] = true }

    public mutating func admit(_ access: Access) -> Bool {
        ghostHit = lists.list(of: access.entry)
        if !followsPaper { leaveGhosts(access.entry) }
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        let victim = replace()
        if followsPaper {
            if ghostHit == ListFamily.none { forgetGhosts(for: access.size) }
        } else if size1 &+ lists.size(ofList: CAR.b1) >= capacity {
            lists.popTail(ofList: CAR.b1)
        }
        return victim
    }

    public mutating func insert(_ access: Access) {
        if followsPaper { leaveGhosts(access.entry) }
        referenced[access.entry] = false
        lists.pushHead(access.entry, size: access.size, to: ghostHit == ListFamily.none ? CAR.t1 : CAR.t2)
    }

    public mutating func remove(_ entry: EntryID) { lists.remove(entry) }
    public func remembers(_ entry: EntryID) -> Bool {
        lists.list(of: entry) == CAR.b1 || lists.list(of: entry) == CAR.b2
    }
    public var metadataBytes: MetadataBytes { lists.metadataBytes + MetadataBytes(perNumber: referenced.byteCount) }
    public var metrics: [PolicyMetric] {
        [
            PolicyMetric("adaptation_target", target),
            PolicyMetric("ghosts", Double(lists.count(ofList: CAR.b1) + lists.count(ofList: CAR.b2))),
        ]
    }

    private var size1: Int { lists.size(ofList: CAR.t1) }

    /// Evicts from T1 if it is above its target, otherwise from T2: replace() of the paper.
    private mutating func replace() -> EntryID {
        while true {
            let first = lists.isEmpty(CAR.t2) || (!lists.isEmpty(CAR.t1) && Double(size1) >= max(1, target))
            let candidate = lists.tail(ofList: first ? CAR.t1 : CAR.t2)
            if !referenced[candidate] {
                lists.moveToHead(candidate, of: first ? CAR.b1 : CAR.b2)
                return candidate
            }
            referenced[candidate] = false
            lists.moveToHead(candidate, of: CAR.t2)
        }
    }

    private mutating func forgetGhosts(for size: Int) {
        while size1 &+ lists.size(ofList: CAR.b1) &+ size > capacity && !lists.isEmpty(CAR.b1) {
            lists.popTail(ofList: CAR.b1)
        }
        let others = size1 &+ lists.size(ofList: CAR.t2) &+ size
        while others &+ lists.size(ofList: CAR.b1) &+ lists.size(ofList: CAR.b2) > 2 &* capacity
            && !lists.isEmpty(CAR.b2)
        {
            lists.popTail(ofList: CAR.b2)
        }
    }

    /// Adapts the target to the ghost list that contains `entry`, and removes `entry` from it.
    private mutating func leaveGhosts(_ entry: EntryID) {
        if ghostHit == ListFamily.none { return }
        let lost1 = Double(max(lists.size(ofList: CAR.b1), 1))
        let lost2 = Double(max(lists.size(ofList: CAR.b2), 1))
        let step = max(ghostHit == CAR.b1 ? lost2 / lost1 : lost1 / lost2, 1)
        let whole = followsPaper ? step : step.rounded(.down)
        target = ghostHit == CAR.b1 ? min(target + whole, Double(capacity)) : max(target - whole, 0)
        lists.remove(entry)
    }
}
