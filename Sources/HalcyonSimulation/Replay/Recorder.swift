import HalcyonEviction
import HalcyonTrace

/// The outcomes of a run, counted in total, by window, by category, by user and by tier.
///
/// The counts do not depend on the order of the blocks, so users can be replayed one after another.
package struct Recorder {
    /// The number of requests in a window of a stream, because the length of a stream is not known in advance.
    static let streamWindowLength = 1_000_000

    /// The number of warm-up requests of the source, which are not counted; of a stream once a request is counted.
    private(set) var warmup: Int
    /// The number of warm-up requests that were served: less than ``warmup`` if a part of the users is replayed.
    private(set) var warmupServed = 0
    /// The number of requests in a window.
    package let windowLength: Int
    /// The tally of all counted requests.
    package private(set) var total = Tally()
    /// The number of requests whose object was not admitted.
    private(set) var refused = 0
    /// The part of ``refused`` whose object is larger than the cache, or than its largest tier.
    private(set) var refusedTooLarge = 0
    /// The number of requests that found their object expired or of a different size.
    private(set) var stale = 0
    /// The tallies by window.
    package private(set) var windows: [Tally]
    /// The tallies by category set; empty unless requested.
    private(set) var byCategorySet: [Tally] = []
    /// The tallies by user; empty unless requested.
    package private(set) var byUser: [Tally] = []
    /// The latencies by tier. Nil without tiers.
    private(set) var latency: LatencyCounts?
    /// The tally of the same requests without prefetching.
    private(set) var totalWithout = Tally()
    /// The waits of the same requests without prefetching.
    private(set) var waitsWithout = WaitCounts()
    /// The latency of a fetch. Nil without prefetching.
    private let fetchLatency: FetchLatency?
    private let sizesAreBytes: Bool
    /// The number of misses without prefetching that became hits.
    private(set) var missesAvoided = 0
    /// The number of hits without prefetching that became misses.
    private(set) var hitsLost = 0

    /// The unit of the sizes in blocks. Counts are in the unit of the trace.
    private let unit: CacheUnit
    /// The hits of the block without prefetching; empty without a comparison.
    private var hitsWithout: [Bool] = []
    /// The size of the largest object that a cache or one of its tiers can hold, in ``unit``.
    private let capacity: Int
    private let countsCategories: Bool
    private let countsUsers: Bool

    init(_ resolved: ResolvedJob, facts: SourceFacts) {
        let job = resolved.job
        unit = facts.unit
        var capacity = facts.unit.capacity(resolved.capacity)
        if let memory = resolved.memoryCapacity, let tiers = job.tiers {
            capacity = max(capacity, facts.unit.largestInMemory(memory, tiers))
        }
        self.capacity = capacity
        warmup = facts.warmup
        countsCategories = job.options.byCategory
        // Per-user caches report how users differ.
        countsUsers = job.options.byUser || job.mode == .perUser
        if facts.input == nil {
            windowLength = Self.streamWindowLength
            windows = []
        } else {
            let counted = facts.requests - facts.warmup
            windowLength = Self.windowLength(counted: counted, windows: job.options.windows)
            windows = Array(repeating: Tally(), count: max(1, (counted + windowLength - 1) / windowLength))
        }
        if countsCategories { byCategorySet = Array(repeating: Tally(), count: facts.categorySets.count) }
        if countsUsers { byUser = Array(repeating: Tally(), count: facts.userCount) }
        fetchLatency = job.options.prefetch?.latency
        sizesAreBytes = facts.sizeUnit == .bytes
        latency = job.tiers.map { LatencyCounts(model: $0.latency, sizesAreBytes: facts.sizeUnit == .bytes) }
    }

    /// Returns the number of requests in each of `windows` windows over `counted` requests.
    package static func windowLength(counted: Int, windows: Int) -> Int {
        let count = max(1, min(windows, counted))
        return max(1, (counted + count - 1) / count)
    }

    /// The columns that the recorder reads.
    var columns: RequestColumns {
        var columns: RequestColumns = []
        if countsCategories { columns.insert(.categories) }
        if countsUsers { columns.insert(.users) }
        return columns
    }

    /// Counts the outcomes of a block.
    mutating func count(_ block: borrowing RequestBlock, _ outcomes: UnsafePointer<AccessOutcome>) {
        if block.isWarmup {
            warmupServed += block.count
            return
        }
        warmup = block.warmup
        if block.positions != nil {
            var sum = Tally()
            for index in 0..<block.count {
                let outcome = outcomes[index]
                let size = block.sizes?[index] ?? unit.size
                sum.count(outcome, size: size)
                let window = (block.position(index) - warmup) / windowLength
                while windows.count <= window { windows.append(Tally()) }
                windows[window].count(outcome, size: size)
                if !outcome.isHit { countMiss(outcome, size: block.sizes?[index] ?? 1) }
            }
            total.add(sum)
        } else {
            var start = 0
            while start < block.count {
                let position = block.firstPosition + start - warmup
                let end = min(block.count, start + windowLength - position % windowLength)
                countWindow(position / windowLength, outcomes + start, block.sizes.map { $0 + start }, end - start)
                start = end
            }
        }
        if latency != nil || countsCategories || countsUsers { countTables(block, outcomes) }
        compare(outcomes)
    }

    /// Adds the windows at the end of a stream in which no request was served.
    ///
    /// - Parameter requests: the requests of the source.
    mutating func finish(requests: Int) {
        while windows.count * windowLength < requests - warmup { windows.append(Tally()) }
    }

    @inline(__always)
    private mutating func countMiss(_ outcome: AccessOutcome, size: Int) {
        stale &+= outcome == .stale ? 1 : 0
        guard outcome == .refused else { return }
        refused &+= 1
        refusedTooLarge &+= size > capacity ? 1 : 0
    }

    /// Counts consecutive requests of one window.
    private mutating func countWindow(
        _ window: Int, _ outcomes: UnsafePointer<AccessOutcome>, _ sizes: UnsafePointer<Int>?, _ count: Int
    ) {
        var tally = Tally()
        tally.requests = count
        if let sizes {
            for index in 0..<count { tally.add(sizes[index], isHit: outcomes[index].isHit) }
        } else {
            for index in 0..<count { tally.hits &+= Int(outcomes[index].rawValue & 1) }
            tally.size = count &* unit.size
            tally.hitSize = tally.hits &* unit.size
        }
        if tally.hits < count {
            var (refused, stale) = (0, 0)
            for index in 0..<count {
                refused &+= outcomes[index] == .refused ? 1 : 0
                stale &+= outcomes[index] == .stale ? 1 : 0
            }
            self.refused &+= refused
            self.stale &+= stale
            if refused > 0 {
                for index in 0..<count where outcomes[index] == .refused {
                    refusedTooLarge &+= (sizes?[index] ?? 1) > capacity ? 1 : 0
                }
            }
        }
        while windows.count <= window { windows.append(Tally()) }
        windows[window].add(tally)
        total.add(tally)
    }

    private mutating func countTables(_ block: borrowing RequestBlock, _ outcomes: UnsafePointer<AccessOutcome>) {
        for index in 0..<block.count {
            let size = block.sizes?[index] ?? unit.size
            latency?.count(outcomes[index], cost: size)
            if countsCategories {
                let set = Int(block.categories?[index] ?? 0)
                while byCategorySet.count <= set { byCategorySet.append(Tally()) }
                byCategorySet[set].count(outcomes[index], size: size)
            }
            if countsUsers {
                let user = block.users?[index] ?? Trace.noUser
                if user == Trace.noUser { continue }
                while byUser.count <= Int(user) { byUser.append(Tally()) }
                byUser[Int(user)].count(outcomes[index], size: size)
            }
        }
    }

    /// Counts the outcomes of a block without prefetching. ``count(_:_:)`` of the same block compares with them.
    mutating func countWithout(_ block: borrowing RequestBlock, _ outcomes: UnsafePointer<AccessOutcome>) {
        hitsWithout.removeAll(keepingCapacity: true)
        for index in 0..<block.count {
            hitsWithout.append(outcomes[index].isHit)
            if block.isWarmup { continue }
            let size = block.sizes?[index] ?? unit.size
            totalWithout.count(outcomes[index], size: size)
            guard let fetchLatency else { continue }
            waitsWithout.count(
                outcomes[index].isHit
                    ? 0 : fetchLatency.latency(ofObject: block.objects[index], bytes: sizesAreBytes ? size : 0))
        }
    }

    private mutating func compare(_ outcomes: UnsafePointer<AccessOutcome>) {
        for index in hitsWithout.indices where outcomes[index].isHit != hitsWithout[index] {
            if outcomes[index].isHit { missesAvoided += 1 } else { hitsLost += 1 }
        }
    }
}
