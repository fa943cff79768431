/// Clock, also called second chance or FIFO reinsertion: a hand goes round, spares those that were hit since it last came
/// by and evicts the first that was not; the newcomer takes the place that the hand comes to last.
///
/// With `bits` above 1 a small counter takes the place of the bit (GCLOCK): each hit adds one, each time round takes one
/// away. A hit is O(1); an eviction passes over as many entries as were hit since, amortised O(1). Bytes an entry: 9.
public struct Clock: ~Copyable, CataloguedPolicy {
    public static let computesInFloatingPoint = false
    /// What can be set.
    public struct Parameters: PolicyParameters {
        /// The bits of the reference counter.
        public var bits = 1

        public init() {}

        public static let table = [
            Parameter<Parameters>.integer("bits", \.bits, in: 1...8, "bits of the reference counter of an entry")
        ]
    }

    public static let info = PolicyInfo(
        name: "clock", summary: "FIFO with a second chance for what was hit",
        source: "Corbató: A paging experiment with the Multics system, 1968")

    private var links: LinkArena
    /// The list bent to a circle: behind its head comes its tail.
    private var circle = EntryList()
    /// Who is looked at next; `.none`: the tail.
    private var hand: EntryID = .none
    private var references: SlotArray<UInt8>
    private let most: UInt8

    public init(_ parameters: Parameters, context: PolicyContext) {
        links = LinkArena(capacity: context.entries)
        references = SlotArray(repeating: 0, capacity: context.entries)
        most = UInt8(1 << parameters.bits - 1)
    }

    public mutating func hit(_ access: Access) {
        // Written in any case: a store costs less than a branch that nobody can foresee.
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

    /// The place that the hand comes to last is the one right behind it.
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
