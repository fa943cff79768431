import HalcyonSupport

/// The variance of ratios of sums over units: hits by requests, summed over users or over time blocks.
///
/// An interval is the ratio plus and minus a quantile of Student's t with ``degrees``, in standard errors. It needs no
/// random draws, so its tail is not bounded by a number of draws.
struct UnitVariance {
    /// The minimum and the maximum number of cosine transforms of a series of time blocks.
    static let transformBounds = 4...10

    /// The requests of each unit.
    let weights: [Double]
    /// The number of cosine transforms of a series of time blocks. Nil if units are independent.
    let transforms: Int?
    /// The degrees of freedom of the variance, at least 1.
    let degrees: Double

    private let total: Double
    private let cosines: [[Double]]

    /// Creates the variance over independent units, such as users. It is that of the delete-one jackknife (Efron and
    /// Stein, "The jackknife estimate of variance", 1981), which for equal weights is the variance of Student's t.
    ///
    /// The degrees of freedom are those of a sum of squares whose variances are proportional to the squared weights
    /// (Satterthwaite 1946), less one: (Σw²)² / Σw⁴ − 1. That is the number of units less one for equal weights, and
    /// less if a few users send most of the requests.
    init(independent weights: [Double]) {
        self.weights = weights
        transforms = nil
        cosines = []
        total = weights.reduce(0, +)
        let squares = weights.reduce(0) { $0 + $1 * $1 }
        let fourth = weights.reduce(0) { $0 + $1 * $1 * $1 * $1 }
        degrees = max(1, fourth > 0 ? squares * squares / fourth - 1 : 1)
    }

    /// Creates the variance over adjacent time blocks that depend on each other. It is the mean square of the first
    /// cosine transforms of the series. These are nearly independent and normal, so Student's t has as many degrees of
    /// freedom as there are transforms. Source: Lazarus, Lewis, Stock and Watson, "HAR inference: recommendations for
    /// practice", 2018, which recommends 10 for 128 blocks.
    ///
    /// - Parameters:
    ///   - weights: the requests of each block; all equal, but for the last.
    ///   - dependence: the number of blocks over which the series depends on itself. The number of transforms is the
    ///     number of blocks by this length, in ``transformBounds``.
    init(series weights: [Double], dependence: Int) {
        let count = weights.count
        let bounds = Self.transformBounds
        let transforms = min(count - 1, max(bounds.lowerBound, min(bounds.upperBound, count / max(1, dependence))))
        self.weights = weights
        self.transforms = transforms
        total = weights.reduce(0, +)
        degrees = Double(max(1, transforms))
        cosines =
            transforms < 1
            ? []
            : (1...transforms).map { order in
                (0..<count).map { Self.cosine(order * (2 * $0 + 1), ofHalfTurns: 2 * count) }
            }
    }

    /// The effective number of independent units of equal weight: ``degrees`` plus one.
    var effectiveUnits: Double { degrees + 1 }

    /// Returns the variance of the ratio of a series' sum to the sum of the weights. O(units × transforms).
    func variance(of series: [Double]) -> Double { covariance(series, series) }

    /// Returns the covariance of the ratios of two series. O(units × transforms).
    func covariance(_ first: [Double], _ second: [Double]) -> Double {
        guard total > 0 else { return 0 }
        let (one, two) = (residuals(first), residuals(second))
        if transforms != nil {
            let scale = 2 / Double(max(1, cosines.count)) / (total * total)
            return cosines.reduce(0) { sum, wave in
                let left = zip(wave, one).reduce(0) { $0 + $1.0 * $1.1 }
                let right = zip(wave, two).reduce(0) { $0 + $1.0 * $1.1 }
                return sum + left * right * scale
            }
        }
        let active = weights.count { $0 > 0 }
        guard active > 1 else { return 0 }
        var sum = 0.0
        for unit in weights.indices {
            // The ratio without this unit, minus the ratio with it, is the residual by the remaining weight.
            let rest = total - weights[unit]
            if rest > 0 { sum += one[unit] * two[unit] / (rest * rest) }
        }
        return sum * Double(active - 1) / Double(active)
    }

    private func residuals(_ series: [Double]) -> [Double] {
        let ratio = series.reduce(0, +) / total
        return zip(series, weights).map { $0 - ratio * $1 }
    }

    /// Returns Kish's effective number of units: the number of units of equal weight with the same information.
    /// O(units). Source: Survey Sampling, 1965.
    static func effectiveUnits(_ weights: [Double]) -> Double {
        let sum = weights.reduce(0, +)
        let squares = weights.reduce(0) { $0 + $1 * $1 }
        return squares > 0 ? sum * sum / squares : 0
    }

    /// Returns cos(π · numerator / halfTurns), the same on every machine. O(1).
    private static func cosine(_ numerator: Int, ofHalfTurns halfTurns: Int) -> Double {
        // To a quarter turn, where the power series converges quickly.
        var part = numerator % (2 * halfTurns)
        if part > halfTurns { part = 2 * halfTurns - part }
        let isNegative = 2 * part > halfTurns
        if isNegative { part = halfTurns - part }
        let angle = Double.pi * Double(part) / Double(halfTurns)
        var (term, sum) = (1.0, 1.0)
        for power in 1...12 {
            term *= -angle * angle / Double((2 * power - 1) * 2 * power)
            sum += term
        }
        return isNegative ? -sum : sum
    }
}
