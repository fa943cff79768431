/// LRU (least recently used) evicts the entry whose last access is the oldest.
///
/// Every operation is O(1). Bytes an entry: 8.
public struct LRU: ~Copyable, CataloguedPolicy {
    public static let computesInFloatingPoint = false
    public static let info = PolicyInfo(
        name: "lru", summary: "least recently used",
        source: "Mattson, Gecsei, Slutz, Traiger: Evaluation techniques for storage hierarchies, 1970")

    private var links: LinkArena
    private var list = EntryList()

    public init(_ parameters: NoParameters, context: PolicyContext) {
        links = LinkArena(capacity: context.entries)
    }

    @inline(__always)
    public mutating func hit(_ access: Access) { links.moveToHead(access.entry, in: &list) }
    public mutating func victim(for access: Access) -> EntryID { links.popTail(&list) }
    public mutating func insert(_ access: Access) { links.pushHead(access.entry, to: &list) }
    public mutating func remove(_ entry: EntryID) { links.remove(entry, from: &list) }
    public var metadataBytes: MetadataBytes { MetadataBytes(perNumber: links.byteCount) }
}
