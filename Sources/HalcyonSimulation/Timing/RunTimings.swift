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
