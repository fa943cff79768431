import HalcyonPrefetch
import HalcyonSupport
import HalcyonTrace

/// The results of prefetching in a replay, compared with the same replay without prefetching.
public struct PrefetchResult: Sendable, Codable {
    /// The prefetch policy, with the parameters set by the user.
    public var policy: String
    /// Every parameter of the prefetch policy with its value.
    public var parameters: [String: String]
    /// The matrix routines of the planner; `nil` for another prefetch policy.
    public var kernels: KernelInfo?
    /// The prefetch budget of each cache, in the notation of `--prefetch-budget`.
    public var budget: String
    /// The latency of a prefetch of no bytes, in microseconds.
    public var fetchLatency: Int64
    /// The resolution of the trace's times, in microseconds; see `TimeColumn.resolution`. A shorter latency cannot be
    /// told from one that is up to twice as long. Nil for a trace without times.
    public var timeResolution: Int64?
    /// The bandwidth of prefetches in bytes a second. Nil if sizes do not matter.
    public var bandwidth: Double?
    /// The latency of a prefetch as text: `150 ms + size / (5.0 MB/s)`, or `ideal (zero latency)`.
    public var latency: String
    /// The hit ratio without prefetching: hits by requests, 0…1.
    public var objectHitRatioWithout: Double
    /// The byte hit ratio without prefetching: bytes hit by bytes requested, 0…1.
    public var byteHitRatioWithout: Double
    /// The hits on prefetched entries that were not yet used.
    public var hitsOwed: Int
    /// The number of prefetched objects.
    public var fetched: Int
    /// The number of these that were fetched between requests: when a visit had ended, or at the start of a day.
    public var fetchedBetweenRequests: Int
    /// The number of prefetched objects that were requested before they were evicted.
    public var used: Int
    /// The number of prefetched objects that were requested while in flight.
    public var late: Int
    /// The ratio of ``used`` to ``fetched``, 0…1; 0 if nothing was prefetched.
    public var precision: Double
    /// The ratio of the misses that prefetching turned into hits to all misses without prefetching, 0…1.
    public var coverage: Double
    /// The ratio of the hits that prefetching turned into misses to all requests, 0…1.
    public var pollution: Double
    /// The ratio of ``used`` to ``used`` + ``late``, 0…1.
    public var timeliness: Double
    /// The mean and the 99th percentile of the time that a request waits for its object, in milliseconds. A hit does not wait. A miss
    /// waits for a whole fetch, and a request that joins a transfer for the rest of it.
    public var meanLatency: Double
    public var p99Latency: Double
    /// The same without prefetching.
    public var meanLatencyWithout: Double
    public var p99LatencyWithout: Double
    /// The mean number of requests to the cache from a prefetch to its use.
    public var meanRequestsUntilUse: Double
    /// The total size of prefetched objects, in the unit of the capacity.
    public var fetchedSize: Int
    /// The size of everything that was transferred, in the unit of the capacity: misses, prefetches, and the lists of
    /// ``announcements`` where the unit is bytes. A miss that joins a prefetch counts once.
    public var traffic: Int
    /// The announcements that were sent. Nil without.
    public var announcements: AnnouncementResult?
    /// What was shown and opened. Nil for a prefetch policy that does not plan on lists, and without any.
    public var lists: ListResult?
    /// The total size of prefetched objects that were never used, including those in flight at the end.
    public var wastedSize: Int
    /// The ratio of ``wastedSize`` to the size of everything fetched, prefetched or on demand, 0…1.
    public var wastedShare: Double
    /// The time for learning and planning, in microseconds per request. Depends on the machine.
    public var planningMicroseconds: Double
    /// The heap bytes of the prefetch policy, or of all of them.
    public var metadataBytes: Int
    /// The metrics that the policy publishes. Empty if each cache has a policy of its own, as is ``calibration``.
    public var metrics: [String: Double]
    /// The predicted probabilities compared with the observed frequencies. Empty for a policy without probabilities.
    public var calibration: [CalibrationBin]

    init(
        _ options: PrefetchOptions, _ summary: PrefetchSummary, _ recorder: Recorder
    ) {
        let counts = summary.counts
        let (total, without) = (recorder.total, recorder.totalWithout)
        func share(_ part: Int, of whole: Int) -> Double { whole == 0 ? 0 : Double(part) / Double(whole) }
        self.policy = options.policy.description
        parameters = options.parameters
        kernels = KernelInfo(options)
        budget = options.budget.description
        fetchLatency = options.latency.shortest
        bandwidth = options.latency.bandwidth
        latency = options.latency.description
        objectHitRatioWithout = without.objectHitRatio
        byteHitRatioWithout = without.byteHitRatio
        hitsOwed = counts.hitsOwed
        fetched = counts.fetched
        fetchedBetweenRequests = counts.fetchedBetweenRequests
        used = counts.used
        late = counts.late
        precision = share(counts.used, of: counts.fetched)
        coverage = share(recorder.missesAvoided, of: without.requests - without.hits)
        pollution = share(recorder.hitsLost, of: without.requests)
        timeliness = share(counts.used, of: counts.used + counts.late)
        (meanLatency, p99Latency) = (counts.waits.mean, counts.waits.p99)
        (meanLatencyWithout, p99LatencyWithout) = (recorder.waitsWithout.mean, recorder.waitsWithout.p99)
        meanRequestsUntilUse = share(counts.requestsUntilUse, of: counts.used)
        fetchedSize = counts.fetchedSize
        wastedSize = counts.wastedSize
        wastedShare = share(
            counts.wastedSize, of: total.bytesFetched.addingUpToLargest(counts.fetchedSize - counts.lateSize))
        traffic = total.bytesFetched.addingUpToLargest(counts.fetchedSize - counts.lateSize)
        lists = counts.lists.lists > 0 ? counts.lists : nil
        planningMicroseconds = share(counts.planningNanoseconds, of: counts.plansTimed) / 1_000
        metadataBytes = summary.metadataBytes
        metrics = Dictionary(
            (summary.policy?.metrics ?? []).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        calibration = summary.policy?.calibration ?? []
    }
}

/// The lists that were shown after the warm-up, and the requests for their objects.
public struct ListResult: Sendable, Codable, Equatable {
    /// The number of lists that were shown.
    public private(set) var lists = 0
    /// The number of their items.
    public private(set) var items = 0
    /// The number of objects that were fetched when a list was shown.
    public private(set) var fetched = 0
    /// The number of first requests for an object of the list that was last shown to the user.
    public private(set) var openings = 0
    /// The number of these that were hits.
    public private(set) var hits = 0

    /// The ratio of ``hits`` to ``openings``, 0…1; 0 without openings.
    public var hitRatio: Double { openings == 0 ? 0 : Double(hits) / Double(openings) }

    mutating func note(items: Int, fetched: Int) {
        lists += 1
        self.items += items
        self.fetched += fetched
    }

    mutating func noteOpening(isHit: Bool) {
        openings += 1
        if isHit { hits += 1 }
    }
}

/// The lists that a server sent to the devices of a replay, at counted requests.
public struct AnnouncementResult: Sendable, Codable, Equatable {
    /// The announcements as requested, with every value: `popular(count=100,every=1h,counts=off,entry-bytes=64)`.
    public var announcements: String
    /// The number of lists that devices received.
    public var lists: Int
    /// The number of entries of these lists.
    public var entries: Int
    /// The bytes of these entries.
    public var bytes: Int
}

extension PrefetchResult {
    /// Adds the lists that were sent to the result.
    mutating func add(_ options: AnnouncementOptions, lists: Int, entries: Int, unit: SizeUnit) {
        let bytes = entries * options.entryBytes
        announcements = AnnouncementResult(
            announcements: options.description, lists: lists, entries: entries, bytes: bytes)
        if unit == .bytes { traffic = traffic.addingUpToLargest(bytes) }
    }

    /// Whether the latency is shorter than the resolution of the times, so that it stands for any time of up to twice
    /// the resolution.
    package var isBelowResolution: Bool {
        fetchLatency > 0 && bandwidth == nil && fetchLatency < timeResolution ?? 0
    }

    /// The resolution of the times as a sentence, followed by a space; empty if it is not known.
    var resolutionSentence: String {
        guard let timeResolution else { return "" }
        let unit = TimeSpan(microseconds: timeResolution).description
        let twice = TimeSpan(microseconds: 2 * timeResolution).description
        return isBelowResolution
            ? "That is less than the resolution of the times, \(unit): a fetch is in time for every later time stamp, 0 to "
                + "\(twice) after it began. "
            : "The resolution of the times is \(unit); a fetch is in time if it ends before the time stamp of the request. "
    }
}

/// The counts of a replay with prefetching, over the prefetches started after the warm-up.
struct PrefetchTally {
    /// The unit of the sizes passed in. Counts are in the unit of the trace.
    private let unit: CacheUnit
    private(set) var fetched = 0
    var fetchedBetweenRequests = 0
    private(set) var fetchedSize = 0
    /// The prefetched objects that were requested while resident.
    var used = 0
    /// The prefetched objects that were requested while in flight.
    var late = 0
    /// The size of the late objects. Each is fetched once, because the request joins the transfer.
    private(set) var lateSize = 0
    /// The size of the prefetched objects that were not used.
    private(set) var wastedSize = 0
    /// The hits after the warm-up on prefetched and not yet used entries, including those prefetched during the
    /// warm-up.
    var hitsOwed = 0
    var requestsUntilUse = 0
    /// The waits of the counted requests.
    var waits = WaitCounts()
    /// The number of timed plans.
    var plansTimed = 0
    var planningNanoseconds = 0
    /// The lists that devices received, and their entries.
    var announcedLists = 0
    var announcedEntries = 0

    /// The lists that were shown.
    var lists = ListResult()

    /// Creates counts of zero.
    init(unit: CacheUnit) { self.unit = unit }

    /// Counts a prefetch.
    mutating func fetch(size: Int) {
        fetched += 1
        fetchedSize = fetchedSize.addingUpToLargest(size &* unit.size)
    }

    /// Counts a prefetch whose object was requested while in flight.
    mutating func join(size: Int) {
        late += 1
        lateSize = lateSize.addingUpToLargest(size &* unit.size)
    }

    /// Counts a prefetch that is not used.
    mutating func waste(size: Int) { wastedSize = wastedSize.addingUpToLargest(size &* unit.size) }
}

extension Int {
    /// Returns the sum, or the largest number on overflow: prefetches may total many times the size of a trace's
    /// requests.
    func addingUpToLargest(_ size: Int) -> Int {
        let (sum, isTooLarge) = addingReportingOverflow(size)
        return isTooLarge ? .max : sum
    }
}
