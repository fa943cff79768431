import HalcyonEviction

/// What is kept of an object that left: 28 bytes.
struct Ghost: BitwiseCopyable {
    var entry = EntryID.none
    var last: UInt32 = 0
    var first: UInt32 = 0
    var pending = ObjectRecord.none
    var counts: UInt32 = 0
    var accesses: UInt16 = 0
    var userChanges: UInt16 = 0
    var gap1 = UInt8.max
    var gap2 = UInt8.max
    var gap3 = UInt8.max

    init() {}

    init(of record: ObjectRecord) {
        entry = record.entry
        last = record.last
        first = record.first
        pending = record.pending
        counts = record.counts.packed
        accesses = record.accesses
        userChanges = record.userChanges
        gap1 = record.gap1
        gap2 = record.gap2
        gap3 = record.gap3
    }

    /// The record of the object that came back.
    var record: ObjectRecord {
        var record = ObjectRecord()
        record.entry = entry
        record.last = last
        record.first = first
        record.pending = pending
        record.counts = DecayedCounts(packed: counts)
        record.accesses = accesses
        record.userChanges = userChanges
        record.gap1 = gap1
        record.gap2 = gap2
        record.gap3 = gap3
        return record
    }
}

/// The objects that left last, first in, first out, in a ring that grows to a bound. All operations O(1).
struct GhostRing: ~Copyable {
    private var ring: HeapArray<Ghost>
    /// Where the next one goes; the newest is one place before.
    private var next = 0
    private var limit: Int

    init() {
        ring = HeapArray(repeating: Ghost(), count: 0)
        limit = 0
    }

    var byteCount: Int { ring.byteCount }

    /// Raises the bound to `limit` ghosts.
    mutating func allow(_ limit: Int) { self.limit = max(self.limit, limit) }

    /// Puts a ghost in and returns its place, and the object that is forgotten for it, if any.
    mutating func push(_ ghost: Ghost) -> (place: UInt32, forgotten: EntryID) {
        if next >= ring.count {
            if ring.count < limit { enlarge() } else { next = 0 }
        }
        let forgotten = ring[next].entry
        ring[next] = ghost
        next &+= 1
        return (UInt32(truncatingIfNeeded: next &- 1), forgotten)
    }

    /// Takes the ghost at `place` out.
    mutating func take(_ place: UInt32) -> Ghost {
        let ghost = ring[Int(place)]
        ring[Int(place)].entry = .none
        return ghost
    }

    /// Grows the ring at its end; called when the end is where the next one goes, so that the order stays.
    private mutating func enlarge() {
        ring.grow(to: min(max(ring.count * 2, 256), limit), filling: Ghost())
    }
}
