import HalcyonPrefetch

/// What came of prefetching in a replay, beside the same replay without.
public struct PrefetchResult: Sendable, Codable {
    /// The prefetch policy.
    public var policy: String
    /// The matrix routines of the planner; `nil` for another prefetch policy.
    public var kernels: KernelInfo?
    /// What each cache was allowed to fetch ahead, as one would write it.
    public var budget: String
    /// How long a fetch took, in microseconds.
    public var fetchLatency: Int64
    /// Hits by requests without prefetching, 0…1.
    public var objectHitRatioWithout: Double
    /// Bytes hit by bytes requested without prefetching, 0…1.
    public var byteHitRatioWithout: Double
    /// The hits on entries that were fetched ahead and that nobody had asked for since.
    public var hitsOwed: Int
    /// The objects fetched ahead.
    public var fetched: Int
    /// Of these, used: asked for before they were evicted.
    public var used: Int
    /// Of these, asked for before they had arrived.
    public var late: Int
    /// Used by fetched, 0…1; 0 where nothing was fetched.
    public var precision: Double
    /// The misses without prefetching that became hits, by all of them, 0…1.
    public var coverage: Double
    /// The hits without prefetching that became misses, by all requests, 0…1.
    public var pollution: Double
    /// Used by those that were asked for, in time or late, 0…1.
    public var timeliness: Double
    /// The mean number of requests to the cache from fetch to use.
    public var meanRequestsUntilUse: Double
    /// What was fetched ahead, in the unit of the capacity.
    public var fetchedSize: Int
    /// What was fetched ahead and never used, what is still on its way at the end included.
    public var wastedSize: Int
    /// The same as a share of all that was fetched, ahead and on demand, 0…1.
    public var wastedShare: Double
    /// Learning and planning, in microseconds a request; of the machine and the moment.
    public var planningMicroseconds: Double
    /// Heap bytes of the prefetch policy.
    public var metadataBytes: Int
    /// What the policy publishes about itself.
    public var metrics: [String: Double]
    /// How well its probabilities agreed with what happened; empty for a policy that gives none.
    public var calibration: [CalibrationBin]

    init(
        _ options: PrefetchOptions, _ counts: PrefetchCounts, policy: any PrefetchPolicy, _ recorder: Recorder
    ) {
        let (total, without) = (recorder.total, recorder.totalWithout)
        func share(_ part: Int, of whole: Int) -> Double { whole == 0 ? 0 : Double(part) / Double(whole) }
        self.policy = options.policy.description
        kernels = KernelInfo(options)
        budget = options.budget.description
        fetchLatency = options.fetchLatency
        objectHitRatioWithout = without.objectHitRatio
        byteHitRatioWithout = without.byteHitRatio
        hitsOwed = counts.hitsOwed
        fetched = counts.fetched
        used = counts.used
        late = counts.late
        precision = share(counts.used, of: counts.fetched)
        coverage = share(recorder.missesAvoided, of: without.requests - without.hits)
        pollution = share(recorder.hitsLost, of: without.requests)
        timeliness = share(counts.used, of: counts.used + counts.late)
        meanRequestsUntilUse = share(counts.requestsUntilUse, of: counts.used)
        fetchedSize = counts.fetchedSize
        wastedSize = counts.wastedSize
        wastedShare = share(
            counts.wastedSize, of: total.bytesFetched.addingUpToLargest(counts.fetchedSize - counts.lateSize))
        planningMicroseconds = share(counts.planningNanoseconds, of: counts.plansTimed) / 1_000
        metadataBytes = policy.metadataBytes
        metrics = Dictionary(policy.metrics.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        calibration = policy.calibration
    }
}

/// What a replay counts of prefetching: of fetches that were begun after the warm-up.
struct PrefetchCounts {
    /// The unit of the sizes that are passed in; what is counted is in the unit of the trace.
    private let unit: CacheUnit
    var fetched = 0
    private(set) var fetchedSize = 0
    /// Of the fetched: asked for while resident.
    var used = 0
    /// Of the fetched: asked for before they arrived.
    var late = 0
    /// What those size, which is fetched once: the request joins the transfer.
    private(set) var lateSize = 0
    /// What the unused size to fetch.
    private(set) var wastedSize = 0
    /// Hits after the warm-up on entries that were fetched ahead and not asked for since, those fetched during it among them.
    var hitsOwed = 0
    var requestsUntilUse = 0
    /// Sampled times of learning and planning.
    var plansTimed = 0
    var planningNanoseconds = 0

    /// Nothing counted yet.
    init(unit: CacheUnit) { self.unit = unit }

    /// Counts a fetch.
    mutating func fetch(size: Int) {
        fetched += 1
        fetchedSize = fetchedSize.addingUpToLargest(size &* unit.size)
    }

    /// Counts a fetch that was asked for before it arrived.
    mutating func join(size: Int) {
        late += 1
        lateSize = lateSize.addingUpToLargest(size &* unit.size)
    }

    /// Counts a fetch that is not used.
    mutating func waste(size: Int) { wastedSize = wastedSize.addingUpToLargest(size &* unit.size) }
}

extension Int {
    /// The sum, or the largest number where it is larger: what is fetched ahead may size a trace's requests many times over.
    func addingUpToLargest(_ size: Int) -> Int {
        let (sum, isTooLarge) = addingReportingOverflow(size)
        return isTooLarge ? .max : sum
    }
}
