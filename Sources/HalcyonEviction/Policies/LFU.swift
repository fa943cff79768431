/// LFU (least frequently used) evicts the entry with the fewest accesses since its insertion. Among equals, it evicts
/// the one that has had this count for the longest time.
///
/// The count of an evicted entry is discarded (in-cache LFU), as in libCacheSim. Every operation is O(1). Bytes an
/// entry: 12, and 32 for each frequency that occurs at once.
public struct LFU: ~Copyable, CataloguedPolicy {
    public static let computesInFloatingPoint = false
    public static let info = PolicyInfo(
        name: "lfu", summary: "least frequently used since insertion",
        source: "Coffman, Denning: Operating systems theory, 1973; in O(1) after Shah, Mitra, Matani, 2010")

    private var lists: FrequencyLists

    public init(_ parameters: NoParameters, context: PolicyContext) {
        lists = FrequencyLists(capacity: context.entries)
    }

    public mutating func hit(_ access: Access) { lists.raise(access.entry) }
    public mutating func insert(_ access: Access) { lists.insert(access.entry) }
    public mutating func remove(_ entry: EntryID) { lists.remove(entry) }
    public var metadataBytes: MetadataBytes { lists.metadataBytes }

    public mutating func victim(for access: Access) -> EntryID {
        let victim = lists.leastFrequent
        lists.remove(victim)
        return victim
    }
}
