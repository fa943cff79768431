import HalcyonEviction

/// The durations of the counted accesses and evictions of a run. They depend on the machine.
///
/// All times are in nanoseconds, without the clock's own overhead. They measure the cache alone: no time includes the
/// fetch of a missed object.
public struct RunTimings: Sendable, Codable, Equatable {
    /// The overhead of the clock, in nanoseconds, which is subtracted from every time.
    public var clock: Double
    /// Accesses that found their object.
    public var hit: TimeDistribution
    /// Accesses that did not find their object, including admission, evictions and insertion.
    public var miss: TimeDistribution
    /// Choices of a victim, each a part of the access that needed the room.
    public var eviction: TimeDistribution

    /// The three kinds by name, in listing order.
    package var kinds: [(name: String, times: TimeDistribution)] {
        [("hit", hit), ("miss", miss), ("eviction", eviction)]
    }

    enum CodingKeys: String, CodingKey {
        case clock = "clockNs"
        case hit, miss, eviction
    }
}

/// A distribution of times, in nanoseconds; all 0 without times.
///
/// Mean and maximum are exact. Percentiles are by the nearest-rank method, and at most 0.2 % too high.
public struct TimeDistribution: Sendable, Codable, Equatable {
    /// The number of measured times.
    public var count: Int
    /// The mean.
    public var mean: Double
    /// The median.
    public var p50: Int
    /// The 90th percentile.
    public var p90: Int
    /// The 99th percentile.
    public var p99: Int
    /// The 99.9th percentile.
    public var p999: Int
    /// The maximum.
    public var max: Int

    /// The figures by column name, in listing order.
    package static var columns: [(name: String, value: @Sendable (TimeDistribution) -> String)] {
        [
            ("count", { "\($0.count)" }), ("mean_ns", { "\($0.mean)" }), ("p50_ns", { "\($0.p50)" }),
            ("p90_ns", { "\($0.p90)" }), ("p99_ns", { "\($0.p99)" }), ("p999_ns", { "\($0.p999)" }),
            ("max_ns", { "\($0.max)" }),
        ]
    }

    enum CodingKeys: String, CodingKey {
        case count
        case mean = "meanNs"
        case p50 = "p50Ns"
        case p90 = "p90Ns"
        case p99 = "p99Ns"
        case p999 = "p999Ns"
        case max = "maxNs"
    }
}

/// Collects the times of the caches of one run.
///
/// Caches record their times in ``times``. Between batches, when no clock runs, they are moved into histograms.
/// Memory: 3 × about 10,000 buckets of 8 bytes, independent of the length of the run.
package final class RunTimer {
    /// The buffer that the caches write their times to.
    let times = CacheTimes()
    private var hits = TimeHistogram()
    private var misses = TimeHistogram()
    private var evictions = TimeHistogram()

    package init() {}

    /// Moves the times recorded since the last call into the histograms, or drops them if they belong to the warm-up.
    func collect(isCounted: Bool) {
        if isCounted {
            hits.add(times.hits)
            misses.add(times.misses)
            evictions.add(times.evictions)
        }
        times.removeAll()
    }

    /// The distributions of all collected times.
    package var timings: RunTimings {
        RunTimings(
            clock: times.clockCost.inSeconds * 1e9, hit: hits.distribution, miss: misses.distribution,
            eviction: evictions.distribution)
    }
}

/// A histogram of times, in nanoseconds.
struct TimeHistogram {
    private var histogram = LogLinearHistogram()
    private var count = 0
    private var sum = 0
    private var largest = 0

    /// Counts non-negative times. O(1) each.
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

    /// The mean, the percentiles and the maximum.
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
