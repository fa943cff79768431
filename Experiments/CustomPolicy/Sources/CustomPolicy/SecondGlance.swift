import HalcyonEviction

/// Keeps two FIFO queues: entries seen once, and entries hit since. The queue of those seen once gives way first.
///
/// A plain struct with arrays and a dictionary is a policy: the thirty lines below are all it takes.
struct SecondGlance: CataloguedPolicy {
    static let card = PolicyCard(
        name: "second-glance", summary: "FIFO of entries seen once, then FIFO of entries hit since",
        source: "an example")

    private var once: [EntryID] = []
    private var again: [EntryID] = []
    private var isHit: Set<EntryID> = []
    private var isResident: Set<EntryID> = []

    init(_ parameters: NoParameters, context: PolicyContext) {}

    mutating func hit(_ access: Access) {
        if isHit.insert(access.entry).inserted { again.append(access.entry) }
    }

    mutating func insert(_ access: Access) {
        isResident.insert(access.entry)
        once.append(access.entry)
    }

    mutating func remove(_ entry: EntryID) {
        isResident.remove(entry)
        isHit.remove(entry)
        once.removeAll { $0 == entry }
        again.removeAll { $0 == entry }
    }

    mutating func victim(for access: Access) -> EntryID {
        let entry = once.first { !isHit.contains($0) } ?? again[0]
        remove(entry)
        return entry
    }
}
