/// Size evicts the largest entry; among equals, the least recently used one.
///
/// The paper chooses randomly among equals. We choose the least recently used, so the policy is LRU for uniform sizes.
/// libCacheSim 0.3.5 chooses the one at the top of its heap. A hit and an insertion are O(log n). Bytes an
/// entry: 4, and 24 a resident.
public struct SizeEviction: ~Copyable, CataloguedPolicy {
    public static let info = PolicyInfo(
        name: "size", summary: "evicts the largest entry",
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
