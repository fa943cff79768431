import HalcyonEviction

/// Where each of a few numbers stands in a short list that is made anew again and again.
///
/// All operations are O(1), forgetting everything too. Bytes: 4 a number up to the largest.
struct MarkedPlaces: ~Copyable {
    /// The place of a number that was marked and is not in the list; places are smaller.
    static let nowhere = 255

    private static let placeBits: UInt32 = 8
    /// The list in which a number was marked last, and its place there.
    private var marks = SlotArray<UInt32>(repeating: 0)
    private var stamp: UInt32 = 0

    var byteCount: Int { marks.byteCount }

    /// Forgets all numbers.
    mutating func begin() {
        stamp &+= 1
        if stamp >> (32 - Self.placeBits) == 0 { return }
        marks.reset()
        stamp = 1
    }

    /// The place of a number; `nil` for one that is not marked.
    @inline(__always)
    func place(of number: UInt32) -> Int? {
        let mark = marks[number]
        return mark >> Self.placeBits == stamp ? Int(mark & (1 << Self.placeBits - 1)) : nil
    }

    /// Gives a number a place.
    @inline(__always)
    mutating func mark(_ number: UInt32, at place: Int) {
        marks[number] = stamp << Self.placeBits | UInt32(truncatingIfNeeded: place)
    }
}
