import HalcyonTrace

/// LRU stack distances, one request at a time: in objects, or in bytes.
///
/// The stack distance of a request is the total size of its object and of all objects that were accessed since that
/// object's last access. In objects each has the size 1: the distance is the position on a list by last access, with
/// the latest at 1. An LRU cache of objects hits the request if and only if its capacity is at least that distance.
/// Source: Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal
/// 1970.
///
/// Every access takes the next slot of an array and clears the object's older slot. The distance is then the total size
/// in the slots from the object's slot to the end. A Fenwick tree over the sums of blocks of 16 slots gives it in
/// O(log n). When the array is full, the slots in use are compacted: O(1) per request, amortised. Memory: 4 bytes per
/// entry number and, per object on the list, about 10 bytes; in bytes about 30.
struct StackDistances {
    private static let noSlot = UInt32.max
    private static let block = 16

    /// Whether every entry has the size 1, so that no sizes are kept.
    private let countsObjects: Bool
    /// The slot of each entry's last access.
    private var slots: [UInt32] = []
    /// The entry of each slot; ``noSlot`` for a slot not in use.
    private var owners: [UInt32]
    /// The size in each slot; 0 for a slot not in use. Empty if objects are counted.
    private var sizes: [UInt64]
    private var sums: FenwickTree<UInt64>
    private var nextSlot = 0
    private var total: UInt64 = 0

    /// The number of entries on the list.
    private(set) var count = 0

    /// Creates an empty list; `slotCount` is only a hint.
    init(unit: SizeUnit, slotCount: Int = 4096) {
        let capacity = max(Self.block, (slotCount + Self.block - 1) / Self.block * Self.block)
        countsObjects = unit == .objects
        owners = Array(repeating: Self.noSlot, count: capacity)
        sizes = countsObjects ? [] : Array(repeating: 0, count: capacity)
        sums = FenwickTree(count: capacity / Self.block)
    }

    /// Moves `entry`, now of `size` bytes, to the top. Returns its distance, including its new size; `nil` if it was
    /// not on the list. The size is ignored if objects are counted.
    mutating func record(_ entry: UInt32, size: UInt64) -> UInt64? {
        let size = countsObjects ? 1 : size
        if nextSlot == owners.count { compact() }
        let index = Int(entry)
        if index >= slots.count {
            let missing = max(index + 1, slots.count * 2) - slots.count
            slots.append(contentsOf: repeatElement(Self.noSlot, count: missing))
        }
        var distance: UInt64?
        if slots[index] == Self.noSlot {
            count += 1
        } else {
            let old = Int(slots[index])
            distance = sizeOfSlots(after: old) &+ size
            clear(slot: old)
        }
        slots[index] = UInt32(nextSlot)
        owners[nextSlot] = entry
        if !countsObjects { sizes[nextSlot] = size }
        sums.add(size, at: nextSlot / Self.block)
        total &+= size
        nextSlot += 1
        return distance
    }

    /// Removes `entry` from the list, if it is on it.
    mutating func remove(_ entry: UInt32) {
        let index = Int(entry)
        guard index < slots.count, slots[index] != Self.noSlot else { return }
        clear(slot: Int(slots[index]))
        slots[index] = Self.noSlot
        count -= 1
    }

    private func size(ofSlot slot: Int) -> UInt64 { countsObjects ? owners[slot] == Self.noSlot ? 0 : 1 : sizes[slot] }

    private mutating func clear(slot: Int) {
        let size = size(ofSlot: slot)
        total &-= size
        sums.subtract(size, at: slot / Self.block)
        if !countsObjects { sizes[slot] = 0 }
        owners[slot] = Self.noSlot
    }

    private func sizeOfSlots(after slot: Int) -> UInt64 {
        let block = slot / Self.block
        var before = sums.sum(before: block)
        for index in block * Self.block...slot { before &+= size(ofSlot: index) }
        return total &- before
    }

    /// Moves the slots in use to the front, and doubles the array if more than half of it is in use.
    private mutating func compact() {
        var target = 0
        for slot in 0..<nextSlot where owners[slot] != Self.noSlot {
            let owner = owners[slot]
            owners[target] = owner
            if !countsObjects { sizes[target] = sizes[slot] }
            slots[Int(owner)] = UInt32(target)
            target += 1
        }
        for slot in target..<nextSlot {
            owners[slot] = Self.noSlot
            if !countsObjects { sizes[slot] = 0 }
        }
        if target * 2 > owners.count {
            if !countsObjects { sizes.append(contentsOf: repeatElement(0, count: owners.count)) }
            owners.append(contentsOf: repeatElement(Self.noSlot, count: owners.count))
        }
        sums = FenwickTree(
            stride(from: 0, to: owners.count, by: Self.block).map { first in
                (first..<first + Self.block).reduce(0) { $0 &+ size(ofSlot: $1) }
            })
        nextSlot = target
    }
}

/// Prefix sums with updates, each operation in O(log n) (Fenwick, "A new data structure for cumulative frequency
/// tables", Software: Practice and Experience 1994). Sums wrap around on overflow.
struct FenwickTree<Value: FixedWidthInteger & UnsignedInteger> {
    /// The node at `i` holds the sum of the values in `i & (i + 1) ... i`.
    private var nodes: [Value]

    /// Creates a tree of `count` zeros.
    init(count: Int) {
        nodes = Array(repeating: 0, count: count)
    }

    /// Creates a tree of `values`. O(n).
    init(_ values: [Value]) {
        nodes = values
        for index in nodes.indices {
            let parent = index | (index + 1)
            if parent < nodes.count { nodes[parent] &+= nodes[index] }
        }
    }

    /// Adds `value` at `index`.
    mutating func add(_ value: Value, at index: Int) {
        var node = index
        while node < nodes.count {
            nodes[node] &+= value
            node |= node + 1
        }
    }

    /// Subtracts `value` at `index`.
    mutating func subtract(_ value: Value, at index: Int) {
        add(0 &- value, at: index)
    }

    /// Returns the sum of the values before `index`.
    func sum(before index: Int) -> Value {
        var sum: Value = 0
        var node = index - 1
        while node >= 0 {
            sum &+= nodes[node]
            node = (node & (node + 1)) - 1
        }
        return sum
    }
}
