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
        let extra = noise.draws(draws.count, seed: bootstrap.seed)
        // A draw about the requests that have units says how far the difference strays, not where it lies: a few
        // requests may have none.
        let draws = zip(draws, extra).map { $0 - centre + difference + $1 }
        let units = bootstrap.effectiveUnits
        let family = 1 - (1 - confidence) / Double(max(1, cells))
        self.difference = difference
        interval = Interval(ofDraws: draws, confidence: confidence, effectiveUnits: units)
        familyInterval = Interval(ofDraws: draws, confidence: family, effectiveUnits: units)
        let mean = draws.reduce(0, +) / Double(max(1, draws.count))
        let variance = draws.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(max(1, draws.count - 1))
        let degrees = max(1, units - 1)
        let reach =
            Distributions.studentQuantile(1 - (1 - family) / 2, degrees: degrees)
            + Distributions.normalQuantile(0.8)
        let deviation = variance.squareRoot()
        detectable = deviation > 1e-12 ? reach * deviation : nil
    }
}
