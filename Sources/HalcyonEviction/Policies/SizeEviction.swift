/// Size: the largest entry goes; among equals the one accessed longest ago.
///
/// The paper takes a random one among equals; we decided for the least recently used, so that it is plain LRU where every
/// object sizes 1. libCacheSim 0.3.5 takes whichever its heap has on top. A hit and an insertion are O(log n). Bytes an
/// entry: 4, and 24 a resident.
public struct SizeEviction: ~Copyable, CataloguedPolicy {
    public static let info = PolicyInfo(
        name: "size", summary: "the largest goes",
        source: "Williams, Abrams, Standridge, Abdulla, Fox: Removal policies in network caches for World-Wide Web "
            + "documents, 1996",
        traits: .usesSizes)

    private var heap: IndexedHeap<Rank>

    public init(_ parameters: NoParameters, context: PolicyContext) {
        heap = IndexedHeap(capacity: context.entries)
    }

    public mutating func hit(_ access: Access) { heap.update(access.entry, key: rank(access)) }
    public mutating func victim(for access: Access) -> EntryID { heap.popSmallest()?.entry ?? .none }
    public mutating func insert(_ access: Access) { heap.insert(access.entry, key: rank(access)) }
    public mutating func remove(_ entry: EntryID) { heap.remove(entry) }
    public var metadataBytes: MetadataBytes { heap.metadataBytes }

    @inline(__always)
    private func rank(_ access: Access) -> Rank { Rank(-Double(access.size), index: access.requestNumber) }
}
