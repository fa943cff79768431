/// LRU stack distances in objects, one request at a time.
///
/// The stack distance of a request is the position of its object on a list by last access, with the latest at 1. An
/// LRU cache hits the request if and only if its capacity is at least that many objects. Source: Mattson, Gecsei,
/// Slutz and Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970.
///
/// Every access takes the next slot of an array and clears the object's older slot. The distance is then the number
/// of slots in use from the object's slot to the end. A Fenwick tree over the counts of 64-slot words gives it in
/// O(log n). When the array is full, the slots in use are compacted: O(1) per request, amortised. Memory: 4 bytes per
/// entry number and about 10 bytes per object on the list.
struct ObjectStackDistances {
    private static let noSlot = UInt32.max

    /// The slot of each entry's last access.
    private var slots: [UInt32] = []
    /// The entry of each slot that is in use.
    private var owners: [UInt32]
    /// Whether each slot is in use, one bit per slot.
    private var used: [UInt64]
    private var counts: FenwickTree<UInt32>
    private var nextSlot = 0

    /// The number of entries on the list.
    private(set) var count = 0

    /// Creates an empty list; `slotCount` is only a hint.
    init(slotCount: Int = 4096) {
        let capacity = max(64, (slotCount + 63) / 64 * 64)
        owners = Array(repeating: 0, count: capacity)
        used = Array(repeating: 0, count: capacity / 64)
        counts = FenwickTree(count: capacity / 64)
    }

    /// Moves `entry` to the top. Returns its previous position, from 1; `nil` if it was not on the list.
    mutating func record(_ entry: UInt32) -> Int? {
        if nextSlot == owners.count { compact() }
        let index = Int(entry)
        if index >= slots.count {
            let missing = max(index + 1, slots.count * 2) - slots.count
            slots.append(contentsOf: repeatElement(ObjectStackDistances.noSlot, count: missing))
        }
        let old = slots[index]
        var distance: Int?
        if old == ObjectStackDistances.noSlot {
            count += 1
        } else {
            distance = self.distance(ofSlot: Int(old))
            clear(slot: Int(old))
        }
        let slot = nextSlot
        nextSlot += 1
        slots[index] = UInt32(slot)
        owners[slot] = entry
        used[slot >> 6] |= 1 << UInt64(slot & 63)
        counts.add(1, at: slot >> 6)
        return distance
    }

    /// Removes `entry` from the list, if it is on it.
    mutating func remove(_ entry: UInt32) {
        let index = Int(entry)
        guard index < slots.count, slots[index] != ObjectStackDistances.noSlot else { return }
        clear(slot: Int(slots[index]))
        slots[index] = ObjectStackDistances.noSlot
        count -= 1
    }

    private func distance(ofSlot slot: Int) -> Int {
        let word = slot >> 6
        let below = used[word] & ((1 << UInt64(slot & 63)) - 1)
        return count - Int(counts.sum(before: word)) - below.nonzeroBitCount
    }

    private mutating func clear(slot: Int) {
        used[slot >> 6] &= ~(1 << UInt64(slot & 63))
        counts.subtract(1, at: slot >> 6)
    }

    /// Moves the slots in use to the front, and doubles the array if more than half of it is in use.
    private mutating func compact() {
        var target = 0
        for slot in 0..<nextSlot where used[slot >> 6] & (1 << UInt64(slot & 63)) != 0 {
            let owner = owners[slot]
            owners[target] = owner
            slots[Int(owner)] = UInt32(target)
            target += 1
        }
        if target * 2 > owners.count {
            owners.append(contentsOf: repeatElement(0, count: owners.count))
        }
        used = (0..<owners.count / 64).map { word in
            let full = target - word * 64
            return full >= 64 ? .max : full <= 0 ? 0 : (1 << UInt64(full)) - 1
        }
        counts = FenwickTree(used.map { UInt32($0.nonzeroBitCount) })
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
