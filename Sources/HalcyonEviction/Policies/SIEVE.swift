/// SIEVE moves a hand over a FIFO queue from the oldest entry to the newest. The hand clears the visited bit of an
/// entry that was hit and evicts the first entry whose bit is clear. Unlike in a clock, entries with a cleared bit
/// keep their position, so new objects are examined soon.
///
/// A hit writes one byte at most; an eviction is amortised O(1). Bytes an entry: 9.
public struct SIEVE: ~Copyable, CataloguedPolicy {
    public static let computesInFloatingPoint = false
    public static let info = PolicyInfo(
        name: "sieve", summary: "a hand over a FIFO queue that evicts the first entry without a hit",
        source: "Zhang, Yang, Yue, Vigfusson, Rashmi: SIEVE is simpler than LRU, NSDI 2024")

    private var links: LinkArena
    private var queue = EntryList()
    private var visited: SlotArray<Bool>
    /// The entry that the hand examines next; `.none` is the tail.
    private var hand: EntryID = .none

    public init(_ parameters: NoParameters, context: PolicyContext) {
        links = LinkArena(capacity: context.entries)
        visited = SlotArray(repeating: false, capacity: context.entries)
    }

    public mutating func hit(_ access: Access) { visited[access.entry] = true }

    public mutating func victim(for access: Access) -> EntryID {
        var object = hand == .none ? queue.tail : hand
        while visited[object] {
            visited[object] = false
            object = links.newer(than: object)
            if object == .none { object = queue.tail }
        }
        hand = links.newer(than: object)
        links.remove(object, from: &queue)
        return object
    }

    public mutating func insert(_ access: Access) {
        visited[access.entry] = false
        links.pushHead(access.entry, to: &queue)
    }

    public mutating func remove(_ entry: EntryID) {
        if hand == entry { hand = links.newer(than: entry) }
        links.remove(entry, from: &queue)
    }

    public var metadataBytes: MetadataBytes { MetadataBytes(perNumber: links.byteCount + visited.byteCount) }
}
