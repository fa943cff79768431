/// GDSF (greedy dual size frequency) gives each entry a priority: the clock at its last access plus its frequency
/// divided by its size. It evicts the entry with the lowest priority and sets the clock to that priority.
///
/// The new object takes part: if its priority is below those of the remaining residents, it is not admitted. Victims
/// evicted before it stay evicted, and the clock advances to its priority, as in libCacheSim 0.3.5; the miss counts
/// are equal. The paper evicts no entry in that case and does not change the clock, so a cache of entries with two
/// hits each would reject every new object. Equal priorities are evicted in the order of their last access. A size of
/// 0 counts as 1.
///
/// A hit and an insertion are O(log n). Bytes an entry: 8, and 16 a resident.
public struct GDSF: ~Copyable, CataloguedPolicy {
    public static let info = PolicyInfo(
        name: "gdsf", summary: "greedy dual size frequency: evicts the lowest frequency over size, with aging",
        source: "Cherkasova: Improving WWW proxies performance with greedy-dual-size-frequency caching policy, 1998",
        traits: [.usesSizes, .hasAdmission],
        admissionRule: "refuses an object whose priority is below those of the remaining residents")

    private var heap: IndexedHeap<Rank>
    private var frequency: SlotArray<UInt32>
    private var clock = 0.0
    private var candidateRank = Rank(0, index: 0)

    public init(_ parameters: NoParameters, context: PolicyContext) {
        heap = IndexedHeap(capacity: context.entries)
        frequency = SlotArray(repeating: 0, capacity: context.entries)
    }

    public mutating func hit(_ access: Access) {
        frequency[access.entry] = min(frequency[access.entry], .max - 1) &+ 1
        heap.update(access.entry, key: priority(of: access, frequency: frequency[access.entry]))
    }

    public mutating func admit(_ access: Access) -> Bool {
        candidateRank = priority(of: access, frequency: 1)
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        guard let least = heap.smallest, least.key < candidateRank else {
            clock = candidateRank.priority
            return access.entry
        }
        clock = least.key.priority
        heap.remove(least.entry)
        return least.entry
    }

    public mutating func leastWanted(at now: Access) -> EntryID {
        candidateRank = Rank(.infinity, index: now.requestNumber)
        return victim(for: now)
    }

    public mutating func insert(_ access: Access) {
        frequency[access.entry] = 1
        heap.insert(access.entry, key: candidateRank)
    }

    public mutating func remove(_ entry: EntryID) { heap.remove(entry) }
    public var metadataBytes: MetadataBytes { heap.metadataBytes + MetadataBytes(perNumber: frequency.byteCount) }
    public var metrics: [PolicyMetric] { [PolicyMetric("clock", clock)] }

    /// Returns the priority of an entry. The size is in millions of units, so that sums stay precise.
    @inline(__always)
    private func priority(of access: Access, frequency: UInt32) -> Rank {
        Rank(clock + Double(frequency) * 1e6 / Double(max(access.size, 1)), index: access.requestNumber)
    }
}
