/// LRU stack distances in bytes, one request at a time.
///
/// The distance of a request is the total size of its object and of all objects accessed since that object's last
/// access. The structure is that of ``ObjectStackDistances``, with sums of sizes over blocks of 16 slots in a Fenwick
/// tree. O(log n) per request, amortised; 4 bytes per entry number and about 30 bytes per object on the list.
struct ByteStackDistances {
    private static let noSlot = UInt32.max
    private static let block = 16

    /// The slot of each entry's last access.
    private var slots: [UInt32] = []
    /// The entry of each slot that is in use.
    private var owners: [UInt32]
    /// The size in each slot; 0 for a slot not in use.
    private var sizes: [UInt64]
    private var sums: FenwickTree<UInt64>
    private var nextSlot = 0
    /// The number of entries on the list.
    private(set) var count = 0
    private var total: UInt64 = 0

    /// Creates an empty list; `slotCount` is only a hint.
    init(slotCount: Int = 4096) {
        let block = ByteStackDistances.block
        let capacity = max(block, (slotCount + block - 1) / block * block)
        owners = Array(repeating: 0, count: capacity)
        sizes = Array(repeating: 0, count: capacity)
        sums = FenwickTree(count: capacity / block)
    }

    /// Moves `entry`, now of `size` bytes, to the top. Returns its distance, including its new size; `nil` if it was
    /// not on the list.
    mutating func record(_ entry: UInt32, size: UInt64) -> UInt64? {
        if nextSlot == owners.count { compact() }
        let index = Int(entry)
        if index >= slots.count {
            let missing = max(index + 1, slots.count * 2) - slots.count
            slots.append(contentsOf: repeatElement(ByteStackDistances.noSlot, count: missing))
        }
        var distance: UInt64?
        if slots[index] == ByteStackDistances.noSlot {
            count += 1
        } else {
            let old = Int(slots[index])
            distance = bytes(after: old) &+ size
            clear(slot: old)
        }
        slots[index] = UInt32(nextSlot)
        owners[nextSlot] = entry
        sizes[nextSlot] = size
        sums.add(size, at: nextSlot / ByteStackDistances.block)
        total &+= size
        nextSlot += 1
        return distance
    }

    /// Removes `entry` from the list, if it is on it.
    mutating func remove(_ entry: UInt32) {
        let index = Int(entry)
        guard index < slots.count, slots[index] != ByteStackDistances.noSlot else { return }
        clear(slot: Int(slots[index]))
        slots[index] = ByteStackDistances.noSlot
        count -= 1
    }

    private mutating func clear(slot: Int) {
        total &-= sizes[slot]
        sums.subtract(sizes[slot], at: slot / ByteStackDistances.block)
        sizes[slot] = 0
        owners[slot] = ByteStackDistances.noSlot
    }

    /// Returns the bytes in the slots after `slot`.
    private func bytes(after slot: Int) -> UInt64 {
        let block = slot / ByteStackDistances.block
        var before = sums.sum(before: block)
        for index in block * ByteStackDistances.block...slot { before &+= sizes[index] }
        return total &- before
    }

    /// Moves the slots in use to the front, and doubles the row if more than half of it is in use.
    private mutating func compact() {
        var target = 0
        for slot in 0..<nextSlot where owners[slot] != ByteStackDistances.noSlot {
            let owner = owners[slot]
            owners[target] = owner
            sizes[target] = sizes[slot]
            slots[Int(owner)] = UInt32(target)
            target += 1
        }
        if target * 2 > owners.count {
            sizes.append(contentsOf: repeatElement(0, count: owners.count))
            owners.append(contentsOf: repeatElement(0, count: owners.count))
        }
        for slot in target..<nextSlot { sizes[slot] = 0 }
        let block = ByteStackDistances.block
        sums = FenwickTree(
            (0..<sizes.count / block).map { number in
                sizes[number * block..<(number + 1) * block].reduce(0) { $0 &+ $1 }
            })
        nextSlot = target
    }
}
