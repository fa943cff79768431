/// What lists showed of each object: when it was shown last, how often lately, how often since its last request, and where.
///
/// The logical time is the number of lists so far. Objects whose numbers are equal modulo ``bound`` replace each other. O(1) amortised
/// an item, O(1) a request and a look-up. Bytes: 24 to 48 an object number of those that were shown, at most 1.6 MB.
struct ShownStatistics: ~Copyable {
    /// The most objects with statistics.
    static let bound = 1 << 16

    /// The names of the features, in the order of ``write(_:into:stride:)``.
    static let names = [
        "shown_age", "shown_0", "shown_1", "shown_2", "shown_3", "shown_unopened", "shown_rank",
    ]

    struct Showings: BitwiseCopyable {
        var object = UInt32.max
        /// The number of the last list.
        var list: UInt32 = 0
        /// The lists that showed it, decayed by the number of lists.
        var counts = DecayedCounts.Short()
        /// The lists that showed it since its last request.
        var unopened: UInt16 = 0
        /// Its place in the last list, from 1 on.
        var rank: UInt16 = 0
    }

    private var showings = HeapArray(repeating: Showings(), count: 0)
    private var lists: UInt32 = 0

    var byteCount: Int { showings.byteCount }

    /// Counts a list. Objects `UInt32.max` are only places of it.
    mutating func note(_ objects: [UInt32]) {
        lists &+= 1
        for (place, object) in objects.enumerated() where object != .max {
            let row = Int(object) & (Self.bound - 1)
            if row >= showings.count {
                // The next power of two, at least 64.
                showings.grow(to: 1 << (Int.bitWidth - max(63, row).leadingZeroBitCount), filling: Showings())
            }
            var known = showings[row]
            if known.object != object {
                known = Showings(object: object)
            } else if known.list == lists {
                continue
            }
            var counts = known.counts.counts
            counts.decay(by: lists &- known.list)
            counts.increment()
            known.counts = DecayedCounts.Short(counts)
            known.list = lists
            known.unopened = min(known.unopened, .max - 1) &+ 1
            known.rank = UInt16(min(place + 1, Int(UInt16.max)))
            showings[row] = known
        }
    }

    /// Counts a request of an object: none of its showings is unopened.
    @inline(__always)
    func noteRequest(of object: UInt32) {
        let row = Int(object) & (Self.bound - 1)
        if row < showings.count, showings[row].object == object { showings[row].unopened = 0 }
    }

    /// Writes the features of an object as the numbers of bytes, `stride` apart: all 0 for one that was not shown.
    @inline(__always)
    func write(_ object: UInt32, into row: UnsafeMutablePointer<Float>, stride: Int) {
        let place = Int(object) & (Self.bound - 1)
        guard place < showings.count, showings[place].object == object, showings[place].list > 0 else {
            for feature in 0..<Self.names.count { row[feature * stride] = 0 }
            return
        }
        let known = showings[place]
        let age = lists &- known.list
        var counts = known.counts.counts
        counts.decay(by: age)
        // 0 says that it was never shown.
        row[0] = 1 + FastMath.log2(FastMath.float(age) + 1) * 8
        for scale in 0..<4 { row[(1 + scale) * stride] = FastMath.log2(counts.values[scale] + 1) * 16 }
        row[5 * stride] = FastMath.log2(FastMath.float(small: UInt32(known.unopened)) + 1) * 32
        row[6 * stride] = FastMath.log2(FastMath.float(small: UInt32(known.rank)) + 1) * 32
        for feature in 0..<Self.names.count { row[feature * stride] = min(max(row[feature * stride], 0), 255) }
    }
}
