import HalcyonEviction

/// What is known of every object that is resident or has left lately, and the residents in order of access.
///
/// A resident has an ``ObjectRecord``, one that left a ``Ghost``; a table from the object's number tells where. Ghosts are
/// bounded at ``ghostsPerResident`` for each resident there ever was at a time, and at ``fewestGhosts`` in a small cache.
/// All operations O(1). Bytes: 4 an object number, 64 a resident, 24 a ghost.
struct ObjectHistory: ~Copyable {
    static let fewestGhosts = 1_024
    private static let ghostBit: UInt32 = 1 << 31

    private(set) var records: HeapArray<ObjectRecord>
    /// Records that were ever in use; a random one below this is a resident or free.
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

    /// The heap bytes held; those of the fewest ghosts, which the smallest cache keeps too, are fixed.
    var metadataBytes: MetadataBytes {
        let fewest = min(ghosts.capacity, ObjectHistory.fewestGhosts)
        return MetadataBytes(
            fixed: fewest * MemoryLayout<Ghost>.stride, perNumber: places.byteCount,
            perResident: records.byteCount + (ghosts.capacity - fewest) * MemoryLayout<Ghost>.stride)
    }

    /// The record of a resident or of the newcomer, or `none`.
    @inline(__always)
    func resident(_ entry: EntryID) -> UInt32 {
        let place = places[entry]
        return place & ObjectHistory.ghostBit == 0 ? place : ObjectRecord.none
    }

    /// Whether something is known of an object that is not resident.
    func remembersGhost(_ entry: EntryID) -> Bool {
        let place = places[entry]
        return place != ObjectRecord.none && place & ObjectHistory.ghostBit != 0
    }

    /// Makes a record for an object that is not resident, with what its ghost knew. It is on the list of residents only
    /// after ``link(_:)``.
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

    /// Takes a resident off the list; its record stays open.
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

    /// Turns an open record that is on no list into a ghost.
    mutating func close(_ slot: UInt32) {
        let record = records[Int(slot)]
        ghosts.allow(Int(Double(count) * ghostsPerResident))
        let (place, forgotten) = ghosts.push(Ghost(of: record))
        if forgotten != .none { places[forgotten] = ObjectRecord.none }
        places[record.entry] = place | ObjectHistory.ghostBit
        records[Int(slot)].entry = .none
        records[Int(slot)].newer = free
        free = slot
    }

    private mutating func freeSlot() -> UInt32 {
        if free != ObjectRecord.none {
            let slot = free
            free = records[Int(slot)].newer
            return slot
        }
        if used == records.count {
            // The caches of most users stay small.
            records.grow(to: GrowingMemory.room(for: max(used + 1, 4), after: used), filling: ObjectRecord())
        }
        used &+= 1
        return UInt32(used &- 1)
    }
}
