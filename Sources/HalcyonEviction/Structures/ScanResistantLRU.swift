/// SR-LRU, the recency expert of ``Cacheus``: newcomers and what R lost are in SR, what was asked for again is in R, and H
/// remembers what was evicted. The last entry of SR is the candidate for eviction, so a scan leaves R alone.
///
/// An access to an entry that R lost says that R is too small; one to an evicted entry that never was in R says that SR is.
/// Every operation is amortised O(1). Bytes a slot: 10, and 8 more where sizes vary.
struct ScanResistantLRU: ~Copyable {
    private static let kept: UInt8 = 0, passing: UInt8 = 1, history: UInt8 = 2
    /// What is known of an entry: it was in SR only; R lost it.
    private static let isNew: UInt8 = 1, isDemoted: UInt8 = 2

    private var capacity: Int
    /// What SR and R may size: SR its share, R the rest.
    private var passingShare: Double
    private var lists: ListFamily
    private var marks: SlotArray<UInt8>
    /// How many entries of SR were lost by R, and how many of H were never in R.
    private var demotedCount = 0
    private var newCount = 0

    init(context: PolicyContext) {
        capacity = context.capacity
        passingShare = Double(context.capacity) / 2
        lists = ListFamily(count: 3, context: context)
        marks = SlotArray(repeating: 0, capacity: context.entries)
    }

    /// Shares another capacity as the last one was.
    mutating func resize(to capacity: Int) {
        let share = self.capacity > 0 ? passingShare / Double(self.capacity) : 0.5
        passingShare = share * Double(capacity)
        self.capacity = capacity
    }

    /// The heap bytes held.
    var metadataBytes: MetadataBytes { lists.metadataBytes + MetadataBytes(perNumber: marks.byteCount) }

    /// The resident to evict: the last of SR, or of R where SR is empty.
    var candidate: EntryID {
        lists.tail(ofList: lists.isEmpty(ScanResistantLRU.passing) ? ScanResistantLRU.kept : ScanResistantLRU.passing)
    }

    /// What a resident sizes.
    func size(of entry: EntryID) -> Int { lists.size(of: entry) }

    /// Whether an evicted entry is on H.
    func remembers(_ entry: EntryID) -> Bool { lists.list(of: entry) == ScanResistantLRU.history }

    /// A resident was asked for.
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

    /// An entry came in. Returns whether it was on H.
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

    /// A resident goes, and is remembered.
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

    /// A resident was taken out from outside.
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

    /// Sends what R has too much to SR.
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
