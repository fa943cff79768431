/// The share of the gap from LRU to the optimum that the learner closes, with Fieller's interval.
///
/// The share is a ratio of two differences that vary together. Fieller's interval holds the shares θ for which gain
/// − θ · gap does not differ from 0. It is therefore right for few units, too, and need not be symmetric. Source:
/// Fieller, "Some problems in interval estimation", 1954.
struct GapShare {
    /// The share, where 1 is the whole gap.
    let share: Double
    /// The confidence interval. Nil if the data do not show that there is a gap: every share is then possible.
    let interval: Interval?

    /// Creates the share. Nil without a gap. O(units).
    ///
    /// - Parameters:
    ///   - gain: the learner's hit ratio minus LRU's.
    ///   - gap: the optimum's hit ratio minus LRU's.
    ///   - gains: the gain in hits of each unit.
    ///   - gaps: the gap in hits of each unit.
    ///   - noise: the noise of the learner's runs.
    init?(
        gain: Double, gap: Double, gains: [Double], gaps: [Double], units: UnitVariance, noise: RunNoise,
        confidence: Double
    ) {
        guard gap > 0 else { return nil }
        share = gain / gap
        let ofGain = units.variance(of: gains)
        let ofGap = units.variance(of: gaps)
        let ofBoth = units.covariance(gains, gaps)
        let ofRuns = noise.deviation * noise.deviation
        // The degrees of freedom are those at the measured share.
        let error = StandardError(
            variance: ofGain - 2 * share * ofBoth + share * share * ofGap, degrees: units.degrees, noise: noise)
        guard !error.isZero else {
            interval = Interval(low: share, high: share)
            return
        }
        let t = error.quantile(confidence: confidence)
        // (gain − θ gap)² = t² (ofGain + ofRuns − 2 θ ofBoth + θ² ofGap) is quadratic in θ.
        let a = gap * gap - t * t * ofGap
        let b = gain * gap - t * t * ofBoth
        let c = gain * gain - t * t * (ofGain + ofRuns)
        let root = b * b - a * c
        guard a > 0, root >= 0 else {
            interval = nil
            return
        }
        interval = Interval(low: (b - root.squareRoot()) / a, high: (b + root.squareRoot()) / a)
    }
}
