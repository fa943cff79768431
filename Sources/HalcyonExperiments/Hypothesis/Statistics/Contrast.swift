/// A paired difference of hit ratios, with how sure it is.
public struct Contrast: Sendable, Codable, Equatable {
    /// The difference of the hit ratios, each a mean over seeds (and permutations).
    public var difference: Double
    /// Where it may lie, at the stated confidence for this difference alone.
    public var interval: Interval
    /// Where it may lie, at the stated confidence for all cells of the trace together (Bonferroni).
    public var familyInterval: Interval
    /// The smallest difference that data as noisy as these show four times in five; `nil` where nothing varies, neither from
    /// run to run nor from unit to unit, so that nothing could show.
    public var detectable: Double?

    /// What draws say of a difference. O(n log n).
    ///
    /// - Parameters:
    ///   - difference: what was measured.
    ///   - draws: bootstrap draws of it.
    ///   - noise: what chance in the runs adds, which the draws do not show.
    ///   - bootstrap: what the draws were made by.
    ///   - confidence: such as 0.95.
    ///   - cells: how many cells the family interval must hold for.
    init(
        _ difference: Double, draws: [Double], noise: RunNoise, bootstrap: Bootstrap, confidence: Double, cells: Int
    ) {
        let centre = draws.reduce(0, +) / Double(max(1, draws.count))
        let variance =
            draws.reduce(0) { $0 + ($1 - centre) * ($1 - centre) } / Double(max(1, draws.count - 1))
        let extra = noise.draws(draws.count, seed: bootstrap.seed)
        // A draw about the requests that have units says how far the difference strays, not where it lies: a few
        // requests may have none.
        let draws = zip(draws, extra).map { $0 - centre + difference + $1 }
        let units = bootstrap.effectiveUnits
        let family = 1 - (1 - confidence) / Double(max(1, cells))
        self.difference = difference
        interval = Interval(ofDraws: draws, confidence: confidence, effectiveUnits: units)
        familyInterval = Interval(ofDraws: draws, confidence: family, effectiveUnits: units)
        detectable = Self.detectable(variance: variance, units: units, noise: noise, confidence: family)
    }

    /// The smallest difference that is shown four times in five: the quantile of Student's t that must be exceeded, and 0.84, standard
    /// errors; at most a whole hit ratio, which is the most there can be. `nil` where nothing varies.
    ///
    /// The standard error is that of units and runs together, whose degrees of freedom are Satterthwaite's ("An approximate
    /// distribution of estimates of variance components", 1946). The draws of both together would not do: t with two degrees
    /// has no variance.
    ///
    /// - Parameters:
    ///   - variance: of draws of units.
    ///   - units: how many independent units were drawn from.
    ///   - noise: what chance in the runs adds.
    ///   - confidence: at which it is to show.
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
