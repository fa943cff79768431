import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// A replay in which objects are fetched ahead of need: in one cache for all, or in one for each user.
///
/// It goes through the trace in order of time, because what one user does teaches the policy what the next may want.
package struct PrefetchReplay {
    let trace: Trace
    let options: ReplayOptions
    let prefetch: PrefetchOptions
    let mode: ReplayMode
    let progress: ReplayProgress?

    package init(
        trace: Trace, options: ReplayOptions, prefetch: PrefetchOptions, mode: ReplayMode, progress: ReplayProgress?
    ) {
        self.trace = trace
        self.options = options
        self.prefetch = prefetch
        self.mode = mode
        self.progress = progress
    }

    /// What a pass through the trace measured.
    struct Pass {
        var measured: Measured
        var counts: PrefetchCounts
        var hits: [Bool]
    }

    /// Replays twice, without and with prefetching.
    ///
    /// - Parameter maker: makes what makes the caches, anew for each pass.
    /// - Returns: what was measured with prefetching, what came of it, and the policy as it is at the end.
    package func run(_ maker: () -> CacheMaker, capacity: Int) -> (Measured, PrefetchResult, any PrefetchPolicy) {
        let without = pass(maker(), capacity: capacity, policy: nil, baseline: nil)
        let policy = makePolicy()
        let with = pass(maker(), capacity: capacity, policy: policy, baseline: without.hits)
        let result = PrefetchResult(
            prefetch, with.counts, policy: policy, with: with.measured.counts.total,
            without: without.measured.counts.total)
        return (with.measured, result, policy)
    }

    /// Replays with prefetching only, where the same without is not to stand beside it.
    package func run(once maker: CacheMaker, capacity: Int) -> Measured {
        let measured = pass(maker, capacity: capacity, policy: makePolicy(), baseline: nil).measured
        // A pass is half of what is expected of a replay.
        progress?.advance(by: trace.count / 0x10000 * 0x8000)
        return measured
    }

    private func makePolicy() -> any PrefetchPolicy {
        var context = PrefetchContext(
            seed: options.seed, objects: trace.objectCount, fetchLatency: prefetch.fetchLatency,
            cachesPerUser: mode == .perUser)
        if prefetch.needsKeys, let next = NextKeys(trace) {
            context.nextByKey = { object in next.object(after: object) }
        }
        return prefetch.makePolicy(context)
    }

    private func pass(
        _ maker: CacheMaker, capacity: Int, policy: (any PrefetchPolicy)?, baseline: [Bool]?
    ) -> Pass {
        var countingOptions = options
        countingOptions.byUser = options.byUser || mode == .perUser
        var counts = Counts(trace: trace, options: countingOptions, latency: nil)
        let unit = CacheUnit(trace)
        var prefetched = PrefetchCounts(unit: unit)
        let seen = SeenObjects(trace)
        var hits = [Bool](repeating: false, count: baseline == nil ? trace.count : 0)
        let fleet = mode == .perUser
        let caches = (0..<(fleet ? trace.userCount : 1)).map { number in
            var context = unit.context(
                capacity: capacity, seed: options.seed &+ (fleet ? UInt64(number) : 0))
            context.prefetches = true
            return PrefetchedCache(
                maker.make(context), capacity: context.capacity, unit: unit, budget: prefetch.budget,
                latency: prefetch.fetchLatency, seen: seen)
        }
        var announcements = CategoryAnnouncements(trace, caches: maker.sharesModel ? 1 : caches.count)
        var before = caches.map(\.state)
        var plan = PrefetchPlan()
        let clock = ContinuousClock()
        let began = clock.now
        var paused = 0.0
        for position in 0..<trace.count {
            if position & 0xFFFF == 0xFFFF { progress?.advance(by: 0x8000) }
            if position == counts.warmup, position > 0 {
                // No part of the replay, and with many caches as long as many requests.
                let start = clock.now
                before = caches.map(\.state)
                paused += (clock.now - start).inSeconds
            }
            let isCounted = position >= counts.warmup
            let user = trace.hasUsers ? trace.users[position] : .max
            let cache = caches[fleet ? Int(user) : 0]
            let set = trace.hasCategories ? trace.categorySet(ofRequest: position) : 0
            announcements.announce(set, toCache: fleet ? Int(user) : 0, of: cache, and: policy)
            let size = unit.size(ofRequest: position, in: trace)
            let access = Access(
                entry: .none, time: trace.times[position], size: size, categories: set, user: user,
                object: trace.entries[position])
            let isTimed = policy != nil && position & 63 == 63
            let outcome = cache.serve(access, isCounted: isCounted, counts: &prefetched, policy: policy)
            let start = isTimed ? clock.now : began
            cache.tell(access, isHit: outcome.isHit, counts: &prefetched, to: policy)
            if let policy {
                seen.note(access)
                cache.prefetch(after: access, isCounted: isCounted, counts: &prefetched, policy: policy, plan: &plan)
                if isTimed {
                    prefetched.plansTimed += 1
                    prefetched.planningNanoseconds += Int((clock.now - start).inSeconds * 1e9)
                }
            }
            counts.count(at: position, outcome, size: size, categories: set, user: user)
            if let baseline {
                if isCounted && baseline[position] != outcome.isHit {
                    if outcome.isHit { prefetched.missesAvoided += 1 } else { prefetched.hitsLost += 1 }
                }
            } else {
                hits[position] = outcome.isHit
            }
        }
        let seconds = (clock.now - began).inSeconds - paused
        for cache in caches { cache.finish(&prefetched) }
        let states = zip(before, caches).map { ($0, $1.state) }
        var entries = EntryCounts()
        for cache in caches { cache.count(&entries) }
        return Pass(
            measured: Measured(counts: counts, caches: states, seconds: seconds, entries: entries),
            counts: prefetched, hits: hits)
    }
}

/// Tells caches and prefetch policy of each category set before the first access that carries it.
private struct CategoryAnnouncements {
    private let sets: CategorySets
    /// The sets that are known: to the policy and to caches that share what they are told, and to each of those that do not.
    private var isKnown: [Bool]
    private var known: [Set<CategorySetID>]

    /// - Parameter caches: how many there are that do not share what they are told.
    init(_ trace: Trace, caches: Int) {
        sets = trace.categorySets
        isKnown = Array(repeating: false, count: trace.hasCategories ? sets.count : 0)
        known = Array(repeating: [], count: trace.hasCategories && caches > 1 ? caches : 0)
    }

    mutating func announce(
        _ set: CategorySetID, toCache number: Int, of cache: PrefetchedCache, and policy: (any PrefetchPolicy)?
    ) {
        guard set != 0, !isKnown.isEmpty else { return }
        let isNew = !isKnown[Int(set)]
        isKnown[Int(set)] = true
        if known.isEmpty ? isNew : known[number].insert(set).inserted { cache.define(set, Array(sets[set])) }
        if isNew { policy?.define(categorySet: set, members: Array(sets[set])) }
    }
}
