/// The counts of a ``PredictivePrefetcher`` since its start.
public struct PrefetchPredictionStatistics: Sendable, Equatable {
    /// The observed accesses.
    public var accesses = 0
    /// The accesses that were left out because they came faster than they were processed.
    public var lostAccesses = 0
    /// The accesses that were left out because too many other images are known: 65,536 without a known source, or 1,048,576 in all.
    public var unknownAccesses = 0
    /// The announcements that were left out because 1,048,576 other images are known.
    public var unknownAnnouncements = 0
    /// The removals from the cache that were left out because they came faster than they were processed.
    public var lostRemovals = 0
    /// The plans.
    public var plans = 0
    /// The images that the policy proposed.
    public var proposed = 0
    /// The fetches that were started.
    public var begun = 0
    /// The images that were fetched.
    public var fetched = 0
    /// The prefetched images that were requested and cached.
    public var used = 0
    /// The images that were requested while their fetch was in flight.
    public var usedLate = 0
    /// The fetched images that the cache refused or evicted before their first request.
    public var dropped = 0
    /// The fetches that failed.
    public var failed = 0
    /// The fetches that were cancelled.
    public var cancelled = 0
    /// The bytes that were fetched over the network.
    public var bytes = 0
    /// The fetched bytes of dropped images.
    public var droppedBytes = 0
    /// The decompressed bytes of failed and cancelled fetches. They count for the budget, too.
    public var partialBytes = 0
    /// The faults of the kept files; see ``PredictivePrefetcher/modelFault``.
    public var modelFaults = 0

    /// Creates counts of 0.
    public init() {}

    /// The share of requested images among those that were requested or dropped; `nil` if there are none yet.
    public var precision: Double? {
        let known = used + usedLate + dropped
        return known == 0 ? nil : Double(used + usedLate) / Double(known)
    }
}
