/// How long requests wait for their objects in a replay with prefetching.
///
/// A hit does not wait, also one on an object whose first fetch on demand would still last. A miss waits for a whole fetch, and a
/// request that joins a transfer for the rest of it. Memory: 16 bytes for each bucket of waits, at most 1.8 MB.
package struct WaitCounts: Sendable {
    private var requests = 0
    private var sum = 0.0
    private var waits = SizeCounts()

    /// Counts a request that waits for so many microseconds.
    mutating func count(_ wait: Int64) {
        requests += 1
        sum += Double(wait)
        waits.count(Int(wait))
    }

    /// The mean wait in milliseconds; 0 without requests.
    package var mean: Double { requests == 0 ? 0 : sum / Double(requests) / 1_000 }

    /// The 99th percentile of the waits in milliseconds, by the nearest rank; at most 0.05 % too high. O(buckets).
    package var p99: Double {
        var rank = max(1, Int((0.99 * Double(requests)).rounded(.up)))
        for group in waits.groups {
            rank -= group.count
            if rank <= 0 { return Double(group.largest) / 1_000 }
        }
        return 0
    }
}
