/// A priority queue of entries with the smallest key at the top; any entry can be found, updated and removed.
///
/// It is a 4-ary heap in one array, with the index of each entry in a ``SlotArray``. The children of a node are
/// contiguous, so a step down reads one or two cache lines. Reading the smallest is O(1), everything else is O(log₄ n)
/// in the number of entries on the heap. The order of equal keys is undefined: use distinct keys if the order matters,
/// as ``Rank`` does. Bytes: 4 a slot, and the stride of a key with an entry for each entry on the heap.
@frozen
public struct IndexedHeap<Key: Comparable & BitwiseCopyable>: ~Copyable {
    @usableFromInline
    struct Node: BitwiseCopyable {
        @usableFromInline var key: Key
        @usableFromInline var entry: EntryID

        @inlinable
        init(key: Key, entry: EntryID) {
            self.key = key
            self.entry = entry
        }
    }

    /// The number of entries on the heap.
    @inlinable
    public var count: Int { used }

    @usableFromInline var used = 0
    @usableFromInline var nodes: UnsafeMutablePointer<Node>
    @usableFromInline var room: Int
    @usableFromInline var places: SlotArray<UInt32>

    /// Creates an empty heap with room for `capacity` slots.
    ///
    /// - Parameter room: the number of entries on the heap that have memory in advance; at least 1.
    @inlinable
    public init(capacity: Int = 0, room: Int = 64) {
        self.room = room
        nodes = GrowingMemory.allocate(room)
        places = SlotArray(repeating: .none, capacity: capacity)
    }

    @inlinable
    deinit { GrowingMemory.release(nodes) }

    /// The number of heap bytes in use.
    @inlinable
    public var metadataBytes: MetadataBytes {
        MetadataBytes(perNumber: places.byteCount, perResident: room * MemoryLayout<Node>.stride)
    }

    /// Whether the heap is empty.
    @inlinable @inline(__always)
    public var isEmpty: Bool { count == 0 }

    /// Returns whether an entry is on the heap.
    @inlinable @inline(__always)
    public func contains(_ entry: EntryID) -> Bool { places[entry] != .none }

    /// The entry with the smallest key, and that key; `nil` if the heap is empty.
    @inlinable @inline(__always)
    public var smallest: (entry: EntryID, key: Key)? { count == 0 ? nil : (nodes[0].entry, nodes[0].key) }

    /// The entry with the second-smallest key, and that key; `nil` if there is none. O(1).
    public var second: (entry: EntryID, key: Key)? {
        if count < 2 { return nil }
        var least = 1
        for place in 1..<min(5, count) where nodes[place].key < nodes[least].key { least = place }
        return (nodes[least].entry, nodes[least].key)
    }

    /// Returns the key of an entry, or `nil` if it is not on the heap.
    @inlinable @inline(__always)
    public func key(of entry: EntryID) -> Key? {
        let place = places[entry]
        return place == .none ? nil : nodes[Int(place)].key
    }

    /// Inserts an entry that is not on the heap.
    @inlinable @inline(__always)
    public mutating func insert(_ entry: EntryID, key: Key) {
        if _slowPath(count == room) { grow() }
        used &+= 1
        raise(Node(key: key, entry: entry), from: count &- 1)
    }

    /// Changes the key of an entry of the heap.
    @inlinable @inline(__always)
    public mutating func update(_ entry: EntryID, key: Key) {
        settle(Node(key: key, entry: entry), at: Int(places[entry]))
    }

    /// Removes an entry if it is on the heap.
    @inlinable
    public mutating func remove(_ entry: EntryID) {
        let place = places[entry]
        if place == .none { return }
        places[entry] = .none
        used &-= 1
        if Int(place) != count { settle(nodes[count], at: Int(place)) }
    }

    /// Removes the entry with the smallest key and returns it; `nil` if the heap is empty.
    @inlinable @inline(__always)
    public mutating func popSmallest() -> (entry: EntryID, key: Key)? {
        guard let top = smallest else { return nil }
        places[top.entry] = .none
        used &-= 1
        if count > 0 { sink(nodes[count], from: 0) }
        return top
    }

    @inlinable @inline(__always)
    mutating func put(_ node: Node, at place: Int) {
        nodes[place] = node
        places[node.entry] = UInt32(truncatingIfNeeded: place)
    }

    @inlinable @inline(__always)
    mutating func settle(_ node: Node, at place: Int) {
        if place > 0 && node.key < nodes[(place &- 1) >> 2].key {
            raise(node, from: place)
        } else {
            sink(node, from: place)
        }
    }

    @inlinable
    mutating func raise(_ node: Node, from start: Int) {
        var place = start
        while place > 0 {
            let parent = (place &- 1) >> 2
            if !(node.key < nodes[parent].key) { break }
            put(nodes[parent], at: place)
            place = parent
        }
        put(node, at: place)
    }

    @inlinable
    mutating func sink(_ node: Node, from start: Int) {
        var place = start
        while true {
            let first = place &* 4 &+ 1
            if first >= count { break }
            var least = first
            for child in (first &+ 1)..<max(first &+ 1, min(first &+ 4, count))
            where nodes[child].key < nodes[least].key {
                least = child
            }
            if !(nodes[least].key < node.key) { break }
            put(nodes[least], at: place)
            place = least
        }
        put(node, at: place)
    }

    @inlinable @inline(never)
    mutating func grow() {
        room = GrowingMemory.room(for: count + 1, after: room)
        GrowingMemory.resize(&nodes, to: room)
    }
}

/// A priority with a stamp that breaks ties: the smaller stamp, from the older request, is first.
///
/// 12 bytes, 16 together with an entry. The stamp is the logical time modulo 2³², and stamps are compared by their
/// difference: ties are in order if their requests are less than 2³¹ requests apart, however many came before.
@frozen
public struct Rank: BitwiseCopyable, Comparable, Sendable {
    /// The priority, compared first.
    public var priority: Double
    /// The stamp, compared if priorities are equal.
    public var stamp: UInt32

    /// Creates a rank with the index of its request as the stamp.
    @inline(__always)
    public init(_ priority: Double, index: Int) {
        self.priority = priority
        stamp = UInt32(truncatingIfNeeded: index)
    }

    /// Returns whether the left rank is first.
    @inline(__always)
    public static func < (left: Rank, right: Rank) -> Bool {
        left.priority < right.priority
            || (left.priority == right.priority && Int32(bitPattern: left.stamp &- right.stamp) < 0)
    }
}
