import HalcyonEviction

/// How long the counted accesses and evictions of a run took: of the machine and the moment, not of the policy alone.
///
/// Nanoseconds, less the clock's own cost. The fetch of what was missed is in no figure: this is the cache's work alone.
public struct RunTimings: Sendable, Codable, Equatable {
    /// What the clock shows around nothing, which was taken off every time.
    public var clock: Double
    /// Accesses that found their object.
    public var hit: TimeDistribution
    /// Accesses that did not: they ask for admission, have room made and take the object in.
    public var miss: TimeDistribution
    /// Choices of a victim, each a part of the access that needed the room.
    public var eviction: TimeDistribution

    /// The three kinds by name, in the order in which they are listed.
    public var kinds: [(name: String, times: TimeDistribution)] {
        [("hit", hit), ("miss", miss), ("eviction", eviction)]
    }

    enum CodingKeys: String, CodingKey {
        case clock = "clockNs"
        case hit, miss, eviction
    }
}

/// How some times are spread, in nanoseconds; all 0 where there are none.
///
/// The mean and the largest are exact. Percentiles are by the nearest rank, and at most 0.2 % too high.
public struct TimeDistribution: Sendable, Codable, Equatable {
    /// How many were measured.
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
    /// The largest.
    public var max: Int

    /// The figures by the names of their columns, in the order in which they are listed.
    public static var columns: [(name: String, value: @Sendable (TimeDistribution) -> String)] {
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
/// Caches note their times in ``times``; between batches, when no clock runs, they are moved from there into
/// histograms. 3 × some 10,000 buckets of 8 bytes, however long the run.
package final class RunTimer {
    /// Where the caches note their times.
    let times = CacheTimes()
    private var hits = TimeHistogram()
    private var misses = TimeHistogram()
    private var evictions = TimeHistogram()

    package init() {}

    /// Takes what the caches have noted since the last call, and drops it where it was the warm-up's.
    func collect(isCounted: Bool) {
        if isCounted {
            hits.add(times.hits)
            misses.add(times.misses)
            evictions.add(times.evictions)
        }
        times.removeAll()
    }

    /// Everything that was collected.
    package var timings: RunTimings {
        RunTimings(
            clock: times.clockCost.inSeconds * 1e9, hit: hits.distribution, miss: misses.distribution,
            eviction: evictions.distribution)
    }
}

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
