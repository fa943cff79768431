import HalcyonEviction
import HalcyonTrace

/// Which columns a replay needs beside the entries. Costs are needed only where sizes vary.
struct ColumnNeeds {
    var sizes: Bool
    var times: Bool
    var categories: Bool
    var users: Bool

    init(trace: Trace, maker: CacheMaker, options: ReplayOptions) {
        let traits = maker.traits
        sizes = trace.uniformSize == nil
        times = maker.usesTime || traits.contains(.usesTime)
        categories = trace.hasCategories && (traits.contains(.usesCategories) || options.byCategory)
        users = trace.hasUsers && (traits.contains(.usesUsers) || options.byUser)
    }
}

/// Room for the columns of one batch, filled from a trace for whichever requests come next.
///
/// It owns its memory and reuses it batch after batch, so that a replay allocates nothing as it goes.
struct ColumnScratch: ~Copyable {
    static let batchLength = 4096

    let needs: ColumnNeeds
    private let sizes: UnsafeMutablePointer<Int>
    private let times: UnsafeMutablePointer<Int64>
    private let categories: UnsafeMutablePointer<CategorySetID>
    private let users: UnsafeMutablePointer<UInt32>
    private let outcomes: UnsafeMutablePointer<AccessOutcome>

    init(needs: ColumnNeeds) {
        self.needs = needs
        sizes = .allocate(capacity: Self.batchLength)
        times = .allocate(capacity: Self.batchLength)
        categories = .allocate(capacity: Self.batchLength)
        users = .allocate(capacity: Self.batchLength)
        outcomes = .allocate(capacity: Self.batchLength)
        sizes.initialize(repeating: 1, count: Self.batchLength)
        times.initialize(repeating: 0, count: Self.batchLength)
        categories.initialize(repeating: 0, count: Self.batchLength)
        users.initialize(repeating: .max, count: Self.batchLength)
        outcomes.initialize(repeating: .miss, count: Self.batchLength)
    }

    deinit {
        sizes.deallocate()
        times.deallocate()
        categories.deallocate()
        users.deallocate()
        outcomes.deallocate()
    }

    /// Fills the needed columns for the requests that `position` gives for 0..<count.
    @inline(__always)
    func fill(from trace: Trace, count: Int, position: (Int) -> Int) {
        if needs.sizes {
            if trace.requestSizes.isEmpty {
                trace.entries.withUnsafeBufferPointer { entries in
                    trace.objectSizes.withUnsafeBufferPointer { objectSizes in
                        for index in 0..<count {
                            sizes[index] = Int(clamping: objectSizes[Int(entries[position(index)])])
                        }
                    }
                }
            } else {
                for index in 0..<count { sizes[index] = Int(trace.requestSizes[position(index)]) }
            }
        }
        if needs.times {
            for index in 0..<count { times[index] = trace.times[position(index)] }
        }
        if needs.categories {
            for index in 0..<count { categories[index] = trace.categorySet(ofRequest: position(index)) }
        }
        if needs.users {
            trace.users.withUnsafeBufferPointer { all in
                for index in 0..<count { users[index] = all[position(index)] }
            }
        }
    }

    /// Serves the filled requests, of which `entries` are the entries as the cache numbers them.
    @inline(__always)
    func serve(_ entries: UnsafeBufferPointer<EntryID>, firstRequest: Int, by cache: CacheRun) {
        cache.replay(
            RequestBatch(
                firstRequest: firstRequest, entries: entries, sizes: needs.sizes ? UnsafePointer(sizes) : nil,
                times: needs.times ? UnsafePointer(times) : nil,
                categories: needs.categories ? UnsafePointer(categories) : nil,
                users: needs.users ? UnsafePointer(users) : nil),
            outcomes)
    }

    /// Counts what became of consecutive requests of one stretch.
    @inline(__always)
    func tally(_ count: Int, from position: Int, into counts: inout Counts) {
        counts.count(
            from: position, UnsafeBufferPointer(start: outcomes, count: count),
            sizes: needs.sizes ? UnsafePointer(sizes) : nil,
            categories: needs.categories ? UnsafePointer(categories) : nil,
            users: needs.users ? UnsafePointer(users) : nil)
    }

    /// Counts what became of requests that lie anywhere.
    @inline(__always)
    func tallyScattered(_ count: Int, into counts: inout Counts, position: (Int) -> Int) {
        for index in 0..<count {
            counts.count(
                at: position(index), outcomes[index], size: needs.sizes ? sizes[index] : 1,
                categories: categories[index], user: users[index])
        }
    }
}
