import HalcyonEviction

/// Where each of a few numbers stands in a short list that is made anew again and again.
///
/// All operations are O(1), forgetting everything too. Bytes: 4 a number up to the largest.
@usableFromInline
package struct MarkedPlaces: ~Copyable {
    /// The place of a number that was marked and is not in the list; places are smaller.
    @inlinable package static var nowhere: Int { 255 }

    @inlinable static var placeBits: UInt32 { 8 }
    /// The list in which a number was marked last, and its place there.
    @usableFromInline var marks = SlotArray<UInt32>(repeating: 0)
    @usableFromInline var stamp: UInt32 = 0

    package init() {}

    package var byteCount: Int { marks.byteCount }

    /// Forgets all numbers.
    package mutating func begin() {
        stamp &+= 1
        if stamp >> (32 - Self.placeBits) == 0 { return }
        marks.reset()
        stamp = 1
    }

    /// The place of a number; `nil` for one that is not marked.
    @inlinable @inline(__always)
    package func place(of number: UInt32) -> Int? {
        let mark = marks[number]
        return mark >> Self.placeBits == stamp ? Int(mark & (1 << Self.placeBits - 1)) : nil
    }

    /// Gives a number a place.
    @inlinable @inline(__always)
    package mutating func mark(_ number: UInt32, at place: Int) {
        marks[number] = stamp << Self.placeBits | UInt32(truncatingIfNeeded: place)
    }
}
