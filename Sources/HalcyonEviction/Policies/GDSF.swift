/// Greedy dual size frequency: each entry is worth the clock at its last access plus its frequency over its size; who is
/// worth least goes, and the clock moves to what that one was worth.
///
/// The newcomer takes part: if it is worth less than everyone it would displace, it is not kept. Those that went before
/// it stay out and the clock moves on to its worth, as in libCacheSim 0.3.5, whose counts this gives exactly; the paper
/// evicts nobody then and leaves the clock, so that a cache of entries hit twice would shut out all newcomers for ever.
/// Equal worths go in the order of their last access. A size of 0 weighs as 1.
///
/// A hit and an insertion are O(log n). Bytes an entry: 8, and 16 a resident.
public struct GDSF: ~Copyable, CataloguedPolicy {
    public static let info = PolicyInfo(
        name: "gdsf", summary: "greedy dual size frequency: least frequency over size, aged by a clock",
        source: "Cherkasova: Improving WWW proxies performance with greedy-dual-size-frequency caching policy, 1998",
        traits: .usesSizes)

    private var heap: IndexedHeap<Rank>
    private var frequency: SlotArray<UInt32>
    private var clock = 0.0
    private var newcomer = Rank(0, index: 0)

    public init(_ parameters: NoParameters, context: PolicyContext) {
        heap = IndexedHeap(capacity: context.entries)
        frequency = SlotArray(repeating: 0, capacity: context.entries)
    }

    public mutating func hit(_ access: Access) {
        frequency[access.entry] &+= 1
        heap.update(access.entry, key: worth(access, frequency: frequency[access.entry]))
    }

    public mutating func admit(_ access: Access) -> Bool {
        newcomer = worth(access, frequency: 1)
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        guard let least = heap.smallest, least.key < newcomer else {
            clock = newcomer.priority
            return access.entry
        }
        clock = least.key.priority
        heap.remove(least.entry)
        return least.entry
    }

    public mutating func leastWanted(at now: Access) -> EntryID {
        newcomer = Rank(.infinity, index: now.requestNumber)
        return victim(for: now)
    }

    public mutating func insert(_ access: Access) {
        frequency[access.entry] = 1
        heap.insert(access.entry, key: newcomer)
    }

    public mutating func remove(_ entry: EntryID) { heap.remove(entry) }
    public var metadataBytes: MetadataBytes { heap.metadataBytes + MetadataBytes(perNumber: frequency.byteCount) }
    public var metrics: [PolicyMetric] { [PolicyMetric("clock", clock)] }

    /// Sizes are counted in millions of units so that the sums keep their digits.
    @inline(__always)
    private func worth(_ access: Access, frequency: UInt32) -> Rank {
        Rank(clock + Double(frequency) * 1e6 / Double(max(access.size, 1)), index: access.requestNumber)
    }
}
