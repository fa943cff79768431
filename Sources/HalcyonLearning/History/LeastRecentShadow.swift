/// Which objects an LRU cache of a given size would hold, where every object takes the same room, told from the times of
/// their latest accesses alone.
///
/// LRU holds those objects whose latest accesses are the last `capacity` latest accesses there are. So a bit for each
/// request suffices that says whether it is the latest access of its object, and the request from which on so many bits
/// are set. An object whose latest access has been forgotten counts as not held. An LRU cache kept beside would take more room,
/// and would keep the numbers of objects that are long forgotten here from being given anew.
///
/// All operations are amortised O(1). Bytes: an eighth a request that is looked back on, of which there are less than
/// twice ``reach`` for each object that is held; where LRU would reach further back, the shadow holds less than LRU.
struct LeastRecentShadow: ~Copyable {
    /// The requests that are looked back on at most, for each object that is held.
    static let reach = 64

    /// One bit a request, in a ring of a power of two.
    private var words = HeapArray<UInt64>(repeating: 0, count: 1)
    /// Every bit that is set stands for a request from this one on.
    private var first: UInt32 = 0
    /// The request after the latest one.
    private var end: UInt32 = 0
    /// How many bits are set.
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int) { self.capacity = max(capacity, 0) }

    var byteCount: Int { words.byteCount }

    /// Takes request `now` into account, which must be the one after that of the call before.
    ///
    /// - Parameter last: the request of the object's latest access, if that is known.
    /// - Returns: whether LRU would have held the object.
    mutating func access(last: UInt32?, now: UInt32) -> Bool {
        var isHeld = false
        if let last { isHeld = forget(last) }
        if count == 0 { first = now }
        end = now &+ 1
        while Int(now &- first) >= bits {
            if words.count * 64 < Self.reach * count { enlarge(now: now) } else { moveOn() }
        }
        words[word(now)] |= mask(now)
        count &+= 1
        while count > capacity { moveOn() }
        return isHeld
    }

    /// Takes out the object whose latest access was at `last`, and returns whether it was held.
    @inline(__always)
    mutating func forget(_ last: UInt32) -> Bool {
        guard last &- first < end &- first, words[word(last)] & mask(last) != 0 else { return false }
        words[word(last)] &= ~mask(last)
        count &-= 1
        return true
    }

    /// Holds as much as an LRU cache of another size from here on, once so many objects have been asked for.
    mutating func resize(to capacity: Int) {
        self.capacity = max(capacity, 0)
        while count > self.capacity { moveOn() }
    }

    private var bits: Int { words.count * 64 }

    @inline(__always)
    private func word(_ request: UInt32) -> Int { Int(request >> 6) & (words.count &- 1) }

    @inline(__always)
    private func mask(_ request: UInt32) -> UInt64 { 1 << UInt64(request & 63) }

    /// Looks one request less far back.
    private mutating func moveOn() {
        let (place, bit) = (word(first), mask(first))
        if words[place] & bit != 0 {
            words[place] &= ~bit
            count &-= 1
        }
        first &+= 1
    }

    private mutating func enlarge(now: UInt32) {
        let smaller = words.count
        var larger = HeapArray<UInt64>(repeating: 0, count: smaller * 2)
        var request = first
        while request != now {
            if words[word(request)] & mask(request) != 0 {
                larger[Int(request >> 6) & (smaller * 2 - 1)] |= mask(request)
            }
            request &+= 1
        }
        swap(&words, &larger)
    }
}
