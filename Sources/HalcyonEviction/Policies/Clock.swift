/// Clock, also called second chance or FIFO reinsertion, moves a hand around a circle of entries. The hand clears the
/// reference bit of an entry that was hit and evicts the first entry whose bit is clear. A new object is inserted
/// directly behind the hand.
///
/// With `bits` above 1, a counter replaces the bit (GCLOCK): each hit adds 1, and each pass of the hand subtracts 1. A
/// hit is O(1); an eviction is amortised O(1). Bytes an entry: 9.
public struct Clock: ~Copyable, CataloguedPolicy {
    public static let computesInFloatingPoint = false
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The bits of the reference counter.
        public var bits = 1

        public init() {}

        public static let table = [
            Parameter<Parameters>.integer("bits", \.bits, in: 1...8, "bits of the reference counter of an entry")
        ]
    }

    public static let info = PolicyInfo(
        name: "clock", summary: "FIFO with a second chance for entries that were hit",
        source: "Corbató: A paging experiment with the Multics system, 1968")

    private var links: LinkArena
    /// The circle, stored as a list: its tail follows its head.
    private var circle = EntryList()
    /// The entry that the hand examines next; `.none` is the tail.
    private var hand: EntryID = .none
    private var references: SlotArray<UInt8>
    private let most: UInt8

    public init(_ parameters: Parameters, context: PolicyContext) {
        links = LinkArena(capacity: context.entries)
        references = SlotArray(repeating: 0, capacity: context.entries)
        most = UInt8(1 << parameters.bits - 1)
    }

    public mutating func hit(_ access: Access) {
        // Always stored: a store is faster than an unpredictable branch.
        let count = references[access.entry]
        references[access.entry] = count &+ (count < most ? 1 : 0)
    }

    public mutating func victim(for access: Access) -> EntryID {
        var page = hand == .none ? circle.tail : hand
        while references[page] > 0 {
            references[page] &-= 1
            page = links.newer(than: page)
            if page == .none { page = circle.tail }
        }
        hand = links.newer(than: page)
        links.remove(page, from: &circle)
        return page
    }

    /// Inserts the entry directly behind the hand, which reaches it last.
    public mutating func insert(_ access: Access) {
        references[access.entry] = 0
        if hand == .none {
            links.pushHead(access.entry, to: &circle)
        } else {
            links.insert(access.entry, olderThan: hand, in: &circle)
        }
    }

    public mutating func remove(_ entry: EntryID) {
        if hand == entry { hand = links.newer(than: entry) }
        links.remove(entry, from: &circle)
    }

    public var metadataBytes: MetadataBytes { MetadataBytes(perNumber: links.byteCount + references.byteCount) }
}
