/// CR-LFU, the frequency expert of ``Cacheus``: the least frequent resident is the candidate for eviction, among equals the
/// one that got there last, so that a churn of equals does not throw out all of them in turn. It keeps the frequency of
/// entries that went, for when they come back.
///
/// Every operation is O(log n). Bytes a slot: 8, and 16 a resident.
struct ChurnResistantLFU: ~Copyable {
    private var heap: IndexedHeap<Rank>
    private var frequency: SlotArray<UInt32>
    private var clock = 0

    init(context: PolicyContext) {
        heap = IndexedHeap(capacity: context.entries)
        frequency = SlotArray(repeating: 0, capacity: context.entries)
    }

    /// The heap bytes held.
    var metadataBytes: MetadataBytes { heap.metadataBytes + MetadataBytes(perNumber: frequency.byteCount) }

    /// The number of residents.
    var count: Int { heap.count }

    /// The resident to evict, or `.none`.
    var candidate: EntryID { heap.smallest?.entry ?? .none }

    /// A resident was asked for.
    mutating func hit(_ entry: EntryID) {
        frequency[entry] &+= 1
        heap.update(entry, key: rank(of: entry))
    }

    /// An entry came in, with the frequency it left with or without.
    mutating func insert(_ entry: EntryID, keepsFrequency: Bool) {
        frequency[entry] = keepsFrequency ? frequency[entry] &+ 1 : 1
        heap.insert(entry, key: rank(of: entry))
    }

    /// A resident goes.
    mutating func remove(_ entry: EntryID) { heap.remove(entry) }

    /// The frequency; the later an entry got there the smaller.
    private mutating func rank(of entry: EntryID) -> Rank {
        clock &+= 1
        return Rank(Double(frequency[entry]), index: -clock)
    }
}
