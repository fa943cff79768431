import HalcyonSupport

/// The mean over several seeds of one policy at one capacity, with its confidence interval.
public struct SeedMean: Sendable, Codable, Equatable {
    /// The policy as requested, with the parameters set by the user.
    public var label: String
    /// The prefetch policy, with the parameters set by the user. Nil without prefetching.
    public var prefetch: String?
    /// The capacity of the cache, or of each user's cache.
    public var capacity: Int
    /// The capacity as requested: `1%`.
    public var capacityAsked: String
    /// The seeds, at least two.
    public var seeds: [UInt64]
    /// The object hit ratio.
    public var objectHitRatio: Estimate
    /// The byte hit ratio.
    public var byteHitRatio: Estimate

    /// Creates the mean of runs that differ in their seed only; `nil` for fewer than two.
    init?(_ runs: [RunResult]) {
        guard runs.count > 1, let first = runs.first, let object = Estimate(runs.map(\.objectHitRatio)),
            let bytes = Estimate(runs.map(\.byteHitRatio))
        else { return nil }
        label = first.label
        prefetch = first.prefetch?.policy
        capacity = first.capacity
        capacityAsked = first.capacityAsked
        seeds = runs.map(\.seed)
        objectHitRatio = object
        byteHitRatio = bytes
    }
}

/// A mean with its spread.
public struct Estimate: Sendable, Codable, Equatable {
    /// The mean.
    public var mean: Double
    /// The standard deviation of one value, with n − 1 degrees of freedom.
    public var deviation: Double
    /// The half-width of the 95 % confidence interval of the mean, by Student's t with n − 1 degrees of freedom.
    public var margin: Double

    /// Creates the estimate of the mean of independent values; `nil` for fewer than two. O(n).
    package init?(_ values: [Double]) {
        guard values.count > 1 else { return nil }
        let count = Double(values.count)
        // Equal values have exactly no spread, whatever the rounding of their mean.
        let centre = values[0]
        let offset = values.reduce(0) { $0 + ($1 - centre) } / count
        let squares = values.reduce(0) { $0 + ($1 - centre - offset) * ($1 - centre - offset) }
        mean = centre + offset
        deviation = (squares / (count - 1)).squareRoot()
        margin =
            deviation == 0
            ? 0 : Distributions.studentQuantile(0.975, degrees: count - 1) * deviation / count.squareRoot()
    }
}
