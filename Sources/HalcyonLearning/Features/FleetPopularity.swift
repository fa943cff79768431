import HalcyonEviction

/// How often each object is asked for by all users whose caches share a model.
///
/// A device knows of this only if somebody tells it, as a server can that sees what all devices ask for; within one cache it
/// adds nothing to the object's own record. All operations O(1). Bytes: 12 an object.
struct FleetPopularity: ~Copyable {
    /// The half-life of the rate, in requests of all users.
    private static let forgetting: Float = 1 / 5_000

    struct Count: BitwiseCopyable {
        /// The request of the last access.
        var last: UInt32 = 0
        /// Accesses in all.
        var accesses: UInt32 = 0
        /// The same, decayed.
        var rate: Float = 0
    }

    private var counts = SlotArray(repeating: Count())

    var byteCount: Int { counts.byteCount }

    /// Counts an access at `now`.
    @inline(__always)
    mutating func note(_ object: UInt32, now: UInt32) {
        var count = counts[object]
        count.rate = rate(count, now: now) + 1
        count.accesses &+= 1
        count.last = now
        counts[object] = count
    }

    /// Writes what is known of an object as of `now` into a row of numbers that are `stride` apart.
    @inline(__always)
    func write(_ object: UInt32, now: UInt32, into row: UnsafeMutablePointer<Float>, stride: Int) {
        let count = counts[object]
        row[Feature.fleetRate * stride] = rate(count, now: now)
        row[Feature.fleetAccesses * stride] = FastMath.float(count.accesses)
    }

    @inline(__always)
    private func rate(_ count: Count, now: UInt32) -> Float {
        count.rate * FastMath.exp2(-FastMath.float(now &- count.last) * FleetPopularity.forgetting)
    }
}
