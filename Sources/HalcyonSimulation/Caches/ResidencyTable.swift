import HalcyonEviction
import HalcyonTrace

/// The objects of one cache with prefetching, numbered densely from 0, and the state of each.
///
/// Numbers per cache let a thousand small caches use memory for their own objects only. All methods are O(1). Memory:
/// 13 bytes per object, and 8 to 16 in the hash table. At most ``largestCount`` objects.
struct ResidencyTable: ~Copyable {
    /// The most objects: the hash table has twice as many places, a power of two below 2³².
    static let largestCount = 1 << 30 - 1

    /// The state of an object.
    enum State: UInt8 {
        case absent
        /// Resident, and requested before.
        case requested
        /// Prefetched, in flight.
        case inFlight
        /// Prefetched, resident, not yet used.
        case unused
        /// Prefetched during the warm-up, resident, not yet used.
        case unusedUncounted
        /// Prefetched, resident, and awaited by the next request, which is a miss: it came before the arrival.
        case awaited
    }

    private var states = SlotArray<UInt8>(repeating: State.absent.rawValue)
    /// The request at which an object was last prefetched.
    private var fetches = SlotArray<Int>(repeating: 0)
    private var objects = SlotArray<UInt32>(repeating: 0)
    private(set) var count: UInt32 = 0
    /// The time of the latest request, in microseconds.
    var now: Int64 = .min
    /// The hash table: an object's number plus one in the low bits, and the high bits of its hash above them. The low
    /// bits of the hash give the first place to probe. The high bits avoid most reads of ``objects``.
    private var table = SlotArray<UInt32>(repeating: 0)
    private var mask: UInt32 = 0

    /// Returns whether an object is resident or in flight.
    @inline(__always)
    func holds(_ object: UInt32) -> Bool {
        guard let number = number(of: object) else { return false }
        return states[number] != State.absent.rawValue
    }

    /// Returns whether an object is in flight, or resident and not expired.
    ///
    /// - Parameter isFresh: whether a resident has not expired.
    func holds(_ object: UInt32, isFresh: (EntryID) -> Bool) -> Bool {
        guard let number = number(of: object) else { return false }
        switch self[number] {
        case .absent: return false
        case .inFlight: return true
        case .requested, .unused, .unusedUncounted, .awaited: return isFresh(number)
        }
    }

    /// Returns whether an object that was prefetched at a request is resident and was not requested since.
    @inline(__always)
    func isUnused(_ object: UInt32, since request: Int) -> Bool {
        guard let number = number(of: object), fetch(of: number) == request else { return false }
        return self[number] == .unused || self[number] == .unusedUncounted
    }

    /// Returns the state of a numbered object.
    @inline(__always)
    subscript(number: EntryID) -> State {
        get { State(rawValue: states[number]) ?? .absent }
        set { states[number] = newValue.rawValue }
    }

    /// Returns the object with a number.
    @inline(__always)
    func object(_ number: EntryID) -> UInt32 { objects[number] }

    /// Returns the request at which an object was prefetched.
    func fetch(of number: EntryID) -> Int { fetches[number] }

    /// Marks an object as prefetched and resident.
    mutating func arrived(_ number: EntryID, request: Int, isCounted: Bool) {
        self[number] = isCounted ? .unused : .unusedUncounted
        fetches[number] = request
    }

    /// Returns the number of an object, and assigns one if it has none.
    mutating func assign(_ object: UInt32) -> EntryID {
        if let number = number(of: object) { return number }
        let number = count
        objects[number] = object
        count += 1
        if count * 2 > mask { rebuild() } else { enter(number) }
        return number
    }

    /// Returns the number of an object, if it has one.
    @inline(__always)
    private func number(of object: UInt32) -> EntryID? {
        let hash = Self.hash(object)
        var place = hash & mask
        while true {
            let found = table[place]
            // Numbers plus one are at most half of the table's length.
            if found & mask == 0 { return nil }
            let number = (found & mask) &- 1
            if (found ^ hash) & ~mask == 0 && objects[number] == object { return number }
            place = (place &+ 1) & mask
        }
    }

    private mutating func rebuild() {
        let places = max(16, (mask + 1) * 2)
        mask = places - 1
        table = SlotArray(repeating: 0, capacity: Int(places))
        for number in 0..<count { enter(number) }
    }

    private mutating func enter(_ number: EntryID) {
        let hash = Self.hash(objects[number])
        var place = hash & mask
        while table[place] != 0 { place = (place &+ 1) & mask }
        table[place] = hash & ~mask | (number + 1)
    }

    @inline(__always)
    private static func hash(_ object: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: (UInt64(object) &* 0x9E37_79B9_7F4A_7C15) >> 32)
    }
}

/// The size and the categories of each object at its last request so far.
///
/// A fetch reveals the size of an object, no earlier. With variable sizes, the size of an object that was neither
/// requested nor fetched is therefore not known when a fetch of it starts (``knowsSize(of:)``); the fetch then transfers
/// the size of the first request. An object that never occurs in the trace is as large as the object that was requested
/// when it was first fetched. No policy receives a size that is not known. In a stream an object without a request has
/// the size 1; only `next-key` proposes such objects, and no stream supports it.
final class ObjectInfo {
    private var sizes: [Int]
    private var sets: [CategorySetID]
    /// Whether the size of each object is known. Empty if all sizes are.
    private var isKnown: [Bool]
    private let usesUniformSizes: Bool
    /// The objects of accesses since the last ``forget()``. Nil if they are never forgotten.
    private var noted: [UInt32]?

    /// - Parameters:
    ///   - trace: the loaded trace; `nil` for a stream.
    ///   - forgets: whether ``forget()`` will be called.
    init(_ trace: Trace?, forgets: Bool = false) {
        noted = forgets ? [] : nil
        let count = trace?.objectCount ?? 0
        sizes = Array(repeating: 1, count: count)
        sets = Array(repeating: 0, count: count)
        usesUniformSizes = trace.map { $0.uniformSize != nil } ?? true
        isKnown = Array(repeating: false, count: usesUniformSizes ? 0 : count)
        guard let trace, !usesUniformSizes else { return }
        for position in stride(from: trace.count - 1, through: 0, by: -1) {
            sizes[Int(trace.entries[position])] = Int(clamping: trace.size(ofRequest: position))
        }
    }

    /// Updates the object of an access.
    func note(_ access: Access) {
        let object = Int(access.object)
        while sizes.count <= object {
            sizes.append(1)
            sets.append(0)
        }
        sizes[object] = access.size
        sets[object] = access.categories
        if !usesUniformSizes { markKnown(object) }
        noted?.append(access.object)
    }

    /// Forgets which sizes and categories are known, for the next device. O(accesses since the last call).
    func forget() {
        for object in noted ?? [] {
            sets[Int(object)] = 0
            if !usesUniformSizes { isKnown[Int(object)] = false }
        }
        noted?.removeAll(keepingCapacity: true)
    }

    /// Whether the size of an object was revealed by a request or a fetch; always true with uniform sizes.
    func knowsSize(of object: UInt32) -> Bool {
        usesUniformSizes || (Int(object) < isKnown.count && isKnown[Int(object)])
    }

    /// Records the size of an object that a log states; in a trace of uniform sizes it has no effect.
    func reveal(_ object: UInt32, size: Int) {
        let place = Int(object)
        while sizes.count <= place {
            sizes.append(1)
            sets.append(0)
        }
        guard !usesUniformSizes else { return }
        sizes[place] = size
        markKnown(place)
    }

    /// Records a fetch of an object whose size was not known, after a request, and returns its size.
    func reveal(_ object: UInt32, after access: Access) -> Int {
        let place = Int(object)
        while sizes.count <= place {
            sizes.append(access.size)
            sets.append(0)
        }
        markKnown(place)
        noted?.append(object)
        return sizes[place]
    }

    private func markKnown(_ object: Int) {
        while isKnown.count <= object { isKnown.append(false) }
        isKnown[object] = true
    }

    func size(of object: UInt32) -> Int { Int(object) < sizes.count ? sizes[Int(object)] : 1 }
    func categories(of object: UInt32) -> CategorySetID { Int(object) < sets.count ? sets[Int(object)] : 0 }
}
