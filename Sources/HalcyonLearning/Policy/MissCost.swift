/// The objective of a cache.
enum Objective: String, CaseIterable, Sendable {
    /// To save as many requests as possible.
    case objects
    /// To save as many bytes as possible.
    case bytes
    /// To save as much as possible of the cost of misses: a price per miss plus a price per byte.
    case cost
}

/// The cost of a miss, up to a common factor, which changes no decision: 1 per byte plus a fixed overhead.
///
/// The value of an object is its request rate times the cost of its miss, per byte of its size. Requests are modelled as a
/// Poisson process: an object that is requested within the label window with probability p is requested −ln(1 − p) times
/// in it on average. A probability saturates for objects that are requested all the time, but small objects are kept for
/// much longer than the window.
struct MissCost: Sendable, Equatable {
    /// The overhead of a miss in bytes: 0 if only bytes count, infinite if only misses count.
    let overhead: Float

    /// Creates the cost of a miss. One of both prices must be more than 0.
    ///
    /// - Parameters:
    ///   - perMiss: the price of every miss.
    ///   - perByte: the additional price of each byte of the missed object.
    init(perMiss: Double, perByte: Double) {
        overhead = perByte > 0 ? Float(perMiss / perByte) : .infinity
    }

    /// Returns the binary logarithm of the cost of a miss per byte of the object.
    @inline(__always)
    func density(logSize: Float) -> Float {
        if overhead == .infinity { return -logSize }
        return overhead == 0 ? 0 : FastMath.log2(overhead + FastMath.exp2(logSize)) - logSize
    }

    /// Returns the cost of a miss of an object of this size, up to the factor.
    @inline(__always)
    func cost(size: Int) -> Float {
        overhead == .infinity ? 1 : overhead + Float(max(size, 0))
    }

    /// Returns the binary logarithm of the value of an object per byte of its size.
    @inline(__always)
    func value(logit: Float, logSize: Float) -> Float { FastMath.log2Softplus(logit) + density(logSize: logSize) }

    /// Returns the network's score of an object: ``value(logit:logSize:)``. With uniform sizes it is the binary logarithm of
    /// the probability, which gives the same order for less work.
    @inline(__always)
    func score(logit: Float, logSize: Float, usesUniformSizes: Bool) -> Float {
        usesUniformSizes ? FastMath.log2Sigmoid(logit) : value(logit: logit, logSize: logSize)
    }
}
