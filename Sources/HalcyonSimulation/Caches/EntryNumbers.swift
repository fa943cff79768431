import HalcyonEviction
import HalcyonLearning

/// The entry numbers of one of many small caches, or of a cache with prefetching: the cache's own, from 0, so that its tables are small.
///
/// As in a live cache, the number of an object that is neither resident nor remembered goes to another object. Caches with prefetching,
/// and policies whose decisions depend on numbers (``EvictionPolicy/decidesByNumber``), keep the number of every object.
///
/// A number is found in O(1). Bytes: 4 a number, and 8 to 16 a number beyond ``fewNumbers``.
struct EntryNumbers: ~Copyable {
    /// The most numbers of a cache with prefetching, which keeps the number of every object: the hash table has twice as many places.
    static let largestCount = 1 << 30 - 1
    /// The most numbers that are searched one after another. More have a hash table.
    static let fewNumbers = 64
    private static let lane = 8

    /// The object of each number; `.none` if the number is free. The count is a multiple of ``lane``.
    private var objects = HeapArray<UInt32>(repeating: EntryID.none, count: 0)
    /// The numbers that are free.
    private var free: [EntryID] = []
    /// The number of numbers, free ones included.
    private(set) var count = 0
    /// The number of numbers at which forgotten objects are looked for.
    private var collectsAt: Int
    private let recycles: Bool
    /// The hash table: a number plus one in the low bits, and the high bits of its object's hash above them, which avoid most reads of
    /// ``objects``. The low bits of the hash give the first place to probe. Empty up to ``fewNumbers``.
    private var table = HeapArray<UInt32>(repeating: 0, count: 0)

    /// - Parameter recycles: whether the numbers of forgotten objects go to other objects.
    init(recycles: Bool) {
        self.recycles = recycles
        collectsAt = EntryNumbers.fewNumbers / 4
    }

    /// The heap bytes held.
    var byteCount: Int { objects.byteCount + table.byteCount + free.capacity * MemoryLayout<EntryID>.stride }

    /// Returns the number of an object, and assigns one if it has none. Amortised O(1).
    ///
    /// - Parameter isForgotten: whether the cache neither holds nor remembers an entry.
    mutating func number(of object: UInt32, isForgotten: (EntryID) -> Bool) -> EntryID {
        if let number = find(object) { return number }
        if free.isEmpty, recycles, count >= collectsAt { collect(isForgotten) }
        let number = free.popLast() ?? EntryID(count)
        if number == count { append() }
        objects[Int(number)] = object
        if count > EntryNumbers.fewNumbers { enter(number) }
        return number
    }

    /// Returns the object of a number that is in use.
    func object(of number: EntryID) -> UInt32 { objects[Int(number)] }

    /// Returns the number of an object; `nil` if it has none.
    @inline(__always)
    func find(_ object: UInt32) -> EntryID? {
        if table.count > 0 {
            let (hash, mask) = (Self.hash(object), UInt32(table.count - 1))
            var place = hash & mask
            while true {
                let found = table[Int(place)]
                // Numbers plus one are at most half of the table's length.
                if found & mask == 0 { return nil }
                let number = (found & mask) &- 1
                if (found ^ hash) & ~mask == 0, objects[Int(number)] == object { return number }
                place = (place &+ 1) & mask
            }
        }
        var first = 0
        let wanted = SIMD8<UInt32>(repeating: object)
        while first < count {
            let found = UnsafeRawPointer(objects.base + first).loadUnaligned(as: SIMD8<UInt32>.self) .== wanted
            if any(found) {
                for lane in 0..<EntryNumbers.lane where found[lane] { return EntryID(first + lane) }
            }
            first += EntryNumbers.lane
        }
        return nil
    }

    private mutating func append() {
        if count == objects.count {
            let room = GrowingMemory.room(for: count + 1, after: count) + EntryNumbers.lane - 1
            objects.grow(to: room & ~(EntryNumbers.lane - 1), filling: EntryID.none)
        }
        count += 1
    }

    @inline(never)
    private mutating func collect(_ isForgotten: (EntryID) -> Bool) {
        for place in stride(from: count - 1, through: 0, by: -1) where isForgotten(EntryID(place)) {
            objects[place] = EntryID.none
            free.append(EntryID(place))
        }
        let used = count - free.count
        collectsAt = used + max(used / 8, 4)
        if table.count > 0, !free.isEmpty { rebuild() }
    }

    private mutating func enter(_ number: EntryID) {
        if count * 2 > table.count { return rebuild() }
        insert(number)
    }

    private mutating func rebuild() {
        var places = max(table.count, EntryNumbers.fewNumbers * 2)
        while places < count * 2 { places *= 2 }
        table = HeapArray(repeating: 0, count: places)
        for number in 0..<EntryID(count) where objects[Int(number)] != EntryID.none { insert(number) }
    }

    private mutating func insert(_ number: EntryID) {
        let (hash, mask) = (Self.hash(objects[Int(number)]), UInt32(table.count - 1))
        var place = hash & mask
        while table[Int(place)] != 0 { place = (place &+ 1) & mask }
        table[Int(place)] = hash & ~mask | (number + 1)
    }

    @inline(__always)
    private static func hash(_ object: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: (UInt64(object) &* 0x9E37_79B9_7F4A_7C15) >> 32)
    }
}
