import HalcyonEviction

/// FIFO with a second glance: the oldest entry goes, unless it was hit since it came in; then it queues once more.
///
/// A plain struct with an array and a dictionary is a policy. These thirty lines are all it takes.
struct SecondGlance: CataloguedPolicy {
    static let info = PolicyInfo(
        name: "second-glance", summary: "FIFO in which an entry that was hit queues once more", source: "an example",
        version: 1)

    private var queue: [EntryID] = []
    private var wasHit: [EntryID: Bool] = [:]

    init(_ parameters: NoParameters, context: PolicyContext) {}

    mutating func hit(_ access: Access) {
        wasHit[access.entry] = true
    }

    mutating func insert(_ access: Access) {
        queue.append(access.entry)
        wasHit[access.entry] = false
    }

    mutating func victim(for access: Access) -> EntryID {
        while wasHit[queue[0]] == true {
            let entry = queue.removeFirst()
            queue.append(entry)
            wasHit[entry] = false
        }
        wasHit[queue[0]] = nil
        return queue.removeFirst()
    }

    mutating func remove(_ entry: EntryID) {
        queue.removeAll { $0 == entry }
        wasHit[entry] = nil
    }
}
