import CProcessor
import HalcyonEviction
import HalcyonLearning

/// The statistics of each object over all users.
///
/// Objects with numbers beyond ``bound`` are ignored. O(1) an access. Bytes: 48 an object.
struct PlannerObjects: ~Copyable {
    static let bound: UInt32 = 1 << 22
    /// The half-lives of the counts, in requests.
    static let halfLives: (Float, Float, Float) = (500, 5_000, 50_000)

    struct Record: BitwiseCopyable {
        var categories: CategorySetID = 0
        var size: UInt32 = 1
        var count: UInt32 = 0
        var users: UInt32 = 0
        /// The first and the last request.
        var first: UInt32 = 0
        var last: UInt32 = 0
        /// The time of the first request or the announcement, in seconds.
        var since: UInt32 = 0
        /// The accesses, decayed with ``halfLives``, as of ``last``.
        var fast: Float = 0
        var middle: Float = 0
        var slow: Float = 0
        /// The accesses that were not a user's first, decayed like ``fast`` and ``middle``.
        var fastInside: Float = 0
        var middleInside: Float = 0
    }

    private var records = HeapArray(repeating: Record(), count: 0)

    var byteCount: Int { records.byteCount }

    @inline(__always)
    subscript(object: UInt32) -> Record { Int(object) < records.count ? records[Int(object)] : Record() }

    /// Loads the record of an object into the CPU's cache.
    @inline(__always)
    func prefetchIntoCPUCache(_ object: UInt32) {
        let record = UnsafeRawPointer(records.base + Int(object))
        halcyon_prefetch(record)
        halcyon_prefetch(record + MemoryLayout<Record>.size - 1)
    }

    /// Records an object that exists and has not been requested.
    mutating func announce(_ object: AnnouncedObject, now: UInt32) {
        guard object.object < Self.bound, self[object.object].count == 0 else { return }
        let place = prepare(object.object)
        records[place].categories = object.categories
        records[place].size = UInt32(clamping: object.size)
        records[place].first = now
        records[place].last = now
        records[place].since = UInt32(truncatingIfNeeded: object.time / 1_000_000)
    }

    /// Records an access and returns the updated record.
    ///
    /// - Parameters:
    ///   - isNewToUser: whether the user has never requested the object before.
    ///   - isInside: whether it is not the first request of the user.
    mutating func note(_ access: Access, now: UInt32, seconds: UInt32, isNewToUser: Bool, isInside: Bool) -> Record {
        let place = prepare(access.object)
        var record = records[place]
        if record.count == 0 && record.since == 0 {
            record.first = now
            record.last = now
            record.since = seconds
        }
        let time = -FastMath.float(now &- record.last)
        let (fast, middle) = (FastMath.exp2(time / Self.halfLives.0), FastMath.exp2(time / Self.halfLives.1))
        record.fast = record.fast * fast + 1
        record.middle = record.middle * middle + 1
        record.slow = record.slow * FastMath.exp2(time / Self.halfLives.2) + 1
        record.fastInside = record.fastInside * fast + (isInside ? 1 : 0)
        record.middleInside = record.middleInside * middle + (isInside ? 1 : 0)
        record.categories = access.categories
        record.size = UInt32(clamping: access.size)
        record.count = min(record.count, .max - 1) &+ 1
        record.users = min(record.users, .max - 1) &+ (isNewToUser ? 1 : 0)
        record.last = now
        records[place] = record
        return record
    }

    /// Limits the time since the first and the last request of each object; see `WrappingClock`. O(objects).
    mutating func limitAges(at now: UInt32) {
        for place in 0..<records.count {
            records[place].first = WrappingClock.limited(records[place].first, now: now)
            records[place].last = WrappingClock.limited(records[place].last, now: now)
        }
    }

    /// Makes room for an object and returns its index.
    @inline(__always)
    private mutating func prepare(_ object: UInt32) -> Int {
        let place = Int(object)
        if place >= records.count { records.grow(to: max(place + 1, records.count * 3 / 2, 64), filling: Record()) }
        return place
    }
}
