import HalcyonTrace

/// Draws units with replacement, and for each draw gives the ratio of sums of several series: all of them from the very
/// same draws, so that what is compared stays paired.
///
/// Efron and Tibshirani, An Introduction to the Bootstrap, 1993; blocks in a circle after Politis and Romano, "A
/// circular block-resampling procedure for stationary data", 1992.
struct Bootstrap {
    /// The requests of each unit.
    let weights: [Double]
    /// How many neighbouring units are drawn together: 1 where units are independent of each other.
    let blockLength: Int
    /// How many draws.
    let replicates: Int
    /// The seed of the draws.
    let seed: UInt64

    /// For each series, its sum by the sum of the weights, draw by draw. O(replicates × units × series).
    ///
    /// - Parameter series: a number for each unit.
    func ratios(_ series: [[Double]]) -> [[Double]] {
        let units = weights.count
        var generator = SeededGenerator(seed: seed, stream: 0xB007)
        var results = series.map { _ in [Double]() }
        for index in results.indices { results[index].reserveCapacity(replicates) }
        // Unit by unit, what belongs to it lies together: one draw touches one place in memory.
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

    /// How many independent units of equal weight the units are worth: Kish's effective number (Survey Sampling, 1965),
    /// by the length of a block. O(units).
    var effectiveUnits: Double { Self.effectiveUnits(weights) / Double(blockLength) }

    /// Kish's effective number of units: how many of equal weight would tell as much. O(units).
    static func effectiveUnits(_ weights: [Double]) -> Double {
        let sum = weights.reduce(0, +)
        let squares = weights.reduce(0) { $0 + $1 * $1 }
        return squares > 0 ? sum * sum / squares : 0
    }
}
