/// The heuristic that decides until the learner does better: GreedyDual-Size-Frequency (Cherkasova, 1998), which is LFU
/// with aging where every object costs the same.
///
/// An object is worth the clock at its last access plus its accesses since it came in times the cost of its miss over its
/// size; when one goes, the clock moves to what that one was worth. Costs over sizes are counted in units of the first one
/// seen, to keep the sums' digits.
struct GreedyDual: BitwiseCopyable {
    private(set) var clock: Float = 0
    private var unit = Float.infinity

    /// Gives a record its worth as of its access now.
    @inline(__always)
    mutating func rate(_ record: inout ObjectRecord, _ missCost: MissCost) {
        let density = missCost.density(logSize: record.logCost)
        if unit == .infinity { unit = density }
        let weight = unit == density ? 1 : FastMath.exp2(density - unit)
        record.priority = clock + FastMath.float(small: UInt32(record.residentAccesses)) * weight
    }

    /// Moves the clock to what the one that goes was worth.
    @inline(__always)
    mutating func advance(to priority: Float) { clock = max(clock, priority) }

    /// A worth above the clock as a byte: eight steps an octave, from 2⁻¹⁶ to 2¹⁶.
    @inline(__always)
    static func octaves(_ worth: Float) -> UInt8 {
        UInt8(truncatingIfNeeded: FastMath.whole(level(worth)))
    }

    @inline(__always)
    private static func level(_ worth: Float) -> Float {
        let octaves = FastMath.nearestByte(FastMath.log2(worth) * 8 + 128)
        return worth < 0x1p-16 ? 0 : octaves
    }

    /// Replaces worths by these bytes as numbers.
    @inline(__always)
    static func octaves(_ worths: UnsafeMutablePointer<Float>, count: Int) {
        var index = 0
        while index < count {
            worths[index] = level(worths[index])
            index &+= 1
        }
    }
}

/// What an object is worth to ``GreedyDual``, beside the request as of which it was: the older goes first among equals. 8 bytes.
struct Worth: BitwiseCopyable, Comparable {
    var priority: Float
    var stamp: UInt32

    @inline(__always)
    static func < (left: Worth, right: Worth) -> Bool {
        left.priority < right.priority || (left.priority == right.priority && left.stamp < right.stamp)
    }
}
