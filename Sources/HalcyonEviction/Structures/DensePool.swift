import HalcyonSupport

/// The random number generator from which policies draw.
public typealias SplitMix64 = HalcyonSupport.SplitMix64

/// Entries side by side without gaps, in no particular order, each with something kept about it: what is needed to draw
/// some of them at random.
///
/// Insertion, removal (the last one takes the place of the one that leaves), look-up and drawing are O(1). Bytes: 4 a
/// slot, and the stride of ``Member`` for each entry in the pool.
public struct DensePool<Payload: BitwiseCopyable>: ~Copyable {
    /// An entry in the pool and what is kept about it.
    @frozen
    public struct Member: BitwiseCopyable {
        /// Who it is.
        public let entry: EntryID
        /// What is kept about it.
        public var payload: Payload
    }

    /// The number of entries in the pool.
    public private(set) var count = 0

    private var members: UnsafeMutablePointer<Member>
    private var room = 64
    private var places: SlotArray<UInt32>

    /// An empty pool; `capacity` slots are made from the start.
    public init(capacity: Int = 0) {
        members = GrowingMemory.allocate(room)
        places = SlotArray(repeating: .none, capacity: capacity)
    }

    deinit { GrowingMemory.release(members) }

    /// The heap bytes held.
    public var metadataBytes: MetadataBytes {
        MetadataBytes(perNumber: places.byteCount, perResident: room * MemoryLayout<Member>.stride)
    }

    /// The place of an entry, or `nil` if it is not in the pool. It holds until an entry is removed.
    @inline(__always)
    public func place(of entry: EntryID) -> Int? {
        let place = places[entry]
        return place == .none ? nil : Int(place)
    }

    /// Who is at a place, from 0 up to ``count``.
    @inline(__always)
    public subscript(place: Int) -> Member { members[place] }

    /// What is kept about an entry of the pool.
    @inline(__always)
    public subscript(entry: EntryID) -> Payload {
        get { members[Int(places[entry])].payload }
        set { members[Int(places[entry])].payload = newValue }
    }

    /// A place drawn with the same probability as any other; the pool is not empty.
    @inline(__always)
    public func draw(with generator: inout SplitMix64) -> Int { generator.next(below: count) }

    /// Puts an entry that is not in the pool into it.
    @inline(__always)
    public mutating func insert(_ entry: EntryID, _ payload: Payload) {
        if _slowPath(count == room) { grow() }
        members[count] = Member(entry: entry, payload: payload)
        places[entry] = UInt32(truncatingIfNeeded: count)
        count &+= 1
    }

    /// Takes an entry of the pool out.
    @inline(__always)
    public mutating func remove(_ entry: EntryID) {
        let place = places[entry]
        count &-= 1
        let last = members[count]
        members[Int(place)] = last
        places[last.entry] = place
        places[entry] = .none
    }

    @inline(never)
    private mutating func grow() {
        room = GrowingMemory.room(for: count + 1, after: room)
        GrowingMemory.resize(&members, to: room)
    }
}
