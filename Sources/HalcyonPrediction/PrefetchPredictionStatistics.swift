/// What a ``PredictivePrefetcher`` has counted since it was started.
public struct PrefetchPredictionStatistics: Sendable, Equatable {
    /// The accesses that it heard of.
    public var accesses = 0
    /// The accesses that came faster than they could be taken in, and were left out.
    public var lostAccesses = 0
    /// The accesses that were left out because too many other images are known: 65,536 that come from nobody knows where, or
    /// 1,048,576 in all.
    public var unknownAccesses = 0
    /// The announcements that were left out because 1,048,576 other images are known.
    public var unknownAnnouncements = 0
    /// The removals from the cache that came faster than they could be taken in, and were left out.
    public var lostRemovals = 0
    /// How often the policy was asked.
    public var plans = 0
    /// How many images the policy proposed.
    public var proposed = 0
    /// The fetches that were begun.
    public var begun = 0
    /// The images that were fetched.
    public var fetched = 0
    /// The images that were asked for after they had been fetched, and were there.
    public var used = 0
    /// The images that were asked for while they were being fetched.
    public var usedLate = 0
    /// The images that left the cache before anybody had asked for them, or were not let in.
    public var dropped = 0
    /// The fetches that failed.
    public var failed = 0
    /// The fetches that were broken off.
    public var cancelled = 0
    /// The bytes that were fetched over the network.
    public var bytes = 0
    /// Those of them that belong to images that were dropped.
    public var droppedBytes = 0
    /// The bytes that came of fetches that failed or were broken off, decompressed. They are spent of the budget, too.
    public var partialBytes = 0
    /// How often what the planner had learnt or the latest accesses could not be read or written, or what was spent written; see ``PredictivePrefetcher/modelFault``.
    public var modelFaults = 0

    /// Nothing, yet.
    public init() {}

    /// The share of those that were of use among those of which it is known; `nil` where there are none yet.
    public var precision: Double? {
        let known = used + usedLate + dropped
        return known == 0 ? nil : Double(used + usedLate) / Double(known)
    }
}
