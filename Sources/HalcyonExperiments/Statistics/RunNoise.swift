/// The spread of the mean of a learner's runs that is due to chance alone: the seeds, and the permutations of labels.
///
/// Drawing other users does not change the runs, so this noise is added to every interval about runs of the learner.
struct RunNoise {
    /// The standard deviation, in hit ratio.
    let deviation: Double
    /// The degrees of freedom of the estimate.
    let degrees: Double

    /// The noise of a run without randomness.
    static let none = RunNoise(deviation: 0, degrees: .infinity)

    /// Returns the noise of one run, pooled over arms with several seeds; `nil` if there is no such arm.
    ///
    /// - Parameter ratios: the hit ratios of each arm, by seed.
    static func ofRuns(_ ratios: [[Double]]) -> RunNoise? {
        let degrees = ratios.reduce(0) { $0 + $1.count - 1 }
        guard degrees > 0 else { return nil }
        let sum = ratios.reduce(0) { $0 + squares($1) }
        return RunNoise(deviation: (sum / Double(degrees)).squareRoot(), degrees: Double(degrees))
    }

    /// Returns the spread of values about their mean.
    ///
    /// - Parameter values: at least two.
    static func spread(_ values: [Double]) -> RunNoise {
        let degrees = Double(max(1, values.count - 1))
        return RunNoise(deviation: (squares(values) / degrees).squareRoot(), degrees: degrees)
    }

    /// Returns the noise with its deviation multiplied.
    func scaled(by factor: Double) -> RunNoise { RunNoise(deviation: deviation * factor, degrees: degrees) }

    private static func squares(_ values: [Double]) -> Double {
        let mean = values.reduce(0, +) / Double(max(1, values.count))
        return values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
    }
}
