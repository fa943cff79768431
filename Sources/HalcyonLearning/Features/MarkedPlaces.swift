import HalcyonEviction

/// The place of each number in a short list that is rebuilt often.
///
/// All operations are O(1), including the removal of all numbers. Bytes: 4 a number up to the largest.
@usableFromInline
package struct MarkedPlaces: ~Copyable {
    /// A mark for a number that is not in the list; places are smaller.
    @inlinable package static var nowhere: Int { 255 }

    @inlinable static var placeBits: UInt32 { 8 }
    /// The stamp of the list in which each number was marked last, and its place there.
    @usableFromInline var marks = SlotArray<UInt32>(repeating: 0)
    @usableFromInline var stamp: UInt32 = 0

    package init() {}

    package var byteCount: Int { marks.byteCount }

    /// Removes all marks.
    package mutating func begin() {
        stamp &+= 1
        if stamp >> (32 - Self.placeBits) == 0 { return }
        marks.reset()
        stamp = 1
    }

    /// Returns the place of a number; `nil` if it is not marked.
    @inlinable @inline(__always)
    package func place(of number: UInt32) -> Int? {
        let mark = marks[number]
        return mark >> Self.placeBits == stamp ? Int(mark & (1 << Self.placeBits - 1)) : nil
    }

    /// Marks a number with its place.
    @inlinable @inline(__always)
    package mutating func mark(_ number: UInt32, at place: Int) {
        marks[number] = stamp << Self.placeBits | UInt32(truncatingIfNeeded: place)
    }
}
