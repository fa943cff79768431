import HalcyonEviction

/// The numbers that one cache gives to the objects it has met, densely from 0, so that a thousand small caches take the
/// memory of their own objects. O(1). Bytes: 8 an object, and 8 to 16 in the table.
struct ObjectNumbers {
    private var slots: [UInt32] = []
    private(set) var objects: [UInt32] = []

    /// The number of an object, if it has one.
    @inline(__always)
    func number(of object: UInt32) -> EntryID? {
        guard !slots.isEmpty else { return nil }
        var place = home(object)
        while slots[place] != 0 {
            let number = slots[place] &- 1
            if objects[Int(number)] == object { return number }
            place = (place &+ 1) & (slots.count &- 1)
        }
        return nil
    }

    /// The number of an object, given now if it has none.
    mutating func assign(_ object: UInt32) -> EntryID {
        if let number = number(of: object) { return number }
        objects.append(object)
        if objects.count * 2 > slots.count { rebuild() } else { enter(EntryID(objects.count - 1)) }
        return EntryID(objects.count - 1)
    }

    private mutating func rebuild() {
        slots = Array(repeating: 0, count: max(16, slots.count * 2))
        for number in objects.indices { enter(EntryID(number)) }
    }

    private mutating func enter(_ number: EntryID) {
        var place = home(objects[Int(number)])
        while slots[place] != 0 { place = (place &+ 1) & (slots.count &- 1) }
        slots[place] = number + 1
    }

    @inline(__always)
    private func home(_ object: UInt32) -> Int {
        Int(truncatingIfNeeded: (UInt64(object) &* 0x9E37_79B9_7F4A_7C15) >> 32) & (slots.count &- 1)
    }
}
