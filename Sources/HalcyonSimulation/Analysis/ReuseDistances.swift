import HalcyonTrace

/// The distribution of a trace's LRU stack distances, in objects. An LRU cache of n objects hits the accesses with a
/// distance of n or less.
package struct ReuseDistances: Sendable, Codable, Equatable {
    /// The number of accesses to objects that were accessed before.
    package let reaccesses: Int
    /// The 10th, 25th, 50th, 75th, 90th and 99th percentiles of the distances. Nil without re-accesses.
    package let percentiles: Percentiles?
    /// The number of re-accesses by distance: bucket i counts the distances from 2ⁱ to 2ⁱ⁺¹ - 1.
    package let log2Histogram: [Int]

    /// Percentiles of the distances of re-accesses.
    package struct Percentiles: Sendable, Codable, Equatable {
        /// The 10th percentile.
        package let p10: Int
        /// The 25th percentile.
        package let p25: Int
        /// The median.
        package let p50: Int
        /// The 75th percentile.
        package let p75: Int
        /// The 90th percentile.
        package let p90: Int
        /// The 99th percentile.
        package let p99: Int
    }

    /// Measures `trace`. O(requests · log objects).
    package init(of trace: Trace) {
        var stack = StackDistances(unit: .objects)
        var histogram: [Int] = Array(repeating: 0, count: trace.objectCount + 1)
        for index in 0..<trace.count {
            if let distance = stack.record(trace.entries[index], size: 1) { histogram[Int(distance)] += 1 }
        }
        var octaves: [Int] = []
        var total = 0
        for (distance, count) in histogram.enumerated() where count > 0 {
            let octave = Int.bitWidth - 1 - distance.leadingZeroBitCount
            if octave >= octaves.count {
                octaves.append(contentsOf: repeatElement(0, count: octave + 1 - octaves.count))
            }
            octaves[octave] += count
            total += count
        }
        reaccesses = total
        log2Histogram = octaves
        guard total > 0 else {
            percentiles = nil
            return
        }
        func percentile(_ percent: Int) -> Int {
            let needed = (total * percent + 99) / 100
            var seen = 0
            for (distance, count) in histogram.enumerated() {
                seen += count
                if seen >= needed { return distance }
            }
            return histogram.count - 1
        }
        percentiles = Percentiles(
            p10: percentile(10), p25: percentile(25), p50: percentile(50), p75: percentile(75), p90: percentile(90),
            p99: percentile(99))
    }
}
