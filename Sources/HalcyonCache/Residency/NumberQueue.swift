import HalcyonEviction

/// Numbers in the order in which they came. O(1) amortised.
struct NumberQueue {
    private var items: [EntryID] = []
    private var first = 0

    mutating func push(_ number: EntryID) { items.append(number) }

    mutating func pop() -> EntryID? {
        guard first < items.count else { return nil }
        defer {
            first += 1
            if first > 1_024 && first * 2 > items.count {
                items.removeFirst(first)
                first = 0
            }
        }
        return items[first]
    }
}
