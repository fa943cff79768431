import HalcyonEviction

/// The numbers of keys as a live storage hands them out: a number goes to another key once its entry is neither
/// resident nor remembered.
public struct RecycledNumbers {
    private var numbers: [UInt32: EntryID] = [:]
    private var free: [EntryID] = []
    private var next: EntryID = 0
    /// How many numbers went to another key.
    public private(set) var recycled = 0

    /// No keys.
    public init() {}

    /// The number of `key`, handed out if it has none.
    public mutating func number(of key: UInt32) -> EntryID {
        if let number = numbers[key] { return number }
        let number: EntryID
        if let last = free.popLast() {
            number = last
            recycled += 1
        } else {
            number = next
            next += 1
        }
        numbers[key] = number
        return number
    }

    /// Takes back every number that `cache` has no use for any more.
    public mutating func collect(from cache: AnyCache) {
        let forgotten = numbers.filter { !cache.contains($0.value) && !cache.remembers($0.value) }
        for (key, number) in forgotten.sorted(by: { $0.value < $1.value }) {
            numbers[key] = nil
            free.append(number)
        }
    }
}
