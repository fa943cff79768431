import HalcyonEviction
import HalcyonTrace

/// One cache serves every request of a trace, in order.
///
/// The cache is the very state machine of the live storages; the replay adds nothing to it but counting.
package struct SharedReplay {
    let trace: Trace
    let options: ReplayOptions
    let progress: ReplayProgress?

    package init(trace: Trace, options: ReplayOptions, progress: ReplayProgress?) {
        self.trace = trace
        self.options = options
        self.progress = progress
    }

    /// Replays the trace through a cache of `capacity`. O(requests) beside what the policy takes.
    package func run(_ maker: CacheMaker, capacity: Int, future: FutureKnowledge?) -> Measured {
        let cache = maker.make(
            CacheUnit(trace).context(
                capacity: capacity, entries: trace.objectCount, seed: options.seed, future: future))
        var counts = Counts(trace: trace, options: options, latency: maker.latency)
        let needs = ColumnNeeds(trace: trace, maker: maker, options: options)
        let scratch = ColumnScratch(needs: needs)
        var definitions = CategoryDefinitions(sets: trace.categorySets, isNeeded: needs.categories)
        var before = cache.state()
        let clock = ContinuousClock()
        let began = clock.now
        trace.entries.withUnsafeBufferPointer { entries in
            var position = 0
            while position < entries.count {
                if position == counts.warmup { before = cache.state() }
                let start = position
                let length = counts.stretch(from: start, limit: min(ColumnScratch.batchLength, entries.count - start))
                scratch.fill(from: trace, count: length) { start + $0 }
                if definitions.isPending {
                    definitions.announce(upTo: length, in: cache) { trace.categorySet(ofRequest: start + $0) }
                }
                scratch.serve(
                    UnsafeBufferPointer(rebasing: entries[start..<start + length]), firstRequest: start, by: cache)
                scratch.tally(length, from: start, into: &counts)
                maker.timer?.collect(isCounted: start >= counts.warmup)
                position += length
                progress?.advance(by: length)
            }
        }
        let seconds = (clock.now - began).inSeconds
        var counted = EntryCounts()
        counted.add(cache, numbers: trace.objectCount, tiers: maker.tiers)
        return Measured(counts: counts, caches: [(before, cache.state())], seconds: seconds, entries: counted)
    }
}

/// Tells a cache's policy of each category set before the first access that carries it, and never earlier.
struct CategoryDefinitions {
    let sets: CategorySets
    private var announced: [Bool]
    private var pending: Int

    init(sets: CategorySets, isNeeded: Bool) {
        self.sets = sets
        announced = Array(repeating: false, count: isNeeded ? sets.count : 0)
        pending = announced.count
    }

    /// Whether there are sets that have not occurred yet.
    var isPending: Bool { pending > 0 }

    /// Announces whatever is new among the sets of the next `count` requests; only then `cache` is asked for.
    mutating func announce(upTo count: Int, in cache: @autoclosure () -> CacheRun, set: (Int) -> UInt32) {
        for index in 0..<count {
            let number = set(index)
            if announced[Int(number)] { continue }
            announced[Int(number)] = true
            pending -= 1
            cache().define(number, Array(sets[number]))
        }
    }
}

extension Duration {
    var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
