/// An estimate with where it may lie.
public struct Interval: Sendable, Codable, Equatable {
    /// The lower end.
    public var low: Double
    /// The upper end.
    public var high: Double

    /// An interval.
    public init(low: Double, high: Double) {
        self.low = low
        self.high = high
    }

    /// The percentile interval of bootstrap draws, widened for small numbers of units: Hesterberg's expanded percentile
    /// interval ("What teachers should know about the bootstrap", 2015), which for a mean of normal data has the
    /// width of Student's. O(n log n).
    ///
    /// - Parameters:
    ///   - draws: at least one.
    ///   - confidence: such as 0.95.
    ///   - effectiveUnits: how many independent units were drawn from.
    init(ofDraws draws: [Double], confidence: Double, effectiveUnits: Double) {
        let sorted = draws.sorted()
        let tail = (1 - confidence) / 2
        let units = max(2, effectiveUnits)
        let t = Distributions.studentQuantile(1 - tail, degrees: units - 1)
        let expanded = Distributions.normalProbability(-t * (units / (units - 1)).squareRoot())
        low = Self.quantile(sorted, expanded)
        high = Self.quantile(sorted, 1 - expanded)
    }

    /// The quantile of sorted values, between neighbours by proportion.
    static func quantile(_ sorted: [Double], _ probability: Double) -> Double {
        // The (n + 1) p rule keeps the tails outside what a finite number of draws can show.
        let place = min(Double(sorted.count - 1), max(0, probability * Double(sorted.count + 1) - 1))
        let below = Int(place)
        let above = min(sorted.count - 1, below + 1)
        return sorted[below] + (place - Double(below)) * (sorted[above] - sorted[below])
    }
}
