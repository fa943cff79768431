/// MRU (most recently used) evicts the entry that was accessed last, which suits loops longer than the cache.
///
/// Every operation is O(1). Bytes an entry: 8.
public struct MRU: ~Copyable, CataloguedPolicy {
    public static let computesInFloatingPoint = false
    public static let info = PolicyInfo(
        name: "mru", summary: "most recently used, for loops longer than the cache",
        source: "Chou, DeWitt: An evaluation of buffer management strategies for relational database systems, 1985")

    private var links: LinkArena
    private var list = EntryList()

    public init(_ parameters: NoParameters, context: PolicyContext) {
        links = LinkArena(capacity: context.entries)
    }

    public mutating func hit(_ access: Access) { links.moveToHead(access.entry, in: &list) }
    public mutating func insert(_ access: Access) { links.pushHead(access.entry, to: &list) }
    public mutating func remove(_ entry: EntryID) { links.remove(entry, from: &list) }
    public var metadataBytes: MetadataBytes { MetadataBytes(perNumber: links.byteCount) }

    public mutating func victim(for access: Access) -> EntryID {
        let newest = list.head
        links.remove(newest, from: &list)
        return newest
    }
}
