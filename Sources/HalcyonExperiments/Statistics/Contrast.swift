import HalcyonSupport

/// A paired difference of hit ratios, with its intervals.
package struct Contrast: Sendable, Codable, Equatable {
    /// The difference of the hit ratios, each a mean over seeds (and permutations).
    package var difference: Double
    /// The confidence interval of this difference alone.
    package var interval: Interval
    /// The confidence interval for all cells of the trace together (Bonferroni).
    package var familyInterval: Interval
    /// The standard error of ``difference``, over units and runs together.
    package var standardError: Double
    /// The degrees of freedom of ``standardError``. Nil if nothing varies.
    package var degrees: Double?
    /// The smallest difference that data with this noise show with a probability of 80 %. Nil if nothing varies,
    /// neither between runs nor between units.
    package var detectable: Double?

    /// Creates the intervals of a difference: Student's t, with the standard error of units and runs together.
    ///
    /// - Parameters:
    ///   - difference: the measured difference.
    ///   - series: the difference in hits of each unit.
    ///   - units: the variance over units.
    ///   - noise: the noise of the runs, which the series does not include.
    ///   - confidence: the confidence level, such as 0.95.
    ///   - cells: the number of cells that the family interval must hold for.
    init(
        _ difference: Double, series: [Double], units: UnitVariance, noise: RunNoise, confidence: Double, cells: Int
    ) {
        let error = StandardError(variance: units.variance(of: series), degrees: units.degrees, noise: noise)
        let family = 1 - (1 - confidence) / Double(max(1, cells))
        self.difference = difference
        interval = error.interval(about: difference, confidence: confidence)
        familyInterval = cells <= 1 ? interval : error.interval(about: difference, confidence: family)
        standardError = error.deviation
        degrees = error.isZero ? nil : error.degrees
        detectable = error.detectable(confidence: family)
    }
}

/// The standard error of a difference, from the variance over units and the noise of the runs.
///
/// The degrees of freedom are those of Satterthwaite ("An approximate distribution of estimates of variance
/// components", 1946).
struct StandardError {
    let deviation: Double
    let degrees: Double

    /// Adds two independent variances.
    ///
    /// - Parameters:
    ///   - variance: the variance over units.
    ///   - unitDegrees: its degrees of freedom.
    ///   - noise: the noise of the runs.
    init(variance: Double, degrees unitDegrees: Double, noise: RunNoise) {
        self.init(adding: [
            (variance: max(0, variance), degrees: max(1, unitDegrees)),
            (variance: noise.deviation * noise.deviation, degrees: max(1, noise.degrees)),
        ])
    }

    /// Adds independent variances.
    ///
    /// - Parameter parts: each variance with its degrees of freedom.
    init(adding parts: [(variance: Double, degrees: Double)]) {
        let sum = parts.reduce(0) { $0 + $1.variance }
        deviation = sum.squareRoot()
        let weighted = parts.reduce(0) { $0 + $1.variance * $1.variance / $1.degrees }
        degrees = weighted > 0 ? sum * sum / weighted : .infinity
    }

    /// Whether nothing varies, neither between units nor between runs.
    var isZero: Bool { deviation <= 1e-12 }

    /// Returns the quantile of Student's t for an interval of both tails.
    func quantile(confidence: Double) -> Double {
        let probability = 1 - (1 - confidence) / 2
        return degrees < 1e6
            ? Distributions.studentQuantile(probability, degrees: degrees)
            : Distributions.normalQuantile(probability)
    }

    /// Returns the two-sided p-value of a difference under Student's t: the probability of one at least as large if
    /// there is none. It is 1 for no difference, and 0 for a difference that does not vary.
    func pValue(of difference: Double) -> Double {
        guard !isZero else { return abs(difference) <= 1e-12 ? 1 : 0 }
        let tail = -abs(difference) / deviation
        return degrees < 1e6
            ? min(1, 2 * Distributions.studentProbability(tail, degrees: degrees))
            : min(1, 2 * Distributions.normalProbability(tail))
    }

    /// Returns the interval about a value.
    func interval(about value: Double, confidence: Double) -> Interval {
        guard !isZero else { return Interval(low: value, high: value) }
        let width = quantile(confidence: confidence) * deviation
        return Interval(low: value - width, high: value + width)
    }

    /// Returns the smallest difference that is shown with a probability of 80 %; `nil` if nothing varies. It is the
    /// critical quantile of Student's t plus 0.84, in standard errors, and at most 1, the largest possible hit ratio.
    ///
    /// - Parameter confidence: the confidence level at which the difference is to be shown.
    func detectable(confidence: Double) -> Double? {
        guard !isZero else { return nil }
        return min(1, (quantile(confidence: confidence) + Distributions.normalQuantile(0.8)) * deviation)
    }
}
