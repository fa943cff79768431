import HalcyonEviction

/// Evicted entries in the order of their evictions. An entry that is admitted again leaves an empty place, which is
/// counted until it becomes the oldest.
///
/// Every operation is O(1), amortised. Bytes: 4 a place, at most half of them unused.
struct EvictionRing: ~Copyable {
    private var places: SlotArray<EntryID>
    /// The number of places, a power of two.
    private var room: UInt32 = 64
    /// The number of the oldest place, modulo 2³².
    private var first: UInt32 = 0
    /// The number of places in use, the empty ones included.
    private(set) var count = 0

    init() { places = SlotArray(repeating: .none, capacity: 64) }

    /// The heap bytes in use.
    var byteCount: Int { places.byteCount }

    /// Adds an entry as the newest, and returns the number of its place.
    mutating func append(_ entry: EntryID) -> UInt32 {
        if count == Int(room) { grow() }
        let number = first &+ UInt32(count)
        places[number & (room - 1)] = entry
        count += 1
        return number
    }

    /// Empties a place in use.
    mutating func empty(_ number: UInt32) { places[number & (room - 1)] = .none }

    /// Returns an entry by its index from the oldest; `.none` for an empty place.
    func entry(at index: Int) -> EntryID { places[(first &+ UInt32(index)) & (room - 1)] }

    /// Removes the oldest place and returns its entry; `.none` for an empty place. There must be a place.
    mutating func removeFirst() -> EntryID {
        let entry = places[first & (room - 1)]
        first &+= 1
        count -= 1
        return entry
    }

    private mutating func grow() {
        var larger = SlotArray(repeating: EntryID.none, capacity: Int(room) * 2)
        for index in 0..<UInt32(count) {
            larger[(first &+ index) & (room * 2 - 1)] = places[(first &+ index) & (room - 1)]
        }
        places = larger
        room *= 2
    }
}
