import HalcyonSupport

/// The model of AdaptSize: the hit ratio of an LRU cache that admits an object of size s with probability exp(−s/c).
///
/// Each object is a Markov chain of its place in the LRU list. An object that is not requested leaves the cache after the
/// characteristic time T, which follows from the capacity by fixed-point iteration. The hit ratio follows from T by a
/// Padé approximation. See ``AdaptSizeAdmission`` for the source.
struct AdaptSizeModel {
    private static let golden = 0.61803399
    private static let tolerance = 3.0e-8
    private static let mostSteps = 15
    private static let rounds = 20

    private let capacity: Double
    private var rates: [Double] = []
    private var sizes: [Double] = []
    private var probabilities: [Double] = []

    init(capacity: Double) { self.capacity = capacity }

    /// Adds an object.
    mutating func add(rate: Double, size: Double) {
        rates.append(rate)
        sizes.append(size)
    }

    /// Returns the c with the highest hit ratio, or nil if the search meets one without a value. O(objects).
    mutating func bestScale() -> Double? {
        let high = PortableMath.ln(capacity) / PortableMath.ln(2)
        let (r, v) = (Self.golden, 1 - Self.golden)
        var (x0, x1, x2, x3) = (0.0, high, high, high)
        var best = 0.0
        for exponent in stride(from: 2.0, to: high, by: 4) {
            let rate = hitRate(exponent)
            if rate > best { (best, x1) = (rate, exponent) }
        }
        var (h1, h2) = (best, 0.0)
        if x3 - x1 > x1 - x0 {
            x2 = x1 + v * (x3 - x1)
            h2 = hitRate(x2)
        } else {
            (x2, h2) = (x1, h1)
            x1 = x0 + v * (x1 - x0)
            h1 = hitRate(x1)
        }
        for _ in 0..<Self.mostSteps where abs(x3 - x0) > Self.tolerance * (abs(x1) + abs(x2)) {
            if h1.isNaN || h2.isNaN { return nil }
            if h2 > h1 {
                (x0, x1) = (x1, x2)
                x2 = r * x1 + v * x3
                h1 = h2
                h2 = hitRate(x2)
            } else {
                (x3, x2) = (x2, x1)
                x1 = r * x2 + v * x0
                h2 = h1
                h1 = hitRate(x1)
            }
        }
        if h1.isNaN || h2.isNaN { return nil }
        return PortableMath.pow(2, h1 > h2 ? x1 : x2)
    }

    /// Returns the hits an interval for c = 2^`exponent`; NaN if c is so small that the objects with a positive probability
    /// do not fill the cache.
    private mutating func hitRate(_ exponent: Double) -> Double {
        let scale = PortableMath.pow(2, exponent)
        probabilities = sizes.map { PortableMath.exp(-$0 / scale) }
        var sum = 0.0
        for index in rates.indices { sum += rates[index] * probabilities[index] * sizes[index] }
        if sum <= 0 { return 0 }
        var time = capacity / sum
        for _ in 0..<Self.rounds {
            if time > 1e70 { break }
            var used = 0.0
            for index in rates.indices {
                let requests = rates[index] * time
                if requests > 150 {
                    used += sizes[index]
                } else {
                    let odds = probabilities[index] * (PortableMath.exp(requests) - 1)
                    used += sizes[index] * (odds / (1 + odds))
                }
            }
            time = capacity * time / used
        }
        var hits = 0.0
        for index in rates.indices {
            let share = Self.hitRatio(rates[index] * time, probabilities[index])
            hits += rates[index] * share
        }
        return hits
    }

    /// Returns the hit ratio of an object with `x` requests in the characteristic time and admission probability `p`.
    private static func hitRatio(_ x: Double, _ p: Double) -> Double {
        let above = p * x * (840 + 60 * x + 20 * x * x + x * x * x)
        let below =
            840 + 120 * (-3 + 7 * p) * x + 60 * (1 + p) * x * x + 4 * (-1 + 5 * p) * x * x * x + p * x * x * x * x
        if above != 0, below == 0 { return 0 }
        let ratio = above / below
        return ratio < 0 ? 0 : ratio > 1 ? 1 : ratio
    }
}
