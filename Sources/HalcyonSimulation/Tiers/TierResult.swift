/// Hits by tier, and how long requests took by the stated costs.
public struct TierResult: Sendable, Codable, Equatable {
    /// The capacity of the memory tier.
    public var memoryCapacity: Int
    /// The capacity of the disk tier.
    public var diskCapacity: Int
    /// Requests served from memory.
    public var memoryHits: Int
    /// Requests served from disk.
    public var diskHits: Int
    /// Requests that went to the network.
    public var networkFetches: Int
    /// The mean latency in milliseconds.
    public var meanLatency: Double
    /// The 99th percentile of the latency in milliseconds, by the nearest rank.
    public var p99Latency: Double
    /// The costs that the latencies are computed from.
    public var costs: LatencyModel
}
