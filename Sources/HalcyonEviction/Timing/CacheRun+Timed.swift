extension CacheRun {
    /// A cache around `policy`, compiled for its type; if there are `times`, one that notes its times there.
    ///
    /// Without them it is the very cache of ``init(_:context:)``: a cache that is not timed pays nothing.
    @inlinable @inline(__always)
    init<Policy: EvictionPolicy & ~Copyable>(
        _ policy: consuming Policy, context: PolicyContext, times: CacheTimes?
    ) {
        if context.prefetches {
            let cache = CacheRun(PrefetchingPolicy(policy), context: context)
            if let times { self.init(cache, times: times) } else { self = cache }
        } else if let times {
            self.init(CacheRun(TimedPolicy(policy, times: times), context: context), times: times)
        } else {
            self.init(policy, context: context)
        }
    }

    /// `cache` with a clock around each access.
    @usableFromInline
    init(_ cache: CacheRun, times: CacheTimes) {
        self.init(
            replay: { batch, outcomes in
                for position in 0..<batch.entries.count {
                    let access = batch.access(position)
                    outcomes[position] = times.access { cache.access(access) }
                }
            },
            access: { access in times.access { cache.access(access) } },
            contains: cache.contains, remembers: cache.remembers, remove: cache.remove, define: cache.define,
            state: cache.state, used: cache.used, takeVictims: cache.takeVictims, reconsider: cache.reconsider,
            containsFresh: cache.entriesExpire ? cache.containsFresh : nil, rememberedCount: cache.rememberedCount)
    }
}
