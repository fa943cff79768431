/// Entries in groups, each in the order of recency, and the group that uses most for its weight always at hand.
///
/// Moving an entry is O(1) and O(log n) in the number of groups that are not empty. Bytes: 12 a slot, 8 more where sizes
/// differ, and 52 a group.
public struct Partitions: ~Copyable {
    struct Group: BitwiseCopyable {
        var list = EntryList()
        var size = 0
        var weight = 0.0
    }

    private var links: LinkArena
    private var homes: SlotArray<UInt32>
    private var sizes: SlotArray<Int>
    private let usesUniformSizes: Bool
    private var groups = SlotArray(repeating: Group())
    private var groupCount: UInt32 = 0
    /// By the weight over the size, so that who uses most for its weight is on top.
    private var heap = IndexedHeap<Double>()

    /// No entries yet.
    public init(context: PolicyContext) {
        links = LinkArena(capacity: context.entries)
        homes = SlotArray(repeating: .none, capacity: context.entries)
        usesUniformSizes = context.usesUniformSizes
        sizes = SlotArray(repeating: 1, capacity: usesUniformSizes ? 0 : context.entries)
    }

    /// The heap bytes held; those of the groups are fixed.
    public var metadataBytes: MetadataBytes {
        MetadataBytes(
            fixed: groups.byteCount + heap.metadataBytes.total,
            perNumber: links.byteCount + homes.byteCount + sizes.byteCount)
    }

    /// How many groups hold an entry.
    public var occupiedCount: Int { heap.count }

    /// Puts an access's entry, which is in no group, at the head of a group.
    public mutating func insert(_ access: Access, into group: UInt32) {
        if !usesUniformSizes { sizes[access.entry] = access.size }
        push(access.entry, into: group)
    }

    /// Makes an entry the most recent one of a group, whichever group it was in.
    public mutating func moveToHead(_ entry: EntryID, of group: UInt32) {
        if homes[entry] == group {
            links.moveToHead(entry, in: &groups[group].list)
        } else {
            remove(entry)
            push(entry, into: group)
        }
    }

    /// Takes an entry out of its group.
    public mutating func remove(_ entry: EntryID) {
        let group = homes[entry]
        homes[entry] = .none
        links.remove(entry, from: &groups[group].list)
        groups[group].size &-= size(of: entry)
        if groups[group].list.isEmpty { heap.remove(group) } else { rank(group) }
    }

    /// The least recent entry of the group that uses most for its weight; `.none` if there is no entry.
    public var leastDeserving: EntryID {
        guard let group = heap.smallest?.entry else { return .none }
        return groups[group].list.tail
    }

    /// Adds to the weight of a group; a group begins with none.
    public mutating func addWeight(_ weight: Double, to group: UInt32) {
        setWeight(groups[group].weight + weight, of: group)
    }

    /// Sets the weight of a group.
    public mutating func setWeight(_ weight: Double, of group: UInt32) {
        groupCount = max(groupCount, group &+ 1)
        groups[group].weight = weight
        if !groups[group].list.isEmpty { rank(group) }
    }

    /// Divides every weight by the same number. O(n log n) in the number of groups.
    public mutating func divideWeights(by divisor: Double) {
        for group in 0..<groupCount {
            groups[group].weight /= divisor
            if !groups[group].list.isEmpty { rank(group) }
        }
    }

    @inline(__always)
    private func size(of entry: EntryID) -> Int { usesUniformSizes ? 1 : sizes[entry] }

    private mutating func push(_ entry: EntryID, into group: UInt32) {
        groupCount = max(groupCount, group &+ 1)
        homes[entry] = group
        links.pushHead(entry, to: &groups[group].list)
        groups[group].size &+= size(of: entry)
        rank(group)
    }

    private mutating func rank(_ group: UInt32) {
        let key = groups[group].weight / Double(max(groups[group].size, 1))
        if heap.contains(group) { heap.update(group, key: key) } else { heap.insert(group, key: key) }
    }
}
