import CProcessor
import HalcyonEviction

/// The history of a resident object: 64 bytes.
///
/// Times are numbers of requests modulo 2³². ``ObjectHistory/limitAges(at:isWaiting:)`` keeps their differences below
/// 2³² (`WrappingClock`).
struct ObjectRecord: BitwiseCopyable {
    /// No other record, no pending sample.
    static let none = UInt32.max
    /// The place of an object that is no candidate.
    static let notCandidate = UInt8.max

    /// The object; `.none` if the record is free.
    var entry = EntryID.none
    /// The object's number among all caches that share the model; see ``Access/object``.
    var object: UInt32 = 0
    /// The next more recent resident, or the next free record.
    var newer = none
    /// The next less recent resident.
    var older = none
    /// The request of the last access.
    var last: UInt32 = 0
    /// The request of the first access that is remembered.
    var first: UInt32 = 0
    /// The second of the last access.
    var lastSecond: UInt32 = 0
    /// The category set at the last access.
    var categories: CategorySetID = 0
    /// The user of the last access.
    var user = UInt32.max
    /// The newest pending sample of this object.
    var pending = none
    /// Accesses decayed at four time scales, as of the last access. They are aligned to 8 bytes, hence the place.
    var counts = DecayedCounts.Short()
    /// The priority by ``GreedyDual``.
    var priority: Float = 0
    /// The binary logarithm of the object's size, in 1,024ths.
    private var shortLogSize: UInt16 = 0
    /// All accesses that are remembered.
    var accesses: UInt16 = 0
    /// The accesses since the object was inserted.
    var residentAccesses: UInt16 = 0
    /// Whether the object belongs to the sample of the ``Referee``.
    var isSampled = false
    /// The last three times between accesses in octaves, the latest first; 255 if there was none.
    var gap1 = UInt8.max
    var gap2 = UInt8.max
    var gap3 = UInt8.max
    /// The object's place among the candidates.
    var candidate = notCandidate

    /// The binary logarithm of the object's size, within 1/2,000; at least 0.
    var logSize: Float {
        @inline(__always) get { FastMath.float(small: UInt32(shortLogSize)) / 1_024 }
        set { shortLogSize = UInt16(min(max(newValue, 0) * 1_024 + 0.5, 65_535)) }
    }

    /// Starts loading a record, which may lie across two lines, into the processor's cache.
    @inline(__always)
    static func expect(_ record: UnsafePointer<ObjectRecord>) {
        halcyon_prefetch(record)
        halcyon_prefetch(UnsafeRawPointer(record) + MemoryLayout<ObjectRecord>.size - 1)
    }

    /// Returns the requests since the last access, as of request `now`.
    @inline(__always)
    func age(at now: Int) -> UInt32 { UInt32(truncatingIfNeeded: now) &- last }

    /// Returns the requests since the first access, as of request `now`.
    @inline(__always)
    func ageOfFirst(at now: Int) -> UInt32 { UInt32(truncatingIfNeeded: now) &- first }

    /// Limits the ages, and forgets a sample that no longer waits; see `WrappingClock`.
    mutating func limitAges(at now: UInt32, isWaiting: (UInt32) -> Bool) {
        last = WrappingClock.limited(last, now: now)
        first = WrappingClock.limited(first, now: now)
        if !isWaiting(pending) { pending = ObjectRecord.none }
    }

    /// Returns the number of the request of the last access, as of request `now`.
    @inline(__always)
    func lastRequest(asOf now: Int) -> Int { now &- Int(age(at: now)) }

    /// Returns the score by recency: lower for an older last access.
    @inline(__always)
    func recency(at now: Int) -> Float { -Float(age(at: now)) }

    /// Counts an access at request `now`.
    @inline(__always)
    mutating func note(_ access: Access, now: Int, second: UInt32) {
        if accesses > 0 {
            let gap = age(at: now)
            gap3 = gap2
            gap2 = gap1
            gap1 = min(FastMath.octaves(gap), 254)
        } else {
            first = UInt32(truncatingIfNeeded: now)
        }
        var counts = counts.counts
        if accesses > 0 { counts.decay(by: age(at: now)) }
        counts.increment()
        self.counts = DecayedCounts.Short(counts)
        accesses = min(accesses, .max - 1) &+ 1
        residentAccesses = min(residentAccesses, .max - 1) &+ 1
        last = UInt32(truncatingIfNeeded: now)
        lastSecond = second
        categories = access.categories
        user = access.user
        object = access.object
    }
}
