/// The hits of an LRU cache of a given capacity with uniform sizes, computed from the times of accesses alone.
///
/// LRU holds the objects whose last accesses are the latest `capacity` of all. One bit per request therefore suffices: it
/// says whether the request is the last access of its object. The objects held are those from the request on behind which
/// `capacity` bits are set. An object whose last access was forgotten counts as not held.
///
/// A real LRU cache would take more memory, and would keep the numbers of objects that the policy forgot long ago from
/// being reused.
///
/// All operations are amortised O(1). Bytes: 1/8 per request of the look-back, which is shorter than twice ``lookBack``
/// requests per object held. Where LRU would look back further, the shadow holds less than LRU.
struct LeastRecentShadow: ~Copyable {
    /// The longest look-back, in requests per object held.
    static let lookBack = 64

    /// One bit per request, in a ring with a power of two of bits.
    private var words = HeapArray<UInt64>(repeating: 0, count: 1)
    /// The first request that may have its bit set.
    private var first = 0
    /// The request after the latest one.
    private var end = 0
    /// The number of objects held: of bits that are set.
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int) { self.capacity = max(capacity, 0) }

    var byteCount: Int { words.byteCount }

    /// Records request `now`, which must follow the request of the previous call.
    ///
    /// - Parameter last: the request of the object's previous access, if known.
    /// - Returns: whether LRU would have held the object.
    mutating func access(last: Int?, now: Int) -> Bool {
        var isHeld = false
        if let last { isHeld = remove(last: last) }
        if count == 0 { first = now }
        end = now &+ 1
        while now &- first >= bits {
            if words.count * 64 < Self.lookBack * count { enlarge(now: now) } else { advance() }
        }
        words[word(now)] |= mask(now)
        count &+= 1
        while count > capacity { advance() }
        return isHeld
    }

    /// Removes the object whose last access was at request `last`, and returns whether it was held.
    @inline(__always)
    mutating func remove(last: Int) -> Bool {
        guard last >= first, last < end, words[word(last)] & mask(last) != 0 else { return false }
        words[word(last)] &= ~mask(last)
        count &-= 1
        return true
    }

    /// Changes the capacity. A larger one takes effect as further objects are requested.
    mutating func resize(to capacity: Int) {
        self.capacity = max(capacity, 0)
        while count > self.capacity { advance() }
    }

    private var bits: Int { words.count * 64 }

    @inline(__always)
    private func word(_ request: Int) -> Int { request >> 6 & (words.count &- 1) }

    @inline(__always)
    private func mask(_ request: Int) -> UInt64 { 1 << UInt64(truncatingIfNeeded: request & 63) }

    /// Shortens the look-back by one request.
    private mutating func advance() {
        let (place, bit) = (word(first), mask(first))
        if words[place] & bit != 0 {
            words[place] &= ~bit
            count &-= 1
        }
        first &+= 1
    }

    private mutating func enlarge(now: Int) {
        let smaller = words.count
        var larger = HeapArray<UInt64>(repeating: 0, count: smaller * 2)
        var request = first
        while request != now {
            if words[word(request)] & mask(request) != 0 {
                larger[request >> 6 & (smaller * 2 - 1)] |= mask(request)
            }
            request &+= 1
        }
        swap(&words, &larger)
    }
}
