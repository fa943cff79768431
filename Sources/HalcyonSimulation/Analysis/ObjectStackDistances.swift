/// LRU stack distances in objects, one request at a time.
///
/// The stack distance of a request is the place of its object on a list by last access, the latest at 1: an LRU cache
/// hits it if and only if it holds that many objects or more (Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques
/// for storage hierarchies", IBM Systems Journal 1970).
///
/// Every access takes the next slot of a row; an object's older slot is cleared. The distance is then the number of slots
/// in use from the object's own to the end, which a Fenwick tree over the counts of 64-slot words gives in
/// O(log n). When the row is full, the slots in use are moved together: O(1) a request, amortised. 4 bytes an entry
/// number and about 10 bytes an object on the list.
struct ObjectStackDistances {
    private static let noSlot = UInt32.max

    /// The slot of each entry's last access.
    private var slots: [UInt32] = []
    /// The entry of each slot, where the slot is in use.
    private var owners: [UInt32]
    /// A bit a slot: whether it is in use.
    private var used: [UInt64]
    private var counts: FenwickTree<UInt32>
    private var nextSlot = 0

    /// The number of entries on the list.
    private(set) var count = 0

    /// An empty list; `slotCount` is only a hint.
    init(slotCount: Int = 4096) {
        let capacity = max(64, (slotCount + 63) / 64 * 64)
        owners = Array(repeating: 0, count: capacity)
        used = Array(repeating: 0, count: capacity / 64)
        counts = FenwickTree(count: capacity / 64)
    }

    /// Moves `entry` to the top and returns where it was, from 1; nil if it was not on the list.
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

    /// Takes `entry` off the list, if it is on it.
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

    /// Moves the slots in use to the front, and doubles the row if more than half of it is in use.
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

/// Prefix sums that can be changed, each operation in O(log n) (Fenwick, "A new data structure for cumulative frequency
/// tables", Software: Practice and Experience 1994). Sums wrap around on overflow.
struct FenwickTree<Value: FixedWidthInteger & UnsignedInteger> {
    /// The node at `i` holds the sum of the values in `i & (i + 1) ... i`.
    private var nodes: [Value]

    /// `count` zeros.
    init(count: Int) {
        nodes = Array(repeating: 0, count: count)
    }

    /// A tree of `values`. O(n).
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

    /// Takes `value` away at `index`.
    mutating func subtract(_ value: Value, at index: Int) {
        add(0 &- value, at: index)
    }

    /// The sum of the values before `index`.
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
