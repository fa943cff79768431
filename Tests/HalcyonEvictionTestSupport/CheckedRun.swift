import HalcyonEviction

/// A cache with a ``CheckedPolicy`` inside, ready to serve a ``MicroTrace``.
public struct CheckedRun {
    /// The cache.
    public let cache: AnyCache
    /// What its policy was told.
    public let record: PolicyRecord

    /// An empty cache under `policy`, with the categories of micro-traces defined.
    public init(_ policy: ConfiguredPolicy, _ context: PolicyContext) {
        let record = PolicyRecord()
        cache = policy.makeCache(context, decorator: PolicyChecker(record))
        self.record = record
        for set in 1..<MicroTrace.categorySetCount {
            cache.define(categorySet: CategorySetID(set), members: [UInt32(set - 1)])
        }
    }

    /// Serves all accesses one by one.
    @discardableResult
    public func serve(_ accesses: some Sequence<Access>) -> [AccessOutcome] {
        accesses.map { cache.access($0) }
    }

    /// Serves all accesses one by one under recycled numbers; see ``RecycledNumbers``.
    ///
    /// - Parameter interval: the requests after which the numbers that the cache has no use for are taken back.
    /// - Returns: the outcomes, and how many numbers went to another object.
    public func serve(
        _ accesses: some Sequence<Access>, recyclingEvery interval: Int
    ) -> (outcomes: [AccessOutcome], recycled: Int) {
        var keys = RecycledNumbers()
        let outcomes = accesses.map { access in
            var renumbered = access
            renumbered.entry = keys.number(of: access.entry)
            let outcome = cache.access(renumbered)
            if access.requestNumber % interval == 0 { keys.collect(from: cache) }
            return outcome
        }
        return (outcomes, keys.recycled)
    }

    /// Serves all accesses in batches of `size`.
    public func serve(_ accesses: [Access], batchesOf size: Int) -> [AccessOutcome] {
        let entries = accesses.map(\.entry)
        let sizes = accesses.map(\.size)
        let times = accesses.map(\.time)
        let categories = accesses.map(\.categories)
        let users = accesses.map(\.user)
        var outcomes = [AccessOutcome](repeating: .refused, count: accesses.count)
        for start in stride(from: 0, to: accesses.count, by: size) {
            let end = min(start + size, accesses.count)
            outcomes.withUnsafeMutableBufferPointer { outcomes in
                entries.withUnsafeBufferPointer { entries in
                    sizes.withUnsafeBufferPointer { sizes in
                        times.withUnsafeBufferPointer { times in
                            categories.withUnsafeBufferPointer { categories in
                                users.withUnsafeBufferPointer { users in
                                    let batch = RequestBatch(
                                        firstRequest: start,
                                        entries: UnsafeBufferPointer(rebasing: entries[start..<end]),
                                        sizes: sizes.baseAddress.map { $0 + start },
                                        times: times.baseAddress.map { $0 + start },
                                        categories: categories.baseAddress.map { $0 + start },
                                        users: users.baseAddress.map { $0 + start })
                                    if let base = outcomes.baseAddress { cache.replay(batch, outcomes: base + start) }
                                }
                            }
                        }
                    }
                }
            }
        }
        return outcomes
    }
}
