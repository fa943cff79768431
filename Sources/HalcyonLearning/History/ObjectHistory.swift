import CProcessor
import HalcyonEviction

/// The records of all residents, in order of access, and the ghosts of objects that left lately.
///
/// A resident has an ``ObjectRecord``, an object that left has a ``Ghost``; a table maps the number of an object to either.
/// There are at most ``ghostsPerResident`` ghosts for each of the most residents so far, and at least ``fewestGhosts``.
/// All operations are O(1). Bytes: 4 an object number, 64 a resident, 24 a ghost.
struct ObjectHistory: ~Copyable {
    static let fewestGhosts = 1_024
    private static let ghostBit: UInt32 = 1 << 31

    private(set) var records: HeapArray<ObjectRecord>
    /// The number of records that were ever in use; each is a resident's, the new object's or free.
    private(set) var used = 0
    /// The most recent and the least recent resident.
    private(set) var newest = ObjectRecord.none
    private(set) var oldest = ObjectRecord.none
    /// The number of residents.
    private(set) var count = 0

    private var places: SlotArray<UInt32>
    private var ghosts = GhostRing()
    private var free = ObjectRecord.none
    private let ghostsPerResident: Double

    init(entries: Int, ghostsPerResident: Double) {
        self.ghostsPerResident = ghostsPerResident
        records = HeapArray(repeating: ObjectRecord(), count: 0)
        places = SlotArray(repeating: .max, capacity: entries)
        ghosts.allow(ObjectHistory.fewestGhosts)
    }

    /// The heap bytes held. The bytes of the fewest ghosts, which the smallest cache keeps too, are fixed.
    var metadataBytes: MetadataBytes {
        let fewest = min(ghosts.capacity, ObjectHistory.fewestGhosts)
        return MetadataBytes(
            fixed: fewest * MemoryLayout<Ghost>.stride, perNumber: places.byteCount,
            perResident: records.byteCount + (ghosts.capacity - fewest) * MemoryLayout<Ghost>.stride)
    }

    /// Returns the record of a resident or of the new object, or `none`.
    @inline(__always)
    func resident(_ entry: EntryID) -> UInt32 {
        let place = places[entry]
        return place & ObjectHistory.ghostBit == 0 ? place : ObjectRecord.none
    }

    /// The steps of ``expect(_:step:)``.
    static let expectationSteps = 3

    /// Starts loading what a request of an object reads into the processor's cache.
    ///
    /// Step 0 loads its place, step 1 its record or its ghost. Step 2 loads the records of the residents beside it, which
    /// change when it becomes the most recent.
    @inline(__always)
    func expect(_ entry: EntryID, step: Int) {
        if step == 0 { return places.expect(entry) }
        let place = places[entry]
        if place == ObjectRecord.none { return }
        if place & ObjectHistory.ghostBit != 0 {
            if step == 1 { ghosts.expect(place & ~ObjectHistory.ghostBit) }
            return
        }
        let record = records.base + Int(place)
        if step == 1 { return ObjectRecord.expect(record) }
        let (newer, older) = (record.pointee.newer, record.pointee.older)
        if newer != ObjectRecord.none { halcyon_prefetch(records.base + Int(newer)) }
        if older != ObjectRecord.none { halcyon_prefetch(records.base + Int(older)) }
    }

    /// Calls `body` with the record of each resident, the least recent first.
    @inline(__always)
    func forEachResident(_ body: (ObjectRecord) -> Void) {
        var slot = oldest
        while slot != ObjectRecord.none {
            body(records[Int(slot)])
            slot = records[Int(slot)].newer
        }
    }

    /// Returns whether an object has a ghost.
    func remembersGhost(_ entry: EntryID) -> Bool {
        let place = places[entry]
        return place != ObjectRecord.none && place & ObjectHistory.ghostBit != 0
    }

    /// Makes a record for an object that is not resident, from its ghost if it has one, and returns the record's number. The
    /// object is on the list of residents only after ``link(_:)``.
    mutating func open(_ entry: EntryID) -> UInt32 {
        let place = places[entry]
        var record = ObjectRecord()
        if place != ObjectRecord.none && place & ObjectHistory.ghostBit != 0 {
            record = ghosts.take(place & ~ObjectHistory.ghostBit).record
        }
        record.entry = entry
        let slot = freeSlot()
        records[Int(slot)] = record
        places[entry] = slot
        return slot
    }

    /// Makes an open record the most recent resident.
    @inline(__always)
    mutating func link(_ slot: UInt32) {
        let base = records.base
        base[Int(slot)].newer = ObjectRecord.none
        base[Int(slot)].older = newest
        if newest == ObjectRecord.none { oldest = slot } else { base[Int(newest)].newer = slot }
        newest = slot
        count &+= 1
    }

    /// Removes a resident from the list; its record stays open.
    @inline(__always)
    mutating func unlink(_ slot: UInt32) {
        let base = records.base
        let (newer, older) = (base[Int(slot)].newer, base[Int(slot)].older)
        if newer == ObjectRecord.none { newest = older } else { base[Int(newer)].older = older }
        if older == ObjectRecord.none { oldest = newer } else { base[Int(older)].newer = newer }
        count &-= 1
    }

    /// Makes a resident the most recent one.
    @inline(__always)
    mutating func moveToNewest(_ slot: UInt32) {
        if newest == slot { return }
        unlink(slot)
        link(slot)
    }

    /// Turns an open record that is on no list into a ghost. Returns the ghost that it replaces; one of no object if there is
    /// none.
    mutating func close(_ slot: UInt32) -> Ghost {
        let record = records[Int(slot)]
        ghosts.allow(Int(Double(count) * ghostsPerResident))
        let (place, forgotten) = ghosts.push(Ghost(of: record))
        if forgotten.entry != .none { places[forgotten.entry] = ObjectRecord.none }
        places[record.entry] = place | ObjectHistory.ghostBit
        records[Int(slot)].entry = .none
        records[Int(slot)].newer = free
        free = slot
        return forgotten
    }

    /// Returns a random resident, or `none` if eight draws found none.
    ///
    /// - Parameter newObject: the record of the object that is not resident yet, or `none`.
    mutating func randomResident(_ generator: inout SplitMix64, excluding newObject: UInt32) -> UInt32 {
        for _ in 0..<8 where used > 0 {
            let slot = generator.next(below: used)
            let isResident = records[slot].entry != .none && slot != Int(newObject)
            if isResident { return UInt32(truncatingIfNeeded: slot) }
        }
        return ObjectRecord.none
    }

    /// Starts loading the records of the residents that as many calls of ``randomResident(_:excluding:)`` will draw, if
    /// no draw meets a free record, into the processor's cache.
    ///
    /// - Parameter generator: a copy of the generator.
    @inline(__always)
    func expectRandomResidents(_ generator: inout SplitMix64, count: Int) {
        if used == 0 { return }
        for _ in 0..<count { ObjectRecord.expect(records.base + generator.next(below: used)) }
    }

    /// Limits the ages of all records and ghosts, once in 2³⁰ requests; see `WrappingClock`. O(n).
    ///
    /// - Parameter isWaiting: whether a sample still waits for its label.
    mutating func limitAges(at now: UInt32, isWaiting: (UInt32) -> Bool) {
        for slot in 0..<used { records[slot].limitAges(at: now, isWaiting: isWaiting) }
        ghosts.limitAges(at: now, isWaiting: isWaiting)
    }

    private mutating func freeSlot() -> UInt32 {
        if free != ObjectRecord.none {
            let slot = free
            free = records[Int(slot)].newer
            return slot
        }
        if used == records.count {
            // The caches of most users stay small, so growth starts at 4.
            records.grow(to: GrowingMemory.room(for: max(used + 1, 4), after: used), filling: ObjectRecord())
        }
        used &+= 1
        return UInt32(used &- 1)
    }
}
