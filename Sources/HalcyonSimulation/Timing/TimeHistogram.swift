/// How often times of each length occurred, in nanoseconds.
struct TimeHistogram {
    private var histogram = LogLinearHistogram()
    private var count = 0
    private var sum = 0
    private var largest = 0

    /// Counts these times, none of which is negative. O(1) each.
    mutating func add(_ times: [Duration]) {
        for time in times {
            let (seconds, attoseconds) = time.components
            let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
            histogram.add(1, at: UInt64(nanoseconds))
            count += 1
            sum += nanoseconds
            largest = max(largest, nanoseconds)
        }
    }

    /// Mean, percentiles and the largest.
    var distribution: TimeDistribution {
        func percentile(_ share: Double) -> Int {
            let rank = (share * Double(count)).rounded(.up)
            return min(largest, Int(clamping: histogram.value(atRank: max(1, rank))))
        }
        return TimeDistribution(
            count: count, mean: count == 0 ? 0 : Double(sum) / Double(count), p50: percentile(0.5),
            p90: percentile(0.9), p99: percentile(0.99), p999: percentile(0.999), max: largest)
    }
}
