/// Entries in groups with a weight each, ordered by recency within a group, with fast access to the group with the
/// largest ratio of size to weight.
///
/// Moving an entry is O(log n) in the number of groups that are not empty. Bytes: 12 a slot, 8 more for variable
/// sizes, and 52 a group.
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
    /// The groups by weight divided by size; the group with the largest use for its weight is at the top.
    private var heap = IndexedHeap<Double>()

    /// Creates an empty structure.
    public init(context: PolicyContext) {
        links = LinkArena(capacity: context.entries)
        homes = SlotArray(repeating: .none, capacity: context.entries)
        usesUniformSizes = context.usesUniformSizes
        sizes = SlotArray(repeating: 1, capacity: usesUniformSizes ? 0 : context.entries)
    }

    /// The number of heap bytes in use; those of the groups are counted as fixed.
    public var metadataBytes: MetadataBytes {
        MetadataBytes(
            fixed: groups.byteCount + heap.metadataBytes.total,
            perNumber: links.byteCount + homes.byteCount + sizes.byteCount)
    }

    /// The number of groups that are not empty.
    public var occupiedCount: Int { heap.count }

    /// Inserts the entry of an access, which is in no group, at the head of a group.
    public mutating func insert(_ access: Access, into group: UInt32) {
        if !usesUniformSizes { sizes[access.entry] = access.size }
        push(access.entry, into: group)
    }

    /// Moves an entry from its group to the head of a group.
    public mutating func moveToHead(_ entry: EntryID, of group: UInt32) {
        if homes[entry] == group {
            links.moveToHead(entry, in: &groups[group].list)
        } else {
            remove(entry)
            push(entry, into: group)
        }
    }

    /// Removes an entry from its group.
    public mutating func remove(_ entry: EntryID) {
        let group = homes[entry]
        homes[entry] = .none
        links.remove(entry, from: &groups[group].list)
        groups[group].size &-= size(of: entry)
        if groups[group].list.isEmpty { heap.remove(group) } else { rank(group) }
    }

    /// The least recently used entry of the group with the largest ratio of size to weight; `.none` if there is no
    /// entry.
    public var tailOfLargestUse: EntryID {
        guard let group = heap.smallest?.entry else { return .none }
        return groups[group].list.tail
    }

    /// Adds to the weight of a group, which is 0 at first.
    public mutating func addWeight(_ weight: Double, to group: UInt32) {
        setWeight(groups[group].weight + weight, of: group)
    }

    /// Sets the weight of a group.
    public mutating func setWeight(_ weight: Double, of group: UInt32) {
        groupCount = max(groupCount, group &+ 1)
        groups[group].weight = weight
        if !groups[group].list.isEmpty { rank(group) }
    }

    /// Divides every weight by a number. O(n log n) in the number of groups.
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
