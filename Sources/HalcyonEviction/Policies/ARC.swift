/// ARC (adaptive replacement cache) divides the residents into those requested once (T1) and those requested again
/// (T2). The ghost lists B1 and B2 remember the entries evicted from each. A miss on an entry in B1 increases the
/// target size of T1, and a miss on an entry in B2 decreases it.
///
/// This is the pseudo-code of the paper with sizes in place of counts. For variable sizes it follows libCacheSim
/// 0.3.5, and its miss counts are equal. Case IV is entered for each victim instead of once a miss. "L1 has exactly c
/// pages" means that T1, B1 and the new object together are larger than c. One ghost is removed for each victim, so
/// the ghosts can exceed the paper's bound of c by the difference in size between victims and removed ghosts. The
/// target is a real number and moves by max(1, |B2| / |B1|) units of size. With uniform sizes, all of this equals the
/// paper.
///
/// Every operation is O(1). Bytes an entry: 9, and 8 more for variable sizes. The ghosts are about as large as the
/// cache.
public struct ARC: ~Copyable, CataloguedPolicy {
    public static let info = PolicyInfo(
        name: "arc", summary: "adaptive replacement: balances recency and frequency by hits on its ghost lists",
        source: "Megiddo, Modha: ARC: A self-tuning, low overhead replacement cache, FAST 2003")

    private static let t1: UInt8 = 0, t2: UInt8 = 1, b1: UInt8 = 2, b2: UInt8 = 3

    private var capacity: Int
    private var lists: ListFamily
    /// The target size of T1: p in the paper.
    private var target = 0.0
    /// The ghost list that contained the requested entry, or none.
    private var ghostHit = ListFamily.none

    public init(_ parameters: NoParameters, context: PolicyContext) {
        capacity = context.capacity
        lists = ListFamily(count: 4, context: context)
    }

    public mutating func resize(to capacity: Int) {
        self.capacity = capacity
        target = min(target, Double(capacity))
        while !lists.isEmpty(ARC.b1), lists.size(ofList: ARC.t1) &+ lists.size(ofList: ARC.b1) > capacity {
            lists.popTail(ofList: ARC.b1)
        }
        while !lists.isEmpty(ARC.b2), (0..<4).reduce(0, { $0 &+ lists.size(ofList: $1) }) > 2 &* capacity {
            lists.popTail(ofList: ARC.b2)
        }
    }

    public mutating func hit(_ access: Access) { lists.moveToHead(access.entry, of: ARC.t2) }

    public mutating func admit(_ access: Access) -> Bool {
        ghostHit = lists.list(of: access.entry)
        if ghostHit == ListFamily.none { return true }
        let lost1 = Double(max(lists.size(ofList: ARC.b1), 1))
        let lost2 = Double(max(lists.size(ofList: ARC.b2), 1))
        if ghostHit == ARC.b1 {
            target = min(target + max(lost2 / lost1, 1), Double(capacity))
        } else {
            target = max(target - max(lost1 / lost2, 1), 0)
        }
        lists.remove(access.entry)
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        if ghostHit != ListFamily.none { return replace() }
        let l1 = lists.size(ofList: ARC.t1) &+ lists.size(ofList: ARC.b1)
        if l1 &+ access.size > capacity {
            if lists.isEmpty(ARC.b1) && !lists.isEmpty(ARC.t1) { return lists.popTail(ofList: ARC.t1) }
            lists.popTail(ofList: ARC.b1)
        } else if l1 &+ lists.size(ofList: ARC.t2) &+ lists.size(ofList: ARC.b2) >= 2 &* capacity {
            lists.popTail(ofList: ARC.b2)
        }
        return replace()
    }

    public mutating func insert(_ access: Access) {
        lists.pushHead(access.entry, size: access.size, to: ghostHit == ListFamily.none ? ARC.t1 : ARC.t2)
    }

    public mutating func remove(_ entry: EntryID) { lists.remove(entry) }
    public func remembers(_ entry: EntryID) -> Bool {
        lists.list(of: entry) >= ARC.b1 && lists.list(of: entry) <= ARC.b2
    }
    public var metadataBytes: MetadataBytes { lists.metadataBytes }
    public var metrics: [PolicyMetric] {
        [
            PolicyMetric("adaptation_target", target),
            PolicyMetric("ghosts", Double(lists.count(ofList: ARC.b1) + lists.count(ofList: ARC.b2))),
        ]
    }

    /// Evicts from T1 if it exceeds its target, otherwise from T2: REPLACE of the paper.
    @inline(__always)
    private mutating func replace() -> EntryID {
        let size1 = Double(lists.size(ofList: ARC.t1))
        let takesFirst = size1 > target || (size1 == target && ghostHit == ARC.b2)
        let first = lists.isEmpty(ARC.t2) || (!lists.isEmpty(ARC.t1) && takesFirst)
        return first ? lists.moveTail(ofList: ARC.t1, to: ARC.b1) : lists.moveTail(ofList: ARC.t2, to: ARC.b2)
    }
}
