/// FIFO (first in, first out) evicts the entry that was inserted first and ignores hits.
///
/// Every operation is O(1). Bytes an entry: 8.
public struct FIFO: ~Copyable, CataloguedPolicy {
    public static let computesInFloatingPoint = false
    public static let info = PolicyInfo(
        name: "fifo", summary: "first in, first out",
        source: "Belady: A study of replacement algorithms for a virtual-storage computer, 1966")

    private var links: LinkArena
    private var list = EntryList()

    public init(_ parameters: NoParameters, context: PolicyContext) {
        links = LinkArena(capacity: context.entries)
    }

    public mutating func hit(_ access: Access) {}
    public mutating func victim(for access: Access) -> EntryID { links.popTail(&list) }
    public mutating func insert(_ access: Access) { links.pushHead(access.entry, to: &list) }
    public mutating func remove(_ entry: EntryID) { links.remove(entry, from: &list) }
    public var metadataBytes: MetadataBytes { MetadataBytes(perNumber: links.byteCount) }
}
