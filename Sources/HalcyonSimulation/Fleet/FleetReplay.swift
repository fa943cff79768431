import HalcyonEviction
import HalcyonTrace

/// Every user has a cache of their own.
package struct FleetReplay {
    let trace: Trace
    let plan: FleetPlan
    let options: ReplayOptions
    let progress: ReplayProgress?

    package init(trace: Trace, plan: FleetPlan, options: ReplayOptions, progress: ReplayProgress?) {
        self.trace = trace
        self.plan = plan
        self.options = options
        self.progress = progress
    }

    /// Replays each user's requests through a cache of `capacity`; what the users' policies learn stays their own.
    ///
    /// Users do not meet, so they are replayed one after another, which keeps each small cache in the processor's.
    package func run(_ maker: CacheMaker, capacity: Int) -> Measured {
        var counts = makeCounts(maker)
        let scratch = ColumnScratch(needs: ColumnNeeds(trace: trace, maker: maker, options: countingOptions))
        var states: [(CacheState, CacheState)] = []
        states.reserveCapacity(plan.userCount)
        var entries = EntryCounts()
        let clock = ContinuousClock()
        var seconds = 0.0
        for user in 0..<plan.userCount {
            let began = clock.now
            let (cache, before) = replay(user, maker, capacity, scratch, &counts)
            seconds += (clock.now - began).inSeconds
            states.append((before, cache.state()))
            entries.add(cache, numbers: plan.objectCounts[user], tiers: maker.tiers)
        }
        return Measured(counts: counts, caches: states, seconds: seconds, entries: entries)
    }

    /// Replays one user's requests; returns the cache, and its state after the warm-up.
    private func replay(
        _ user: Int, _ maker: CacheMaker, _ capacity: Int, _ scratch: borrowing ColumnScratch,
        _ counts: inout Counts
    ) -> (CacheRun, CacheState) {
        let range = plan.starts[user]..<plan.starts[user + 1]
        var context = context(user, capacity)
        if maker.traits.contains(.needsFuture) {
            context.future = FutureKnowledge(
                entries: Array(plan.entries[range]), entryCount: plan.objectCounts[user])
        }
        let cache = maker.make(context)
        var definitions = CategoryDefinitions(sets: trace.categorySets, isNeeded: scratch.needs.categories)
        var before = cache.state()
        var index = range.lowerBound
        while index < range.upperBound {
            let start = index
            let (length, isWarmup) = stretch(from: start, end: range.upperBound, warmup: counts.warmup)
            let position: (Int) -> Int = { Int(plan.positions[start + $0]) }
            scratch.fill(from: trace, count: length, position: position)
            if definitions.isPending {
                definitions.announce(upTo: length, in: cache) { trace.categorySet(ofRequest: position($0)) }
            }
            plan.entries.withUnsafeBufferPointer { entries in
                scratch.serve(
                    UnsafeBufferPointer(rebasing: entries[start..<start + length]),
                    firstRequest: start - range.lowerBound, by: cache)
            }
            scratch.tallyScattered(length, into: &counts, position: position)
            maker.timer?.collect(isCounted: !isWarmup)
            index += length
            progress?.advance(by: length)
            if isWarmup { before = cache.state() }
        }
        return (cache, before)
    }

    /// How many of a user's next requests lie on one side of the end of the warm-up, and on which.
    private func stretch(from start: Int, end: Int, warmup: Int) -> (length: Int, isWarmup: Bool) {
        let limit = min(end, start + ColumnScratch.batchLength)
        if Int(plan.positions[start]) >= warmup { return (limit - start, false) }
        var index = start
        while index < limit, Int(plan.positions[index]) < warmup { index += 1 }
        return (index - start, true)
    }

    func context(_ user: Int, _ capacity: Int) -> PolicyContext {
        CacheUnit(trace).context(
            capacity: capacity, entries: plan.objectCounts[user], seed: options.seed &+ UInt64(user))
    }

    func makeCounts(_ maker: CacheMaker) -> Counts {
        Counts(trace: trace, options: countingOptions, latency: maker.latency)
    }

    /// A fleet always counts by user, because it reports how users differ.
    var countingOptions: ReplayOptions {
        var options = options
        options.byUser = true
        return options
    }
}
