import HalcyonSupport
import HalcyonTrace

/// A bootstrap over units, drawn with replacement. Each draw gives the ratios of sums of several series. All series
/// use the same draws, so that comparisons stay paired.
///
/// Sources: Efron and Tibshirani, An Introduction to the Bootstrap, 1993; circular blocks after Politis and Romano,
/// "A circular block-resampling procedure for stationary data", 1992.
struct Bootstrap {
    /// The requests of each unit.
    let weights: [Double]
    /// The number of adjacent units that are drawn together: 1 if units are independent.
    let blockLength: Int
    /// The number of draws.
    let replicates: Int
    /// The seed of the draws.
    let seed: UInt64

    /// Returns the sum of each series by the sum of the weights, for each draw. O(replicates × units × series).
    ///
    /// - Parameter series: a number for each unit.
    func ratios(_ series: [[Double]]) -> [[Double]] {
        let units = weights.count
        var generator = SeededGenerator(seed: seed, stream: 0xB007)
        var results = series.map { _ in [Double]() }
        for index in results.indices { results[index].reserveCapacity(replicates) }
        // The values of one unit are adjacent, so that each draw reads one place in memory.
        let width = series.count + 1
        var table = [Double](repeating: 0, count: units * width)
        for unit in 0..<units {
            table[unit * width] = weights[unit]
            for (index, values) in series.enumerated() { table[unit * width + 1 + index] = values[unit] }
        }
        var sums = [Double](repeating: 0, count: width)
        for _ in 0..<replicates {
            for index in 0..<width { sums[index] = 0 }
            var drawn = 0
            while drawn < units {
                var unit = generator.below(units)
                for _ in 0..<min(blockLength, units - drawn) {
                    for index in 0..<width { sums[index] += table[unit * width + index] }
                    unit = unit + 1 == units ? 0 : unit + 1
                    drawn += 1
                }
            }
            for index in 0..<series.count {
                results[index].append(sums[0] > 0 ? sums[index + 1] / sums[0] : 0)
            }
        }
        return results
    }

    /// The effective number of independent units of equal weight: Kish's effective number (Survey Sampling, 1965),
    /// divided by the block length. O(units).
    var effectiveUnits: Double { Self.effectiveUnits(weights) / Double(blockLength) }

    /// Returns Kish's effective number of units: the number of units of equal weight with the same information.
    /// O(units).
    static func effectiveUnits(_ weights: [Double]) -> Double {
        let sum = weights.reduce(0, +)
        let squares = weights.reduce(0) { $0 + $1 * $1 }
        return squares > 0 ? sum * sum / squares : 0
    }
}

/// A confidence interval.
public struct Interval: Sendable, Codable, Equatable {
    /// The lower end.
    public var low: Double
    /// The upper end.
    public var high: Double

    /// Creates an interval.
    public init(low: Double, high: Double) {
        self.low = low
        self.high = high
    }

    /// Creates the percentile interval of bootstrap draws, expanded for small numbers of units. This is Hesterberg's
    /// expanded percentile interval ("What teachers should know about the bootstrap", 2015). For a mean of normal
    /// data it has the width of Student's interval. O(n log n).
    ///
    /// - Parameters:
    ///   - draws: the draws, at least one.
    ///   - confidence: the confidence level, such as 0.95.
    ///   - effectiveUnits: the number of independent units that were drawn from.
    init(ofDraws draws: [Double], confidence: Double, effectiveUnits: Double) {
        let sorted = draws.sorted()
        let tail = (1 - confidence) / 2
        let units = max(2, effectiveUnits)
        let t = Distributions.studentQuantile(1 - tail, degrees: units - 1)
        let expanded = Distributions.normalProbability(-t * (units / (units - 1)).squareRoot())
        low = Self.quantile(sorted, expanded)
        high = Self.quantile(sorted, 1 - expanded)
    }

    /// Returns the quantile of sorted values, interpolated between adjacent values.
    static func quantile(_ sorted: [Double], _ probability: Double) -> Double {
        // The (n + 1) p rule extends the tails to what a finite number of draws can show.
        let place = min(Double(sorted.count - 1), max(0, probability * Double(sorted.count + 1) - 1))
        let below = Int(place)
        let above = min(sorted.count - 1, below + 1)
        return sorted[below] + (place - Double(below)) * (sorted[above] - sorted[below])
    }
}

/// The block length of a block bootstrap that keeps the dependence of a series.
enum BlockLength {
    /// Returns the length for the circular block bootstrap after Politis and White. It is computed from the
    /// autocovariances up to the lag beyond which they do not differ from 0, weighted by a flat-top window. Source:
    /// "Automatic block-length selection for the dependent bootstrap", 2004, as corrected with Patton, 2009.
    ///
    /// The result is at least the cube root of the series' length, the rate without other knowledge. It is at most a
    /// quarter of the length, so that at least four blocks are drawn. O(n^1.5).
    static func automatic(_ series: [Double]) -> Int {
        let n = series.count
        guard n >= 8 else { return 1 }
        let least = Int(PortableMath.cbrt(Double(n)).rounded(.up))
        let most = max(least, n / 4)
        let mean = series.reduce(0, +) / Double(n)
        func covariance(_ lag: Int) -> Double {
            var sum = 0.0
            for index in 0..<(n - lag) { sum += (series[index] - mean) * (series[index + lag] - mean) }
            return sum / Double(n)
        }
        let variance = covariance(0)
        guard variance > 0 else { return least }

        let quiet = max(5, Int(PortableMath.log10(Double(n)).squareRoot()))
        let lastLag = min(n - 1, Int(Double(n).squareRoot().rounded(.up)) + quiet)
        let correlations = (0...lastLag).map { covariance($0) / variance }
        let threshold = 2 * (PortableMath.log10(Double(n)) / Double(n)).squareRoot()
        let significant = (1...lastLag).last { abs(correlations[$0]) > threshold }
        let firstQuiet = (1...lastLag).first { lag in
            lag + quiet <= lastLag + 1 && (lag..<lag + quiet).allSatisfy { abs(correlations[$0]) < threshold }
        }
        let cutoff = firstQuiet.map { $0 - 1 } ?? significant ?? 1
        let window = min(lastLag, 2 * max(1, cutoff))
        var (spectrum, slope) = (1.0, 0.0)
        for lag in 1...window {
            let share = Double(lag) / Double(window)
            let weight = share <= 0.5 ? 1 : 2 * (1 - share)
            spectrum += 2 * weight * correlations[lag]
            slope += 2 * weight * Double(lag) * correlations[lag]
        }
        guard spectrum > 0 else { return most }
        let ratio = slope * slope / (4.0 / 3 * spectrum * spectrum)
        let length = Int(PortableMath.cbrt(2 * ratio * Double(n)).rounded(.up))
        return min(most, max(least, length))
    }
}
