import HalcyonSupport

/// The length over which the values of a series depend on each other.
enum BlockLength {
    /// Returns the block length of the circular block bootstrap after Politis and White. It is computed from the
    /// autocovariances up to the lag beyond which they do not differ from 0, weighted by a flat-top window. Source:
    /// "Automatic block-length selection for the dependent bootstrap", 2004, as corrected with Patton, 2009.
    ///
    /// The result is at least the cube root of the series' length, the rate without other knowledge. It is at most a
    /// quarter of the length. O(n^1.5).
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
