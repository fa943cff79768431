import HalcyonEviction

/// Counts accesses by tier and adds up how long they take.
package struct LatencyCounts {
    let model: LatencyModel
    let sizesAreBytes: Bool
    private var memoryHits = 0
    private var diskHits = 0
    private var fetches: [Float] = []
    private var fetchSum = 0.0

    init(model: LatencyModel, sizesAreBytes: Bool) {
        self.model = model
        self.sizesAreBytes = sizesAreBytes
    }

    mutating func count(_ outcome: AccessOutcome, cost: Int) {
        switch outcome {
        case .hit: memoryHits += 1
        case .lowerTierHit: diskHits += 1
        case .miss, .refused, .stale:
            let latency = model.network + (sizesAreBytes ? Double(cost) / model.bandwidth * 1000 : 0)
            fetches.append(Float(latency))
            fetchSum += latency
        }
    }

    /// The mean and the 99th percentile. O(fetches · log fetches).
    package func result(memoryCapacity: Int, diskCapacity: Int) -> TierResult {
        let total = memoryHits + diskHits + fetches.count
        let sum = Double(memoryHits) * model.memory + Double(diskHits) * model.disk + fetchSum
        return TierResult(
            memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, memoryHits: memoryHits, diskHits: diskHits,
            networkFetches: fetches.count, meanLatency: total == 0 ? 0 : sum / Double(total),
            p99Latency: total == 0 ? 0 : percentile(0.99, of: total), costs: model)
    }

    private func percentile(_ share: Double, of total: Int) -> Double {
        var groups = fetches.map { (value: Double($0), count: 1) }
        groups.append((model.memory, memoryHits))
        groups.append((model.disk, diskHits))
        groups.sort { $0.value < $1.value }
        var rank = max(1, Int((share * Double(total)).rounded(.up)))
        for group in groups {
            rank -= group.count
            if rank <= 0 { return group.value }
        }
        return groups.last?.value ?? 0
    }
}
