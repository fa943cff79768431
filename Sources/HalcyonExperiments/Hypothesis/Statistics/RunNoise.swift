import HalcyonSupport
import HalcyonTrace

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

    /// Returns draws from Student's t, scaled by ``deviation``. They are made by Bailey's polar method ("Polar
    /// generation of random variates with the t-distribution", 1994). Each has its mirror image, so that the mean is
    /// 0. O(count).
    ///
    /// - Parameters:
    ///   - count: the number of draws.
    ///   - seed: the seed of the draws.
    func draws(_ count: Int, seed: UInt64) -> [Double] {
        guard deviation > 0 else { return Array(repeating: 0, count: count) }
        var generator = SeededGenerator(seed: seed, stream: 0x7015E)
        var draws: [Double] = []
        draws.reserveCapacity(count + 1)
        while draws.count < count {
            let (u, v) = (2 * generator.unit() - 1, 2 * generator.unit() - 1)
            let square = u * u + v * v
            guard square > 0, square <= 1 else { continue }
            let stretch =
                degrees.isFinite
                ? degrees * (PortableMath.pow(square, -2 / degrees) - 1) : -2 * PortableMath.ln(square)
            let draw = deviation * u * (stretch / square).squareRoot()
            draws += [draw, -draw]
        }
        draws.removeLast(draws.count - count)
        // The draws of users and the draws of runs must be independent.
        for index in stride(from: count - 1, to: 0, by: -1) { draws.swapAt(index, generator.below(index + 1)) }
        return draws
    }

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
