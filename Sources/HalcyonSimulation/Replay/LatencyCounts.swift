import HalcyonEviction

/// The accesses by tier and their latencies.
///
/// Memory: 16 bytes for each bucket of sizes, at most 1.8 MB, however many requests there are.
package struct LatencyCounts {
    let model: LatencyModel
    let sizesAreBytes: Bool
    private var memoryHits = 0
    private var diskHits = 0
    private var fetches = 0
    private var fetchSum = 0.0
    private var fetchedSizes = SizeCounts()

    init(model: LatencyModel, sizesAreBytes: Bool) {
        self.model = model
        self.sizesAreBytes = sizesAreBytes
    }

    mutating func count(_ outcome: AccessOutcome, cost: Int) {
        switch outcome {
        case .hit: memoryHits += 1
        case .lowerTierHit: diskHits += 1
        case .miss, .refused, .stale:
            let size = sizesAreBytes ? cost : 0
            fetches += 1
            fetchSum += latency(ofFetch: size)
            fetchedSizes.count(size)
        }
    }

    private func latency(ofFetch size: Int) -> Double {
        model.network + (sizesAreBytes ? Double(size) / model.bandwidth * 1000 : 0)
    }

    /// Returns the mean and the 99th percentile. The mean is exact. The percentile is exact if the objects of its bucket
    /// have one size, as those of uniform sizes and those below 4,096 bytes; otherwise at most 0.05 % too high.
    /// O(buckets).
    package func result(memoryCapacity: Int, diskCapacity: Int) -> TierResult {
        let total = memoryHits + diskHits + fetches
        let sum = Double(memoryHits) * model.memory + Double(diskHits) * model.disk + fetchSum
        return TierResult(
            memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, memoryHits: memoryHits, diskHits: diskHits,
            networkFetches: fetches, meanLatency: total == 0 ? 0 : sum / Double(total),
            p99Latency: total == 0 ? 0 : percentile(0.99, of: total), costs: model)
    }

    private func percentile(_ share: Double, of total: Int) -> Double {
        var groups = fetchedSizes.groups.map { (value: latency(ofFetch: $0.largest), count: $0.count) }
        groups.append((model.memory, memoryHits))
        groups.append((model.disk, diskHits))
        return nearestRank(share, of: total, in: groups.sorted { $0.value < $1.value })
    }
}

/// Counts by size, in buckets whose width is at most 1/2,048 of the sizes in them; sizes below 4,096 have a bucket each.
struct SizeCounts {
    private static let bits = 11
    /// The number of sizes in each bucket, and the largest of them.
    struct Bucket {
        var count = 0
        var largest = 0
    }

    private var buckets: [Bucket] = []

    /// Counts a size, negative ones as 0. O(1), amortised.
    mutating func count(_ size: Int) {
        let size = max(size, 0)
        let shift = max(0, Int.bitWidth - 1 - size.leadingZeroBitCount - SizeCounts.bits)
        let bucket = shift << SizeCounts.bits + size >> shift
        if bucket >= buckets.count {
            buckets.append(contentsOf: repeatElement(Bucket(), count: bucket + 1 - buckets.count))
        }
        buckets[bucket].count += 1
        buckets[bucket].largest = max(buckets[bucket].largest, size)
    }

    /// The buckets that are not empty, in order of size.
    var groups: [Bucket] { buckets.filter { $0.count > 0 } }
}

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
        nearestRank(0.99, of: requests, in: waits.groups.map { (Double($0.largest) / 1_000, $0.count) })
    }
}

/// Returns the value at a share of `total` by the nearest-rank method, in groups of ascending values; 0 without groups.
private func nearestRank(_ share: Double, of total: Int, in groups: [(value: Double, count: Int)]) -> Double {
    var rank = max(1, Int((share * Double(total)).rounded(.up)))
    for group in groups {
        rank -= group.count
        if rank <= 0 { return group.value }
    }
    return groups.last?.value ?? 0
}
