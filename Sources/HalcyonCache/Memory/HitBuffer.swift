import HalcyonEviction

/// What the readers of a lane leave to the next writer, in their order: hits, and how many look-ups found nothing.
///
/// O(1) each. Bytes: 56, and 5 KB once it is in use.
struct HitBuffer: ~Copyable {
    /// How many hits wait at most. Short enough that telling them takes some microseconds, in which nobody else reads, and long
    /// enough that this is seldom.
    static let capacity = 128

    private var hits: UnsafeMutablePointer<WaitingHit>?
    private var taken = 0
    private var end = 0
    private var misses = 0
    private var user: (name: String, number: UInt32)?

    deinit { hits?.deallocate() }

    /// Takes memory for the hits; without, it is full.
    mutating func prepare() {
        if hits == nil { hits = .allocate(capacity: HitBuffer.capacity) }
    }

    /// The number of hits.
    var count: Int { end - taken }
    @inline(__always)
    var isEmpty: Bool { end == 0 && misses == 0 }
    @inline(__always)
    var isFull: Bool { end == HitBuffer.capacity || hits == nil }

    /// Adds a hit to a buffer that is not full.
    @inline(__always)
    mutating func append(_ hit: WaitingHit) {
        hits?[end] = hit
        end &+= 1
    }

    /// Counts a look-up that found nothing.
    @inline(__always)
    mutating func miss() { misses &+= 1 }

    /// The number of a user, which of the one asked for last is known here: for that, nobody has to wait for a common lock.
    @inline(__always)
    mutating func number(of name: String, _ users: UserNumbers) -> UInt32 {
        if let user, user.name == name { return user.number }
        let number = users.number(of: name)
        user = (name, number)
        return number
    }

    /// The stamp of the first hit that was not taken; the largest number if there is none.
    @inline(__always)
    var firstStamp: UInt64 {
        guard taken < end, let hits else { return .max }
        return hits[taken].stamp
    }

    /// Takes that hit.
    @inline(__always)
    mutating func takeFirst(_ serve: (WaitingHit) -> Void) {
        guard taken < end, let hits else { return }
        taken &+= 1
        serve(hits[taken &- 1])
    }

    /// Forgets everything, when all hits were taken, and returns the number of look-ups that found nothing.
    mutating func empty() -> Int {
        defer { (taken, end, misses) = (0, 0, 0) }
        return misses
    }
}
