import HalcyonEviction

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
