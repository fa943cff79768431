/// A set of entries with a payload each, stored contiguously in arbitrary order for random draws.
///
/// Insertion, removal, look-up and drawing are O(1). At a removal, the last entry takes the index of the removed one.
/// Bytes: 4 a slot, and the stride of ``Member`` for each entry in the pool.
public struct DensePool<Payload: BitwiseCopyable>: ~Copyable {
    /// An entry in the pool and its payload.
    @frozen
    public struct Member: BitwiseCopyable {
        /// The entry.
        public let entry: EntryID
        /// The payload of the entry.
        public var payload: Payload
    }

    /// The number of entries in the pool.
    public private(set) var count = 0

    private var members: UnsafeMutablePointer<Member>
    private var room = 64
    private var places: SlotArray<UInt32>

    /// Creates an empty pool with room for `capacity` slots.
    public init(capacity: Int = 0) {
        members = GrowingMemory.allocate(room)
        places = SlotArray(repeating: .none, capacity: capacity)
    }

    deinit { GrowingMemory.release(members) }

    /// The number of heap bytes in use.
    public var metadataBytes: MetadataBytes {
        MetadataBytes(perNumber: places.byteCount, perResident: room * MemoryLayout<Member>.stride)
    }

    /// Returns the index of an entry, or `nil` if it is not in the pool. The index is valid until an entry is removed.
    @inline(__always)
    public func place(of entry: EntryID) -> Int? {
        let place = places[entry]
        return place == .none ? nil : Int(place)
    }

    /// The entry at an index from 0 up to, not including, ``count``.
    @inline(__always)
    public subscript(place: Int) -> Member { members[place] }

    /// The payload of an entry of the pool.
    @inline(__always)
    public subscript(entry: EntryID) -> Payload {
        get { members[Int(places[entry])].payload }
        set { members[Int(places[entry])].payload = newValue }
    }

    /// Draws an index uniformly; the pool must not be empty.
    @inline(__always)
    public func draw(with generator: inout SplitMix64) -> Int { generator.next(below: count) }

    /// Inserts an entry that is not in the pool.
    @inline(__always)
    public mutating func insert(_ entry: EntryID, _ payload: Payload) {
        if _slowPath(count == room) { grow() }
        members[count] = Member(entry: entry, payload: payload)
        places[entry] = UInt32(truncatingIfNeeded: count)
        count &+= 1
    }

    /// Removes an entry of the pool.
    @inline(__always)
    public mutating func remove(_ entry: EntryID) {
        let place = places[entry]
        count &-= 1
        let last = members[count]
        members[Int(place)] = last
        places[last.entry] = place
        places[entry] = .none
    }

    /// Changes the payload of each entry. O(n).
    mutating func updateAll(_ change: (inout Payload) -> Void) {
        for place in 0..<count { change(&members[place].payload) }
    }

    @inline(never)
    private mutating func grow() {
        room = GrowingMemory.room(for: count + 1, after: room)
        GrowingMemory.resize(&members, to: room)
    }
}
