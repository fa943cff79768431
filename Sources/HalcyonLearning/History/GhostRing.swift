import CProcessor
import HalcyonEviction

/// The history of an object that left the cache: 24 bytes.
struct Ghost: BitwiseCopyable {
    var entry = EntryID.none
    /// The request of the last access, modulo 2³².
    private var last: UInt32 = 0
    private var pending = ObjectRecord.none
    private var counts: UInt32 = 0
    /// The time between the first and the last access, in octaves.
    private var span: UInt8 = 0
    /// The number of accesses, in sixteenths of an octave.
    private var accesses: UInt8 = 0
    private var gap1 = UInt8.max
    private var gap2 = UInt8.max
    private var gap3 = UInt8.max
    /// Whether the object belongs to the sample of the ``Referee``.
    private(set) var isSampled = false

    init() {}

    init(of record: ObjectRecord) {
        entry = record.entry
        last = record.last
        pending = record.pending
        counts = record.counts.counts.packed
        span = FastMath.octaves(record.last &- record.first)
        accesses = FastMath.fineOctaves(FastMath.float(small: UInt32(record.accesses)))
        gap1 = record.gap1
        gap2 = record.gap2
        gap3 = record.gap3
        isSampled = record.isSampled
    }

    /// Limits the age, and forgets a sample that no longer waits; see `WrappingClock`.
    mutating func limitAge(at now: UInt32, isWaiting: (UInt32) -> Bool) {
        last = WrappingClock.limited(last, now: now)
        if !isWaiting(pending) { pending = ObjectRecord.none }
    }

    /// A record for the object, which is requested again.
    var record: ObjectRecord {
        var record = ObjectRecord()
        record.entry = entry
        record.last = last
        record.first = last &- Ghost.number(span, stepsAnOctave: 8)
        record.pending = pending
        record.counts = DecayedCounts.Short(DecayedCounts(packed: counts))
        record.accesses = UInt16(min(Ghost.number(accesses, stepsAnOctave: 16), 65_534))
        record.gap1 = gap1
        record.gap2 = gap2
        record.gap3 = gap3
        record.isSampled = isSampled
        return record
    }

    /// Returns the number that has these octaves.
    private static func number(_ octaves: UInt8, stepsAnOctave: Float) -> UInt32 {
        UInt32(FastMath.exp2(Float(octaves) / stepsAnOctave) - 0.5)
    }
}

/// The ghosts of the objects that left last, first in, first out, in a ring that grows to a bound. All operations are O(1).
struct GhostRing: ~Copyable {
    private var ring: HeapArray<Ghost>
    /// The place of the next ghost; the newest one is in the place before.
    private var next = 0
    private var limit: Int

    init() {
        ring = HeapArray(repeating: Ghost(), count: 0)
        limit = 0
    }

    /// The number of places that have memory.
    var capacity: Int { ring.count }

    /// Raises the bound to `limit` ghosts.
    mutating func allow(_ limit: Int) { self.limit = max(self.limit, limit) }

    /// Adds a ghost and returns its place, and the ghost that it replaces; one of no object if there is none.
    mutating func push(_ ghost: Ghost) -> (place: UInt32, forgotten: Ghost) {
        if next >= ring.count {
            if ring.count < limit { enlarge() } else { next = 0 }
        }
        let forgotten = ring[next]
        ring[next] = ghost
        next &+= 1
        return (UInt32(truncatingIfNeeded: next &- 1), forgotten)
    }

    /// Starts loading the ghost at `place` into the processor's cache.
    @inline(__always)
    func expect(_ place: UInt32) { halcyon_prefetch(ring.base + Int(place)) }

    /// Removes the ghost at `place` and returns it.
    mutating func take(_ place: UInt32) -> Ghost {
        let ghost = ring[Int(place)]
        ring[Int(place)].entry = .none
        return ghost
    }

    /// Limits the ages of all ghosts. O(n).
    mutating func limitAges(at now: UInt32, isWaiting: (UInt32) -> Bool) {
        for place in 0..<ring.count { ring[place].limitAge(at: now, isWaiting: isWaiting) }
    }

    /// Grows the ring at its end. Called when the next ghost goes to the end, so that the order is kept.
    private mutating func enlarge() {
        ring.grow(
            to: min(GrowingMemory.room(for: max(ring.count + 1, 8), after: ring.count), limit), filling: Ghost())
    }
}
