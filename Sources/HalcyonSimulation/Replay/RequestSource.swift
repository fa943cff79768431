import HalcyonEviction
import HalcyonTrace

/// Consecutive requests, as columns. The source owns the memory, which is valid until the next block.
struct RequestBlock {
    /// The number of requests.
    var count: Int
    /// The position of the first request in the source, from 0.
    var firstPosition = 0
    /// The position of each request, counted from ``firstPosition``. Nil if the requests are consecutive.
    var positions: UnsafePointer<UInt32>?
    /// The object of each request.
    var objects: UnsafePointer<UInt32>
    /// The entry of each request, as numbered by its cache.
    var entries: UnsafePointer<EntryID>
    /// The size of each request, in the unit of the caches. Nil if each is 1.
    var sizes: UnsafePointer<Int>?
    /// The time of each request, in microseconds. Nil if not read.
    var times: UnsafePointer<Int64>?
    /// The category set of each request. Nil if not read.
    var categories: UnsafePointer<CategorySetID>?
    /// The user of each request. Nil if not read.
    var users: UnsafePointer<UInt32>?
    /// The time until which an entry that each request inserts is found, in microseconds. Nil if not read.
    var deadlines: UnsafePointer<Int64>?
    /// The cache of all requests. Nil if each user has a cache and the block mixes users.
    var cache: Int?
    /// The number of requests to ``cache`` before the first of the block.
    var firstRequest = 0
    /// Whether all requests belong to the warm-up. No block crosses the end of the warm-up.
    var isWarmup = false
    /// The number of warm-up requests of the source. Of a stream it is known in the blocks after the warm-up.
    var warmup = 0
    /// The categories of each numbered set.
    var categorySets: CategorySets

    /// Returns the position of a request in the source.
    @inline(__always)
    func position(_ index: Int) -> Int { firstPosition + (positions.map { Int($0[index]) } ?? index) }

    /// Returns a request as an access.
    @inline(__always)
    func access(_ index: Int, requestNumber: Int) -> Access {
        Access(
            entry: entries[index], requestNumber: requestNumber, time: times?[index] ?? 0, size: sizes?[index] ?? 1,
            categories: categories?[index] ?? 0, user: users?[index] ?? .max, object: objects[index])
    }

    /// The requests as a batch for one cache.
    var batch: RequestBatch {
        RequestBatch(
            firstRequest: firstRequest, entries: UnsafeBufferPointer(start: entries, count: count), sizes: sizes,
            times: times, categories: categories, users: users)
    }
}

/// The columns of a ``RequestBlock`` that are read.
struct RequestColumns: OptionSet {
    let rawValue: UInt8

    static let times = RequestColumns(rawValue: 1 << 0)
    static let categories = RequestColumns(rawValue: 1 << 1)
    static let users = RequestColumns(rawValue: 1 << 2)
    static let deadlines = RequestColumns(rawValue: 1 << 3)
}

/// The facts of a source that are known in advance; for a stream, only the unit of its sizes.
struct SourceFacts {
    var unit: CacheUnit
    var sizeUnit: SizeUnit
    /// The loaded trace. Nil for a stream.
    var input: ReplayInput?
    /// The number of requests; 0 for a stream that has not ended.
    var requests = 0
    /// The number of warm-up requests, which are not counted; 0 for a stream before its end.
    var warmup = 0
    var userCount = 0
    var objectCount = 0
    var categorySets = CategorySets()
    var categoryCount = 0
    var names = TraceNames()
    /// Whether the source states times.
    var hasTimes = true

    init(_ input: ReplayInput, job: ReplayJob) {
        let trace = input.trace
        self.input = input
        unit = CacheUnit(trace)
        sizeUnit = trace.sizeUnit
        requests = trace.count
        warmup = job.options.warmup.requests(of: trace)
        userCount = trace.userCount
        objectCount = trace.objectCount
        categorySets = trace.categorySets
        categoryCount = trace.categoryCount
        names = trace.names
        hasTimes = !trace.report.noTimes
    }

    /// Creates the facts of a stream before its first request.
    init(streamOf unit: CacheUnit) {
        self.unit = unit
        sizeUnit = .bytes
    }
}

/// The requests of a loaded trace: in order of time, or user by user.
///
/// If users do not share a cache or a model, serving them one after another keeps each small cache in the processor's
/// cache.
struct TraceRequests {
    /// The order of requests.
    enum Order {
        case byTime
        case byUser
    }

    static let blockLength = 4096

    private let input: ReplayInput
    private let columns: RequestColumns
    private let warmup: Int
    private let order: Order
    private let mode: ReplayMode
    private let part: UserPart?
    private let namesObjects: Bool
    private var trace: Trace { input.trace }

    /// - Parameters:
    ///   - part: the users that are served, one after another; `nil` for all.
    ///   - namesObjects: whether blocks by user have the objects as the trace numbers them. Otherwise objects are numbered as
    ///     entries are, by their first requests of the user.
    init(
        _ input: ReplayInput, columns: RequestColumns, warmup: Int, order: Order, mode: ReplayMode,
        part: UserPart? = nil, namesObjects: Bool = false
    ) {
        self.part = part
        self.namesObjects = namesObjects
        self.input = input
        self.columns = columns
        self.warmup = warmup
        self.order = order
        self.mode = mode
    }

    /// Reads all requests. Allocates no memory between blocks.
    func forEachBlock(_ body: (borrowing RequestBlock) -> Void) {
        let scratch = BlockScratch(trace, columns: columns, capacity: Self.blockLength)
        switch (order, mode) {
        case (.byTime, .shared):
            trace.entries.withUnsafeBufferPointer { byTime($0, entries: $0, scratch, body) }
        case (.byTime, .perUser):
            let entries = input.users?.entriesByTime ?? []
            trace.entries.withUnsafeBufferPointer { objects in
                entries.withUnsafeBufferPointer { byTime(objects, entries: $0, scratch, body) }
            }
        case (.byUser, _):
            if let users = input.users { byUser(users, scratch, body) }
        }
    }

    private func byTime(
        _ objects: UnsafeBufferPointer<UInt32>, entries: UnsafeBufferPointer<EntryID>,
        _ scratch: borrowing BlockScratch, _ body: (borrowing RequestBlock) -> Void
    ) {
        guard let firstObject = objects.baseAddress, let firstEntry = entries.baseAddress else { return }
        var block = scratch.block(objects: firstObject, entries: firstEntry)
        block.cache = mode == .shared ? 0 : nil
        var start = 0
        while start < objects.count {
            let boundary = start < warmup ? warmup : objects.count
            let count = min(Self.blockLength, boundary - start)
            scratch.fill(from: trace, count: count) { start + $0 }
            block.count = count
            block.objects = firstObject + start
            block.entries = firstEntry + start
            block.firstPosition = start
            block.firstRequest = start
            block.isWarmup = start < warmup
            block.warmup = warmup
            body(block)
            start += count
        }
    }

    private func byUser(
        _ users: UserRequests, _ scratch: borrowing BlockScratch, _ body: (borrowing RequestBlock) -> Void
    ) {
        users.positions.withUnsafeBufferPointer { positions in
            users.entries.withUnsafeBufferPointer { entries in
                guard let firstPosition = positions.baseAddress, let firstEntry = entries.baseAddress else { return }
                var block = scratch.block(objects: firstEntry, entries: firstEntry)
                var objects: [UInt32] = []
                for user in 0..<users.userCount where part?.contains(UInt32(user)) ?? true {
                    let range = users.starts[user]..<users.starts[user + 1]
                    var start = range.lowerBound
                    while start < range.upperBound {
                        let isWarmup = Int(positions[start]) < warmup
                        let limit = min(range.upperBound, start + Self.blockLength)
                        var end = limit
                        if isWarmup {
                            end = start
                            while end < limit, Int(positions[end]) < warmup { end += 1 }
                        }
                        let from = firstPosition + start
                        scratch.fill(from: trace, count: end - start) { Int(from[$0]) }
                        block.count = end - start
                        block.objects = firstEntry + start
                        block.entries = firstEntry + start
                        block.positions = from
                        block.cache = user
                        block.firstRequest = start - range.lowerBound
                        block.isWarmup = isWarmup
                        block.warmup = warmup
                        if namesObjects {
                            objects.removeAll(keepingCapacity: true)
                            for index in start..<end { objects.append(trace.entries[Int(positions[index])]) }
                            objects.withUnsafeBufferPointer { named in
                                block.objects = named.baseAddress ?? block.objects
                                body(block)
                            }
                        } else {
                            body(block)
                        }
                        start = end
                    }
                }
            }
        }
    }
}

/// Memory for the columns of one block, reused for each block.
private struct BlockScratch: ~Copyable {
    private let columns: RequestColumns
    private let categorySets: CategorySets
    private let sizes: UnsafeMutablePointer<Int>?
    private let times: UnsafeMutablePointer<Int64>?
    private let categories: UnsafeMutablePointer<CategorySetID>?
    private let users: UnsafeMutablePointer<UInt32>?
    private let deadlines: UnsafeMutablePointer<Int64>?

    init(_ trace: Trace, columns: RequestColumns, capacity: Int) {
        func memory<Value>(_ isNeeded: Bool, _ value: Value) -> UnsafeMutablePointer<Value>? {
            guard isNeeded else { return nil }
            let memory = UnsafeMutablePointer<Value>.allocate(capacity: capacity)
            memory.initialize(repeating: value, count: capacity)
            return memory
        }
        self.columns = columns
        categorySets = trace.categorySets
        sizes = memory(trace.uniformSize == nil, 1)
        times = memory(columns.contains(.times), 0)
        categories = memory(columns.contains(.categories) && trace.hasCategories, 0)
        users = memory(columns.contains(.users) && trace.hasUsers, .max)
        deadlines = memory(columns.contains(.deadlines), .max)
    }

    deinit {
        sizes?.deallocate()
        times?.deallocate()
        categories?.deallocate()
        users?.deallocate()
        deadlines?.deallocate()
    }

    /// Returns an empty block over this memory.
    func block(objects: UnsafePointer<UInt32>, entries: UnsafePointer<EntryID>) -> RequestBlock {
        RequestBlock(
            count: 0, objects: objects, entries: entries, sizes: sizes.map { UnsafePointer($0) },
            times: times.map { UnsafePointer($0) }, categories: categories.map { UnsafePointer($0) },
            users: users.map { UnsafePointer($0) }, deadlines: deadlines.map { UnsafePointer($0) },
            categorySets: categorySets)
    }

    /// Fills the columns for the requests at the positions that `position` returns for 0..<count.
    @inline(__always)
    func fill(from trace: Trace, count: Int, position: (Int) -> Int) {
        if let sizes {
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
        if let times {
            for index in 0..<count { times[index] = trace.times[position(index)] }
        }
        if let deadlines {
            for index in 0..<count {
                let place = position(index)
                let lifetime = Int64(trace.lifetimes[place])
                // An entry is still found at the end of its lifetime, as in libCacheSim.
                deadlines[index] = lifetime == 0 ? .max : trace.times[place] &+ lifetime * 1_000_000 &+ 1
            }
        }
        if let categories {
            for index in 0..<count { categories[index] = trace.categorySet(ofRequest: position(index)) }
        }
        if let users {
            trace.users.withUnsafeBufferPointer { all in
                for index in 0..<count { users[index] = all[position(index)] }
            }
        }
    }
}
