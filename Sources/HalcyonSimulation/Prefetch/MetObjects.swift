import HalcyonEviction

/// The objects that one cache has met: the numbers that it gives them, densely from 0, so that a thousand small caches take
/// the memory of their own objects, and where each of them stands. O(1). Bytes: 9 an object, and 8 to 16 in the table.
struct MetObjects: ~Copyable {
    /// Where an object stands.
    enum State: UInt8 {
        case absent
        /// Resident, because somebody asked for it.
        case ordinary
        /// Fetched ahead, on its way.
        case onTheWay
        /// Fetched ahead, resident, not asked for yet.
        case waiting
        /// The same, fetched during the warm-up.
        case waitingUncounted
    }

    /// What is kept of each: where it stands, and the request at which it was fetched ahead last.
    private var states = SlotArray<UInt8>(repeating: State.absent.rawValue)
    private var fetches = SlotArray<UInt32>(repeating: 0)
    private var objects = SlotArray<UInt32>(repeating: 0)
    private(set) var count: UInt32 = 0
    /// Numbers plus one at the places that the hash of the object names, or after.
    private var table = SlotArray<UInt32>(repeating: 0)
    private var mask: UInt32 = 0

    /// Whether an object is in the cache or on its way there.
    @inline(__always)
    func holds(_ object: UInt32) -> Bool {
        guard let number = number(of: object) else { return false }
        return states[number] != State.absent.rawValue
    }

    /// Where an object that has a number stands.
    @inline(__always)
    subscript(number: EntryID) -> State {
        get { State(rawValue: states[number]) ?? .absent }
        set { states[number] = newValue.rawValue }
    }

    /// The object that has a number.
    @inline(__always)
    func object(_ number: EntryID) -> UInt32 { objects[number] }

    /// The request at which it was fetched ahead.
    func fetch(of number: EntryID) -> Int { Int(fetches[number]) }

    /// It has come ahead of need.
    mutating func arrived(_ number: EntryID, request: Int, isCounted: Bool) {
        self[number] = isCounted ? .waiting : .waitingUncounted
        fetches[number] = UInt32(truncatingIfNeeded: request)
    }

    /// The number of an object, given now if it has none.
    mutating func assign(_ object: UInt32) -> EntryID {
        if let number = number(of: object) { return number }
        let number = count
        objects[number] = object
        count += 1
        if count * 2 > mask { rebuild() } else { enter(number) }
        return number
    }

    /// The number of an object, if it has one.
    @inline(__always)
    private func number(of object: UInt32) -> EntryID? {
        var place = home(object)
        while true {
            let number = table[place]
            if number == 0 { return nil }
            if objects[number &- 1] == object { return number &- 1 }
            place = (place &+ 1) & mask
        }
    }

    private mutating func rebuild() {
        let places = max(16, (mask + 1) * 2)
        mask = places - 1
        table = SlotArray(repeating: 0, capacity: Int(places))
        for number in 0..<count { enter(number) }
    }

    private mutating func enter(_ number: EntryID) {
        var place = home(objects[number])
        while table[place] != 0 { place = (place &+ 1) & mask }
        table[place] = number + 1
    }

    @inline(__always)
    private func home(_ object: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: (UInt64(object) &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
    }
}
