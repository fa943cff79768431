import HalcyonSupport

/// A paired difference of hit ratios, with its intervals.
public struct Contrast: Sendable, Codable, Equatable {
    /// The difference of the hit ratios, each a mean over seeds (and permutations).
    public var difference: Double
    /// The confidence interval of this difference alone.
    public var interval: Interval
    /// The confidence interval for all cells of the trace together (Bonferroni).
    public var familyInterval: Interval
    /// The smallest difference that data with this noise show with a probability of 80 %. Nil if nothing varies,
    /// neither between runs nor between units.
    public var detectable: Double?

    /// Creates the intervals of a difference from bootstrap draws. O(n log n).
    ///
    /// - Parameters:
    ///   - difference: the measured difference.
    ///   - draws: the bootstrap draws of the difference.
    ///   - noise: the noise of the runs, which the draws do not include.
    ///   - bootstrap: the bootstrap that made the draws.
    ///   - confidence: the confidence level, such as 0.95.
    ///   - cells: the number of cells that the family interval must hold for.
    init(
        _ difference: Double, draws: [Double], noise: RunNoise, bootstrap: Bootstrap, confidence: Double, cells: Int
    ) {
        let centre = draws.reduce(0, +) / Double(max(1, draws.count))
        let variance =
            draws.reduce(0) { $0 + ($1 - centre) * ($1 - centre) } / Double(max(1, draws.count - 1))
        let extra = noise.draws(draws.count, seed: bootstrap.seed)
        // The draws cover the requests that have units, and a few requests may have none. The draws therefore give
        // the spread of the difference, but not its centre.
        let draws = zip(draws, extra).map { $0 - centre + difference + $1 }
        let units = bootstrap.effectiveUnits
        let family = 1 - (1 - confidence) / Double(max(1, cells))
        self.difference = difference
        interval = Interval(ofDraws: draws, confidence: confidence, effectiveUnits: units)
        familyInterval = Interval(ofDraws: draws, confidence: family, effectiveUnits: units)
        detectable = Self.detectable(variance: variance, units: units, noise: noise, confidence: family)
    }

    /// Returns the smallest difference that is shown with a probability of 80 %; `nil` if nothing varies. It is the
    /// critical quantile of Student's t plus 0.84, in standard errors, and at most 1, the largest possible hit ratio.
    ///
    /// The standard error combines units and runs, with Satterthwaite's degrees of freedom ("An approximate
    /// distribution of estimates of variance components", 1946). The variance of the combined draws cannot be used: t
    /// with two degrees has no variance.
    ///
    /// - Parameters:
    ///   - variance: the variance of draws of units.
    ///   - units: the number of independent units that were drawn from.
    ///   - noise: the noise of the runs.
    ///   - confidence: the confidence level at which the difference is to be shown.
    static func detectable(variance: Double, units: Double, noise: RunNoise, confidence: Double) -> Double? {
        let parts = [
            (variance: variance, degrees: max(1, units - 1)),
            (variance: noise.deviation * noise.deviation, degrees: max(1, noise.degrees)),
        ]
        let sum = parts.reduce(0) { $0 + $1.variance }
        guard sum.squareRoot() > 1e-12 else { return nil }
        let degrees = sum * sum / parts.reduce(0) { $0 + $1.variance * $1.variance / $1.degrees }
        let tail = (1 - confidence) / 2
        let quantile =
            degrees < 1e6
            ? Distributions.studentQuantile(1 - tail, degrees: degrees) : Distributions.normalQuantile(1 - tail)
        return min(1, (quantile + Distributions.normalQuantile(0.8)) * sum.squareRoot())
    }
}
