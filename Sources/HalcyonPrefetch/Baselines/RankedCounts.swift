import HalcyonEviction
import HalcyonLearning

/// The most frequent items of each of many keys, with their counts, most frequent first.
///
/// A row has ``width`` items. An item that finds a full row replaces the least frequent one and counts one more
/// (Space-Saving). Source: Metwally, Agrawal, El Abbadi: Efficient computation of frequent and top-k elements in data
/// streams, 2005. Of equally frequent items the latest is first. Once a count reaches ``largestCount``, all counts of
/// its row are halved, so that old counts fade.
///
/// Rows are found by a hash of the key. Their number doubles when all are used, up to `bound`. From then on a new key
/// takes a row by the clock algorithm: the first row, in order of creation, that was not used since the hand passed
/// it. All operations are O(``width``). Bytes: 18 a row and 5 for each of its items, used or not.
struct RankedCounts: ~Copyable {
    /// The count at which the counts of a row are halved.
    static let largestCount: UInt8 = 255
    private static let none = UInt32.max

    /// The items of a key, most frequent first.
    struct Row {
        let items: UnsafePointer<UInt32>
        let counts: UnsafePointer<UInt8>
        let size: Int

        /// The sum of the counts.
        var total: Int {
            var total = 0
            for place in 0..<size { total &+= Int(counts[place]) }
            return total
        }
    }

    /// The maximum number of items of a row.
    let width: Int
    private let bound: Int
    private var used = 0
    private var hand = 0
    /// The first row of each hash bucket, and the next row after each row.
    private var heads: HeapArray<UInt32>
    private var links: HeapArray<UInt32>
    private var keys: HeapArray<UInt64>
    private var wereTouched: HeapArray<Bool>
    private var sizes: HeapArray<UInt8>
    private var items: HeapArray<UInt32>
    private var counts: HeapArray<UInt8>

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - width: the maximum number of items of a row, at most 255.
    ///   - bound: the maximum number of rows, a power of two.
    init(width: Int, bound: Int) {
        self.width = width
        self.bound = bound
        let rows = min(bound, 256)
        heads = HeapArray(repeating: RankedCounts.none, count: rows)
        links = HeapArray(repeating: RankedCounts.none, count: rows)
        keys = HeapArray(repeating: 0, count: rows)
        wereTouched = HeapArray(repeating: false, count: rows)
        sizes = HeapArray(repeating: 0, count: rows)
        items = HeapArray(repeating: 0, count: rows * width)
        counts = HeapArray(repeating: 0, count: rows * width)
    }

    var byteCount: Int {
        heads.byteCount + links.byteCount + keys.byteCount + wereTouched.byteCount + sizes.byteCount + items.byteCount
            + counts.byteCount
    }

    /// Returns the items of `key`; `nil` if it has none. The row is valid until something is added.
    @inline(__always)
    func row(of key: UInt64) -> Row? {
        guard let row = place(of: key) else { return nil }
        return Row(
            items: UnsafePointer(items.base + row &* width), counts: UnsafePointer(counts.base + row &* width),
            size: Int(sizes[row]))
    }

    /// Increments the count of `item` for `key`.
    @inline(__always)
    mutating func add(_ item: UInt32, to key: UInt64) {
        let row: Int
        if let known = place(of: key) {
            row = known
            wereTouched[row] = true
        } else {
            row = begin(key)
        }
        let (items, counts) = (items.base + row &* width, counts.base + row &* width)
        var size = Int(sizes[row])
        var place = 0
        while place < size && items[place] != item { place &+= 1 }
        if place == size {
            if size == width {
                place = width &- 1
            } else {
                counts[place] = 0
                size &+= 1
                sizes[row] = UInt8(size)
            }
        }
        let count = counts[place] &+ 1
        while place > 0 && counts[place &- 1] <= count {
            items[place] = items[place &- 1]
            counts[place] = counts[place &- 1]
            place &-= 1
        }
        items[place] = item
        counts[place] = count
        guard count == RankedCounts.largestCount else { return }
        for place in 0..<size { counts[place] /= 2 }
    }

    @inline(__always)
    private func bucket(of key: UInt64) -> Int { Int(truncatingIfNeeded: SplitMix64.mix(key)) & (heads.count &- 1) }

    @inline(__always)
    private func place(of key: UInt64) -> Int? {
        var row = heads[bucket(of: key)]
        while row != RankedCounts.none {
            if keys[Int(row)] == key { return Int(row) }
            row = links[Int(row)]
        }
        return nil
    }

    /// Returns an empty row for a key that has none.
    private mutating func begin(_ key: UInt64) -> Int {
        if used == keys.count && used < bound { enlarge() }
        let row: Int
        if used < keys.count {
            row = used
            used &+= 1
        } else {
            row = displaced()
        }
        sizes[row] = 0
        keys[row] = key
        link(row)
        return row
    }

    private mutating func link(_ row: Int) {
        let bucket = bucket(of: keys[row])
        links[row] = heads[bucket]
        heads[bucket] = UInt32(row)
    }

    /// Removes the key of a row that was not used recently and returns the row.
    private mutating func displaced() -> Int {
        while wereTouched[hand] {
            wereTouched[hand] = false
            hand = (hand &+ 1) & (bound &- 1)
        }
        let row = hand
        hand = (hand &+ 1) & (bound &- 1)
        let bucket = bucket(of: keys[row])
        var place = heads[bucket]
        if place == UInt32(row) {
            heads[bucket] = links[row]
        } else {
            while links[Int(place)] != UInt32(row) { place = links[Int(place)] }
            links[Int(place)] = links[row]
        }
        return row
    }

    @inline(never)
    private mutating func enlarge() {
        let rows = keys.count * 2
        links.grow(to: rows, filling: RankedCounts.none)
        keys.grow(to: rows, filling: 0)
        wereTouched.grow(to: rows, filling: false)
        sizes.grow(to: rows, filling: 0)
        items.grow(to: rows * width, filling: 0)
        counts.grow(to: rows * width, filling: 0)
        heads = HeapArray(repeating: RankedCounts.none, count: rows)
        for row in 0..<used { link(row) }
    }
}
