/// LFUDA (LFU with dynamic aging) gives an entry a priority: its accesses since insertion plus the age of the cache at
/// the last of them. It evicts the entry with the lowest priority and sets the age to that priority, so entries that
/// are no longer popular are evicted eventually.
///
/// As in the paper, a hit adds 1 to an entry's count, and the age is added to the count once. libCacheSim 0.3.5 adds
/// the lowest priority to the entry's priority at each hit, which compounds the age, so its miss counts differ. Equal
/// priorities are evicted in the order of their last access. A hit and an insertion are O(log n). Bytes an entry: 8,
/// and 24 a resident.
public struct LFUDA: ~Copyable, CataloguedPolicy {
    public static let info = PolicyInfo(
        name: "lfuda", summary: "least frequently used, with dynamic aging",
        source: "Arlitt, Cherkasova, Dilley, Friedrich, Jin: Evaluating content management techniques for Web proxy "
            + "caches, 2000")

    private var heap: IndexedHeap<Rank>
    private var frequency: SlotArray<UInt32>
    private var age = 0.0

    public init(_ parameters: NoParameters, context: PolicyContext) {
        heap = IndexedHeap(capacity: context.entries)
        frequency = SlotArray(repeating: 0, capacity: context.entries)
    }

    public mutating func hit(_ access: Access) {
        frequency[access.entry] = min(frequency[access.entry], .max - 1) &+ 1
        heap.update(access.entry, key: priority(of: access))
    }

    public mutating func victim(for access: Access) -> EntryID {
        guard let least = heap.popSmallest() else { return .none }
        age = least.key.priority
        return least.entry
    }

    public mutating func insert(_ access: Access) {
        frequency[access.entry] = 1
        heap.insert(access.entry, key: priority(of: access))
    }

    public mutating func remove(_ entry: EntryID) { heap.remove(entry) }
    public var metadataBytes: MetadataBytes { heap.metadataBytes + MetadataBytes(perNumber: frequency.byteCount) }
    public var metrics: [PolicyMetric] { [PolicyMetric("age", age)] }

    @inline(__always)
    private func priority(of access: Access) -> Rank {
        Rank(age + Double(frequency[access.entry]), index: access.requestNumber)
    }
}
