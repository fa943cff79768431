import HalcyonEviction

/// What is kept of an object that left: 24 bytes.
struct Ghost: BitwiseCopyable {
    var entry = EntryID.none
    private var last: UInt32 = 0
    private var pending = ObjectRecord.none
    private var counts: UInt32 = 0
    /// The time between the first and the last access, in octaves.
    private var span: UInt8 = 0
    /// How many accesses there were, and how often the user was another, in sixteenths of an octave.
    private var accesses: UInt8 = 0
    private var userChanges: UInt8 = 0
    private var gap1 = UInt8.max
    private var gap2 = UInt8.max
    private var gap3 = UInt8.max

    init() {}

    init(of record: ObjectRecord) {
        entry = record.entry
        last = record.last
        pending = record.pending
        counts = record.counts.counts.packed
        span = FastMath.octaves(record.last &- record.first)
        accesses = FastMath.fineOctaves(FastMath.float(small: UInt32(record.accesses)))
        userChanges = FastMath.fineOctaves(FastMath.float(small: UInt32(record.userChanges)))
        gap1 = record.gap1
        gap2 = record.gap2
        gap3 = record.gap3
    }

    /// The record of the object that came back.
    var record: ObjectRecord {
        var record = ObjectRecord()
        record.entry = entry
        record.last = last
        record.first = last &- Ghost.number(span, stepsAnOctave: 8)
        record.pending = pending
        record.counts = DecayedCounts.Short(DecayedCounts(packed: counts))
        record.accesses = UInt16(min(Ghost.number(accesses, stepsAnOctave: 16), 65_534))
        record.userChanges = UInt16(min(Ghost.number(userChanges, stepsAnOctave: 16), 65_534))
        record.gap1 = gap1
        record.gap2 = gap2
        record.gap3 = gap3
        return record
    }

    /// The number that was turned into octaves.
    private static func number(_ octaves: UInt8, stepsAnOctave: Float) -> UInt32 {
        UInt32(FastMath.exp2(Float(octaves) / stepsAnOctave) - 0.5)
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

    /// The places for ghosts that have memory.
    var capacity: Int { ring.count }

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
