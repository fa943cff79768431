import CProcessor
import HalcyonEviction

/// Values by pairs of numbers, for many lookups with the same first number. Each first number has a row that lies together
/// in memory, so that these lookups wait for a few cache lines instead of one or two for each pair.
///
/// A row is a small hash table, which doubles when three of four places are taken. When all rows together have reached the
/// bound, whole rows are removed in turn. Operations are amortised O(1). Bytes: 16 for each first number up to the largest,
/// and 4 plus the stride of `Value` a place.
@usableFromInline
package struct PairRows<Value: BitwiseCopyable>: ~Copyable {
    @inlinable static var leastPlaces: Int { 4 }
    @inlinable static var placeSize: Int { MemoryLayout<UInt32>.size + MemoryLayout<Value>.stride }

    @usableFromInline var rows = HeapArray(repeating: PairRow(), count: 0)
    /// One value, on the heap, because a stored `Value` would make the layout depend on it; see ``SlotArray``.
    @usableFromInline let fill: HeapArray<Value>
    @usableFromInline let bound: Int
    /// The places of all rows.
    @usableFromInline var places = 0
    /// The row to be removed next.
    @usableFromInline var hand = 0

    /// Creates rows with at most `bound` places together. One row has at most a quarter of them.
    @inlinable
    package init(repeating fill: Value, bound: Int) {
        precondition(bound >= 4 * Self.leastPlaces, "room for a row")
        precondition(MemoryLayout<Value>.alignment <= Self.leastPlaces * MemoryLayout<UInt32>.size, "odd alignment")
        self.fill = HeapArray(repeating: fill, count: 1)
        self.bound = bound
    }

    @inlinable
    deinit {
        for index in 0..<rows.count { rows[index].memory?.deallocate() }
    }

    @inlinable package var byteCount: Int { rows.byteCount + places * Self.placeSize }

    /// The row of a first number.
    @inlinable @inline(__always)
    package subscript(first: UInt32) -> PairRow { Int(first) < rows.count ? rows[Int(first)] : PairRow() }

    /// Returns the value of a pair, if it has one.
    @inlinable @inline(__always)
    package func value(_ first: UInt32, _ second: UInt32) -> UnsafePointer<Value>? { value(second, in: self[first]) }

    /// Returns the value of a pair in a row, if it has one.
    @inlinable @inline(__always)
    package func value(_ second: UInt32, in row: PairRow) -> UnsafePointer<Value>? {
        guard let place = row.place(of: second), row.seconds[place] == second else { return nil }
        return UnsafePointer(values(of: row) + place)
    }

    /// Starts loading the row of a first number into the processor's cache.
    @inlinable @inline(__always)
    package func expect(_ first: UInt32) {
        if Int(first) < rows.count { halcyon_prefetch(rows.base + Int(first)) }
    }

    /// Starts loading a pair of a row into the processor's cache.
    @inlinable @inline(__always)
    package func expect(_ second: UInt32, in row: PairRow) {
        if row.memory == nil { return }
        let home = row.home(of: second)
        halcyon_prefetch(row.seconds + home)
        halcyon_prefetch(values(of: row) + home)
    }

    /// Changes the value of a pair. The initial value is the fill.
    @inlinable @inline(__always)
    package mutating func update(_ first: UInt32, _ second: UInt32, _ change: (inout Value) -> Void) {
        let place = place(first, second)
        change(&values(of: rows[Int(first)])[place])
    }

    /// Changes the value of a pair if it has one.
    @inlinable @inline(__always)
    package mutating func updateKnown(_ first: UInt32, _ second: UInt32, _ change: (inout Value) -> Void) {
        let row = self[first]
        guard let place = row.place(of: second), row.seconds[place] == second else { return }
        change(&values(of: row)[place])
    }

    /// Changes the value of every pair. O(places).
    package mutating func updateAll(_ change: (inout Value) -> Void) {
        for first in 0..<rows.count { updateAll(of: UInt32(truncatingIfNeeded: first), change) }
    }

    /// Changes the value of every pair of a first number. O(places of its row).
    package mutating func updateAll(of first: UInt32, _ change: (inout Value) -> Void) {
        let row = self[first]
        for place in 0..<row.places where row.seconds[place] != PairRow.free { change(&values(of: row)[place]) }
    }

    /// Removes the pairs of a first number.
    @inlinable
    package mutating func forget(_ first: UInt32) {
        if Int(first) < rows.count { clear(Int(first)) }
    }

    @inlinable @inline(__always)
    func values(of row: PairRow) -> UnsafeMutablePointer<Value> {
        UnsafeMutableRawPointer(row.seconds + row.places).assumingMemoryBound(to: Value.self)
    }

    /// Returns the place of a pair in its row, which is added if there is none.
    @inlinable
    mutating func place(_ first: UInt32, _ second: UInt32) -> Int {
        let index = Int(first)
        if index >= rows.count { rows.grow(to: max(index + 1, rows.count * 3 / 2, 64), filling: PairRow()) }
        if let place = rows[index].place(of: second), rows[index].seconds[place] == second { return place }
        if (Int(rows[index].count) + 1) * 4 > rows[index].places * 3 { enlarge(index) }
        return enter(second, fill[0], in: index)
    }

    /// Adds a pair to a row that has room, and returns its place.
    @inlinable
    mutating func enter(_ second: UInt32, _ value: Value, in index: Int) -> Int {
        // A row with room has a free place, at which the search for an absent number ends.
        let place = rows[index].place(of: second).unsafelyUnwrapped
        rows[index].seconds[place] = second
        values(of: rows[index])[place] = value
        rows[index].count += 1
        return place
    }

    @inlinable
    mutating func enlarge(_ index: Int) {
        let old = rows[index]
        let wanted = max(Self.leastPlaces, old.places * 2)
        // A row that may not grow is emptied.
        let isGrowing = wanted * 4 <= bound
        let size = isGrowing ? wanted : old.places
        places += size - old.places
        var new = PairRow(places: size, valueSize: MemoryLayout<Value>.stride)
        while places > bound { forget(except: index) }
        swap(&rows[index], &new)
        guard let memory = new.memory else { return }
        if isGrowing {
            for place in 0..<new.places where new.seconds[place] != PairRow.free {
                _ = enter(new.seconds[place], values(of: new)[place], in: index)
            }
        }
        memory.deallocate()
    }

    /// Removes the next row, unless it is `kept`.
    @inlinable
    mutating func forget(except kept: Int) {
        let index = hand
        hand = index + 1 < rows.count ? index + 1 : 0
        if index != kept { clear(index) }
    }

    @inlinable
    mutating func clear(_ index: Int) {
        guard let memory = rows[index].memory else { return }
        places -= rows[index].places
        memory.deallocate()
        rows[index] = PairRow()
    }
}

/// The places of a row of ``PairRows``: its second numbers, followed by their values.
@usableFromInline
package struct PairRow: BitwiseCopyable {
    @inlinable static var free: UInt32 { .max }

    @usableFromInline var memory: UnsafeMutableRawPointer?
    @usableFromInline var count: UInt32 = 0
    @usableFromInline var bits: UInt32 = 0

    /// A row without places.
    @inlinable
    package init() {}

    /// A row of `places`, a power of two, all of them free.
    @inlinable
    init(places: Int, valueSize: Int) {
        memory = .allocate(byteCount: places * (MemoryLayout<UInt32>.size + valueSize), alignment: 16)
        bits = UInt32(places.trailingZeroBitCount)
        seconds.initialize(repeating: Self.free, count: places)
    }

    @inlinable var places: Int {
        @inline(__always) get { memory == nil ? 0 : 1 << Int(bits) }
    }

    @inlinable var seconds: UnsafeMutablePointer<UInt32> {
        @inline(__always) get { memory.unsafelyUnwrapped.assumingMemoryBound(to: UInt32.self) }
    }

    /// Returns the place of a second number in an empty row.
    @inlinable @inline(__always)
    func home(of second: UInt32) -> Int {
        Int(truncatingIfNeeded: (second &* 0x9E37_79B1) >> (32 &- bits))
    }

    /// Returns the place of a second number, or else the free place at which it would be added; `nil` without places.
    @inlinable @inline(__always)
    func place(of second: UInt32) -> Int? {
        if memory == nil { return nil }
        var place = home(of: second)
        while seconds[place] != second && seconds[place] != Self.free { place = (place &+ 1) & (places &- 1) }
        return place
    }
}
