import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// The caches of a run: one for all requests, or one for each user; each of one tier or two, with or without prefetching.
///
/// The caches are those of the live storages; the set adds nothing to them but which request goes to which cache.
final class CacheSet {
    private let resolved: ResolvedJob
    private let facts: SourceFacts
    private let timer: RunTimer?
    /// The models that all caches of a tier share; `nil` if each cache has its own, or the policy learns nothing.
    private let models: (memory: AnyObject?, disk: AnyObject?)
    private var caches: [TieredCache?] = []
    /// The number of requests that each cache has served, where a block mixes caches.
    private var requestCounts: [Int] = []
    private var prefetching: PrefetchLane?
    private var definitions: CategoryDefinitions
    private var evictionsBefore: [Int] = []
    private var summary = CacheSummary()
    /// The cache of the last block, where caches come one after another.
    private var current = -1

    /// - Parameters:
    ///   - timer: receives times; `nil` for caches that are not timed.
    ///   - model: the model to share in place of new ones.
    ///   - prefetch: what is prefetched; `nil` for nothing.
    init(
        _ resolved: ResolvedJob, facts: SourceFacts, timer: RunTimer?, model: AnyObject?, prefetch: PrefetchOptions?
    ) {
        self.resolved = resolved
        self.facts = facts
        self.timer = timer
        let job = resolved.job
        if let model {
            models = (model, nil)
        } else if resolved.sharesModel {
            // A model learns from each access to its tier once, so that each tier has one.
            let context = facts.unit.context(capacity: resolved.capacity, seed: job.options.seed)
            let disk = job.policy.makeModel(context)
            models = (job.tiers == nil ? disk : job.policy.makeModel(context), disk)
        } else {
            models = (nil, nil)
        }
        definitions = CategoryDefinitions(isShared: model != nil || resolved.sharesModel || job.mode == .shared)
        if let prefetch {
            prefetching = PrefetchLane(prefetch, job: job, facts: facts)
        }
        // A loaded trace is served by all its caches at once, unless users come one after another.
        if prefetch != nil || resolved.sharesModel || model != nil || job.mode == .shared {
            for number in 0..<(job.mode == .shared ? 1 : facts.userCount) { _ = cache(number) }
        }
    }

    /// The columns that the caches read.
    var columns: RequestColumns {
        let traits = resolved.job.policy.info.traits
        var columns: RequestColumns = []
        let tiers = resolved.job.tiers
        if traits.contains(.usesTime) || tiers?.memoryLifetime != nil || tiers?.diskLifetime != nil {
            columns.insert(.times)
        }
        if traits.contains(.usesCategories) { columns.insert(.categories) }
        if traits.contains(.usesUsers) || resolved.job.mode == .perUser { columns.insert(.users) }
        if prefetching != nil { columns.formUnion([.times, .categories, .users]) }
        return columns
    }

    /// The prefetch policy; `nil` without prefetching.
    var prefetchPolicy: (any PrefetchPolicy)? { prefetching?.policy }

    /// Serves the requests of a block and writes the outcome of each to `outcomes`.
    func serve(_ block: borrowing RequestBlock, outcomes: UnsafeMutableBufferPointer<AccessOutcome>) {
        if let number = block.cache, prefetching == nil {
            if number != current, current >= 0 { retire(current) }
            current = number
            let cache = cache(number)
            definitions.define(block, in: cache, number: number)
            if let first = outcomes.baseAddress { serve(block, by: cache, first) }
            if block.isWarmup { evictionsBefore[number] = cache.evictions }
            return
        }
        for index in 0..<block.count {
            let number = block.cache ?? Int(block.users?[index] ?? 0)
            let cache = cache(number)
            let access = block.access(index, requestNumber: requestCounts[number])
            requestCounts[number] += 1
            definitions.define(access.categories, block.categorySets, in: cache, number: number)
            if let prefetching {
                outcomes[index] = prefetching.serve(access, cache: number, isCounted: !block.isWarmup, block, times)
            } else {
                outcomes[index] = times?.access { cache.access(access) } ?? cache.access(access)
            }
        }
    }

    private var times: CacheTimes? { timer?.times }

    /// Serves consecutive requests to one cache: a call for all, unless each is timed or goes through two tiers.
    private func serve(
        _ block: borrowing RequestBlock, by cache: TieredCache, _ outcomes: UnsafeMutablePointer<AccessOutcome>
    ) {
        if let times {
            for index in 0..<block.count {
                let access = block.access(index, requestNumber: block.firstRequest + index)
                outcomes[index] = times.access { cache.access(access) }
            }
        } else if cache.disk != nil {
            for index in 0..<block.count {
                outcomes[index] = cache.access(block.access(index, requestNumber: block.firstRequest + index))
            }
        } else {
            cache.memory.replay(block.batch, outcomes: outcomes)
        }
    }

    /// Notes the state of all caches at the end of the warm-up.
    func endWarmup() {
        for (number, cache) in caches.enumerated() { if let cache { evictionsBefore[number] = cache.evictions } }
    }

    /// The state of all caches at the end. O(entries).
    func finish() -> CacheSummary {
        for number in caches.indices { retire(number) }
        summary.prefetching = prefetching.map { ($0.counts, $0.policy) }
        return summary
    }

    /// Adds a cache to the summary, and releases it.
    private func retire(_ number: Int) {
        guard let cache = caches[number] else { return }
        let entries = prefetching?.finish(number) ?? entryCount(number)
        summary.add(cache, entries: entries, evictionsBefore: evictionsBefore[number])
        caches[number] = nil
    }

    /// The number of entry numbers in use.
    private func entryCount(_ number: Int) -> Int {
        if let users = facts.input?.users, resolved.job.mode == .perUser { return users.objectCounts[number] }
        return facts.input?.trace.objectCount ?? streamedEntries(number)
    }

    /// In a stream: the number of entry numbers in use of a cache.
    var streamedEntries: (Int) -> Int = { _ in 0 }

    private func cache(_ number: Int) -> TieredCache {
        if number < caches.count, let cache = caches[number] { return cache }
        while caches.count <= number {
            caches.append(nil)
            requestCounts.append(0)
            evictionsBefore.append(0)
        }
        let cache = makeCache(number)
        caches[number] = cache
        prefetching?.open(cache, number: number)
        return cache
    }

    private func makeCache(_ number: Int) -> TieredCache {
        let job = resolved.job
        let isPerUser = job.mode == .perUser
        var context = facts.unit.context(
            capacity: resolved.capacity, entries: entriesInAdvance(number),
            seed: job.options.seed &+ (isPerUser ? UInt64(number) : 0), future: future(number))
        context.adaptsModel = isPerUser && job.models == .adapted && models.disk != nil
        context.prefetches = prefetching != nil
        guard let tiers = job.tiers, let memoryCapacity = resolved.memoryCapacity else {
            return TieredCache(memory: job.policy.makeCache(context, model: models.memory, times: times), disk: nil)
        }
        context.lifetime = tiers.diskLifetime
        var memory = context
        memory.capacity = facts.unit.capacity(memoryCapacity)
        memory.lifetime = tiers.memoryLifetime
        return TieredCache(
            memory: job.policy.makeCache(memory, model: models.memory, times: times),
            disk: job.policy.makeCache(context, model: models.disk, times: times))
    }

    private func entriesInAdvance(_ number: Int) -> Int {
        guard prefetching == nil, let input = facts.input else { return 0 }
        if resolved.job.mode == .perUser { return input.users?.objectCounts[number] ?? 0 }
        return input.trace.objectCount
    }

    private func future(_ number: Int) -> FutureKnowledge? {
        guard resolved.job.policy.info.traits.contains(.needsFuture), let input = facts.input else { return nil }
        guard resolved.job.mode == .perUser, let users = input.users else { return input.future }
        return FutureKnowledge(
            entries: Array(users.entries[users.starts[number]..<users.starts[number + 1]]),
            entryCount: users.objectCounts[number])
    }
}

/// The state of all caches of a run at its end.
struct CacheSummary {
    /// The number of caches.
    var caches = 0
    /// The entries evicted since the warm-up.
    var evictions = 0
    var residents = 0
    var metadataBytes = MetadataBytes()
    /// What the policy of the last cache publishes.
    var metrics: [PolicyMetric] = []
    var prefetching: (counts: PrefetchCounts, policy: any PrefetchPolicy)?
    /// The entry numbers in use, counted once for each tier.
    private var numbers = 0
    /// The entries that are not resident and that their policy remembers.
    private var remembered = 0

    /// Adds a cache. O(entries).
    ///
    /// - Parameter entries: the number of entry numbers in use.
    mutating func add(_ cache: TieredCache, entries: Int, evictionsBefore: Int) {
        let states = cache.states
        caches += 1
        evictions += states.reduce(0) { $0 + $1.evictions } - evictionsBefore
        residents += states.reduce(0) { $0 + $1.count }
        metadataBytes = states.reduce(metadataBytes) { $0 + $1.metadataBytes }
        metrics = cache.metrics(states)
        numbers += entries * states.count
        remembered += cache.rememberedCount(below: EntryID(entries))
    }

    /// The heap bytes for each resident; see ``RunResult/metadataBytesPerResident``.
    var bytesPerResident: Double {
        guard residents > 0, numbers > 0 else { return 0 }
        let perNumber = Double(metadataBytes.perNumber) / Double(numbers)
        let bytes = perNumber * Double(residents + remembered) + Double(metadataBytes.perResident)
        return bytes / Double(residents)
    }
}

/// Reports each category set to the policy of a cache before the first access that carries it, at most a block in advance.
private struct CategoryDefinitions {
    /// Whether what one cache learns of a set, all know.
    let isShared: Bool
    /// By set: one more than the last cache that knows it.
    private var knownBy: [Int] = []
    /// The sets that each of several caches knows, where a block mixes caches.
    private var known: [Set<CategorySetID>] = []

    init(isShared: Bool) { self.isShared = isShared }

    /// Reports the new sets of a block to the one cache that serves it.
    mutating func define(_ block: borrowing RequestBlock, in cache: TieredCache, number: Int) {
        guard let categories = block.categories else { return }
        let owner = isShared ? 1 : number + 1
        while knownBy.count < block.categorySets.count { knownBy.append(0) }
        for index in 0..<block.count {
            let set = categories[index]
            if knownBy[Int(set)] == owner { continue }
            knownBy[Int(set)] = owner
            if set != 0 { cache.define(set, Array(block.categorySets[set])) }
        }
    }

    /// Reports a set, if it is new, to the cache that is accessed.
    mutating func define(_ set: CategorySetID, _ sets: CategorySets, in cache: TieredCache, number: Int) {
        if set == 0 { return }
        if isShared {
            while knownBy.count < sets.count { knownBy.append(0) }
            if knownBy[Int(set)] == 1 { return }
            knownBy[Int(set)] = 1
        } else {
            while known.count <= number { known.append([]) }
            if !known[number].insert(set).inserted { return }
        }
        cache.define(set, Array(sets[set]))
    }
}
