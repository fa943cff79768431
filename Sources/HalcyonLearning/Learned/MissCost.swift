/// What a miss costs, as far as it matters to decisions, which a common factor does not change: a byte (or whatever an
/// object's size is counted in) costs 1, and the miss itself as much as some bytes.
///
/// An object is worth how often it is asked for times the cost of its miss, for each byte of room that it takes. Where requests come by
/// chance at a steady rate, one that is asked for within the horizon with the chance p is asked for −ln(1 − p) times in it on average:
/// a chance says no more of what is asked for all the time, but small objects are kept for much longer than the horizon.
struct MissCost: Sendable, Equatable {
    /// How many bytes cost as much as a miss itself: 0 where only bytes count, infinite where only misses do.
    let overhead: Float

    /// - Parameters:
    ///   - perMiss: what every miss costs.
    ///   - perByte: what each byte of the missed object costs besides; one of both is more than 0.
    init(perMiss: Double, perByte: Double) {
        overhead = perByte > 0 ? Float(perMiss / perByte) : .infinity
    }

    /// The binary logarithm of the cost of a miss for each byte of the object.
    @inline(__always)
    func density(logSize: Float) -> Float {
        if overhead == .infinity { return -logSize }
        return overhead == 0 ? 0 : FastMath.log2(overhead + FastMath.exp2(logSize)) - logSize
    }

    /// The binary logarithm of what an object is worth for each byte of room that it takes.
    @inline(__always)
    func value(logit: Float, logSize: Float) -> Float { FastMath.log2Softplus(logit) + density(logSize: logSize) }

    /// What the network gives an object: ``value(logit:logSize:)``, or where all cost the same the binary logarithm of its chance, which
    /// orders them as that does, for less work.
    @inline(__always)
    func score(logit: Float, logSize: Float, costsDiffer: Bool) -> Float {
        costsDiffer ? value(logit: logit, logSize: logSize) : FastMath.log2Sigmoid(logit)
    }
}
