/// SR-LRU, the recency expert of ``Cacheus``. SR holds new objects and entries demoted from R, R holds entries that
/// were requested again, and the history H remembers evicted entries. The last entry of SR is the candidate for
/// eviction, so a scan does not affect R.
///
/// A hit on a demoted entry indicates that R is too small. A request for an entry of H that was never in R indicates
/// that SR is too small. Every operation is amortised O(1). Bytes a slot: 10, and 8 more for variable sizes.
struct ScanResistantLRU: ~Copyable {
    private static let kept: UInt8 = 0, passing: UInt8 = 1, history: UInt8 = 2
    /// The marks of an entry: it was only in SR; it was demoted from R.
    private static let isNew: UInt8 = 1, isDemoted: UInt8 = 2

    private var capacity: Int
    /// The limits of SR and R: SR has its share of the capacity, R the rest.
    private var passingShare: Double
    private var lists: ListFamily
    private var marks: SlotArray<UInt8>
    /// The number of demoted entries in SR, and of entries in H that were never in R.
    private var demotedCount = 0
    private var newCount = 0

    init(context: PolicyContext) {
        capacity = context.capacity
        passingShare = Double(context.capacity) / 2
        lists = ListFamily(count: 3, context: context)
        marks = SlotArray(repeating: 0, capacity: context.entries)
    }

    /// Divides another capacity in the same proportion.
    mutating func resize(to capacity: Int) {
        let share = self.capacity > 0 ? passingShare / Double(self.capacity) : 0.5
        passingShare = share * Double(capacity)
        self.capacity = capacity
    }

    /// The number of heap bytes in use.
    var metadataBytes: MetadataBytes { lists.metadataBytes + MetadataBytes(perNumber: marks.byteCount) }

    /// The resident to evict: the last of SR, or of R if SR is empty.
    var candidate: EntryID {
        lists.tail(ofList: lists.isEmpty(ScanResistantLRU.passing) ? ScanResistantLRU.kept : ScanResistantLRU.passing)
    }

    /// Returns the size of a resident.
    func size(of entry: EntryID) -> Int { lists.size(of: entry) }

    /// Returns whether an evicted entry is in H.
    func remembers(_ entry: EntryID) -> Bool { lists.list(of: entry) == ScanResistantLRU.history }

    /// Records a hit on a resident.
    mutating func hit(_ entry: EntryID) {
        if marks[entry] & ScanResistantLRU.isDemoted != 0 {
            let step = max(1, (Double(newCount) / Double(max(demotedCount, 1))).rounded())
            passingShare = max(1, passingShare - step * Double(lists.size(of: entry)))
            demotedCount -= 1
        }
        marks[entry] = 0
        lists.moveToHead(entry, of: ScanResistantLRU.kept)
        limitKept()
    }

    /// Inserts an entry and returns whether it was in H.
    mutating func insert(_ access: Access) -> Bool {
        guard remembers(access.entry) else {
            marks[access.entry] = ScanResistantLRU.isNew
            lists.pushHead(access.entry, size: access.size, to: ScanResistantLRU.passing)
            return false
        }
        if marks[access.entry] & ScanResistantLRU.isNew != 0 {
            let step = max(1, (Double(demotedCount) / Double(max(newCount, 1))).rounded())
            passingShare = min(Double(capacity - 1), passingShare + step * Double(access.size))
        }
        forget(access.entry)
        lists.pushHead(access.entry, size: access.size, to: ScanResistantLRU.kept)
        limitKept()
        return true
    }

    /// Evicts a resident and adds it to H.
    mutating func evict(_ entry: EntryID) {
        if marks[entry] & ScanResistantLRU.isDemoted != 0 { demotedCount -= 1 }
        marks[entry] &= ScanResistantLRU.isNew
        if marks[entry] != 0 { newCount += 1 }
        let size = lists.size(of: entry)
        while lists.size(ofList: ScanResistantLRU.history) + size > capacity {
            forget(lists.tail(ofList: ScanResistantLRU.history))
        }
        lists.moveToHead(entry, of: ScanResistantLRU.history)
    }

    /// Removes a resident without adding it to H.
    mutating func remove(_ entry: EntryID) {
        if marks[entry] & ScanResistantLRU.isDemoted != 0 { demotedCount -= 1 }
        marks[entry] = 0
        lists.remove(entry)
    }

    private mutating func forget(_ entry: EntryID) {
        if marks[entry] & ScanResistantLRU.isNew != 0 { newCount -= 1 }
        marks[entry] = 0
        lists.remove(entry)
    }

    /// Demotes entries from R to SR until R is within its limit.
    private mutating func limitKept() {
        let limit = Double(capacity) - passingShare
        while Double(lists.size(ofList: ScanResistantLRU.kept)) > limit
            && lists.count(ofList: ScanResistantLRU.kept) > 1
        {
            let entry = lists.moveTail(ofList: ScanResistantLRU.kept, to: ScanResistantLRU.passing)
            marks[entry] = ScanResistantLRU.isDemoted
            demotedCount += 1
        }
    }
}
