/// LFU with dynamic aging: an entry is worth its accesses since it came in plus the age of the cache at the last of them;
/// who is worth least goes, and the age becomes what that one was worth. So what was popular once makes way in time.
///
/// As in the paper, an entry's own count goes up by one a hit and the age is added to it once. libCacheSim 0.3.5 adds the
/// lowest worth to the entry's worth at each hit, which compounds the age; its miss counts are therefore not ours. Equal
/// worths go in the order of their last access. A hit and an insertion are O(log n). Bytes an entry: 8, and 24 a resident.
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
        frequency[access.entry] &+= 1
        heap.update(access.entry, key: worth(access))
    }

    public mutating func victim(for access: Access) -> EntryID {
        guard let least = heap.popSmallest() else { return .none }
        age = least.key.priority
        return least.entry
    }

    public mutating func insert(_ access: Access) {
        frequency[access.entry] = 1
        heap.insert(access.entry, key: worth(access))
    }

    public mutating func remove(_ entry: EntryID) { heap.remove(entry) }
    public var metadataBytes: MetadataBytes { heap.metadataBytes + MetadataBytes(perNumber: frequency.byteCount) }
    public var metrics: [PolicyMetric] { [PolicyMetric("age", age)] }

    @inline(__always)
    private func worth(_ access: Access) -> Rank {
        Rank(age + Double(frequency[access.entry]), index: access.requestNumber)
    }
}
