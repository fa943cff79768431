import HalcyonEviction
import HalcyonTrace

/// Everything that a replay counts, request by request.
///
/// The counting order does not matter, so that the users of a fleet can be replayed one after another.
package struct Counts {
    package let warmup: Int
    package let windowLength: Int
    /// The unit of the costs that are passed in; what is counted is in the unit of the trace.
    private let unit: CacheUnit
    package private(set) var total = Tally()
    private(set) var refused = 0
    private(set) var stale = 0
    package private(set) var windows: [Tally]
    package private(set) var byCategorySet: [Tally]
    package private(set) var byUser: [Tally]
    package private(set) var latency: LatencyCounts?

    package init(trace: Trace, options: ReplayOptions, latency: LatencyModel?) {
        unit = CacheUnit(trace)
        warmup = options.warmupRequests(of: trace.count)
        let counted = trace.count - warmup
        let windowCount = max(1, min(options.windows, counted))
        windowLength = max(1, (counted + windowCount - 1) / windowCount)
        windows = Array(repeating: Tally(), count: max(1, (counted + windowLength - 1) / windowLength))
        byCategorySet = options.byCategory ? Array(repeating: Tally(), count: trace.categorySets.count) : []
        byUser = options.byUser ? Array(repeating: Tally(), count: trace.userCount) : []
        self.latency = latency.map { LatencyCounts(model: $0, sizesAreBytes: trace.costUnit == .bytes) }
    }

    /// Counts of a stream, whose length nobody knows: no warm-up, and windows of a fixed length.
    init(windowLength: Int, unit: CacheUnit) {
        self.unit = unit
        warmup = 0
        self.windowLength = windowLength
        windows = []
        byCategorySet = []
        byUser = []
    }

    /// Counts a run of consecutive requests that lies within one window, or wholly within the warm-up.
    ///
    /// - Parameter costs: the costs to the cache; `nil` where each is 1.
    @inline(__always)
    mutating func count(
        from position: Int, _ outcomes: UnsafeBufferPointer<AccessOutcome>, costs: UnsafePointer<Int>?,
        categories: UnsafePointer<CategorySetID>?, users: UnsafePointer<UInt32>?
    ) {
        guard position >= warmup else { return }
        var tally = Tally()
        if let costs {
            for index in 0..<outcomes.count { tally.count(outcomes[index], cost: costs[index]) }
        } else {
            for outcome in outcomes { tally.hits &+= outcome.isHit ? 1 : 0 }
            tally.requests = outcomes.count
            tally.cost = outcomes.count &* unit.size
            tally.hitCost = tally.hits &* unit.size
        }
        if tally.hits < outcomes.count {
            for outcome in outcomes {
                refused &+= outcome == .refused ? 1 : 0
                stale &+= outcome == .stale ? 1 : 0
            }
        }
        let window = (position - warmup) / windowLength
        if window == windows.count { windows.append(Tally()) }
        windows[window].add(tally)
        total.add(tally)
        if latency != nil {
            for index in 0..<outcomes.count { latency?.count(outcomes[index], cost: costs?[index] ?? unit.size) }
        }
        if let categories, !byCategorySet.isEmpty {
            for index in 0..<outcomes.count {
                byCategorySet[Int(categories[index])].count(outcomes[index], cost: costs?[index] ?? unit.size)
            }
        }
        if let users, !byUser.isEmpty {
            for index in 0..<outcomes.count where users[index] != Trace.noUser {
                byUser[Int(users[index])].count(outcomes[index], cost: costs?[index] ?? unit.size)
            }
        }
    }

    /// Counts one request, wherever it lies.
    ///
    /// - Parameter cost: the cost to the cache.
    @inline(__always)
    mutating func count(
        at position: Int, _ outcome: AccessOutcome, cost: Int, categories: CategorySetID, user: UInt32
    ) {
        guard position >= warmup else { return }
        let cost = cost &* unit.size
        total.count(outcome, cost: cost)
        refused &+= outcome == .refused ? 1 : 0
        stale &+= outcome == .stale ? 1 : 0
        windows[(position - warmup) / windowLength].count(outcome, cost: cost)
        latency?.count(outcome, cost: cost)
        if !byCategorySet.isEmpty { byCategorySet[Int(categories)].count(outcome, cost: cost) }
        if !byUser.isEmpty, user != Trace.noUser { byUser[Int(user)].count(outcome, cost: cost) }
    }

    /// How many requests from `position` on, at most `limit`, lie in one stretch that ``count(from:_:costs:categories:users:)`` takes.
    func stretch(from position: Int, limit: Int) -> Int {
        if position < warmup { return min(limit, warmup - position) }
        return min(limit, windowLength - (position - warmup) % windowLength)
    }
}
