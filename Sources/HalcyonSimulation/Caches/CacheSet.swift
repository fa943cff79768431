import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTrace

/// The caches of a run: one for all requests or one per user, each with one or two tiers, with or without
/// prefetching.
///
/// The caches are those of the live storages. The set only assigns requests to caches.
///
/// The per-user caches of a stream number their own entries. All of them stay in memory until the end; `replay --users i/n`
/// splits the users of a large stream.
struct CacheSet {
    /// The policy of each cache, or of its disk tier.
    private let policy: ConfiguredPolicy
    /// The policies of caches that begin with a pretrained model, in place of ``policy``.
    private let pretrained: DeviceModels?
    /// The policy of each memory tier; ``policy`` without tiers.
    private let memoryPolicy: ConfiguredPolicy
    private let isPerUser: Bool
    private let seed: UInt64
    /// The context of each cache (of its disk with two tiers), except for the number of entries, the seed and the
    /// future.
    private let context: PolicyContext
    /// The context of each memory tier. Nil with one tier.
    private let memoryContext: PolicyContext?
    /// The ratio of the size of an access in memory to that on disk; 1 for accesses that count entries.
    private let decodedSizeRatio: Double
    private let input: ReplayInput?
    private let timer: RunTimer?
    /// The models that all caches of a tier share. Nil if each cache has its own model, or the policy does not learn.
    private let models: (memory: AnyObject?, disk: AnyObject?)
    private var prefetching: PrefetchLane?
    /// The lists that the policies receive; `nil` without any, and with prefetching, which hands them on.
    private var lists: ShownListQueue?
    /// The numbers of the objects of the user that is served, by their numbers in the trace; `nil` if they are the same.
    private var deviceNumbers: [UInt32: UInt32]?
    /// The columns that the caches read.
    let columns: RequestColumns

    /// Whether each cache numbers its own entries, because the source does not.
    private let numbersEntries: Bool
    /// The cache of each user; `nil` before its first request, and after it was added to the summary.
    private var caches: [TieredCache?] = []
    private var definitions: ReportedCategorySets
    private let usesCategories: Bool
    /// The number of objects of the source, known at its end.
    private var objectCount = 0
    private var summary = CacheSummary()
    /// Whether the caches train one model in turn, each with what its user did.
    private let trainsDevices: Bool
    private let restart: RestartOptions?
    /// The cache of the last block, if caches are served one after another.
    private var current = -1

    /// - Parameters:
    ///   - timer: receives times; `nil` for caches that are not timed.
    ///   - model: the model to share instead of new ones.
    ///   - prefetch: the prefetch options; `nil` for no prefetching.
    init(
        _ resolved: ResolvedJob, facts: SourceFacts, timer: RunTimer?, model: AnyObject?, prefetch: PrefetchOptions?
    ) {
        let job = resolved.job
        numbersEntries = job.mode == .perUser && facts.input == nil && prefetch == nil
        usesCategories = job.traits.contains(.usesCategories) || prefetch != nil
        policy = job.mainPolicy
        pretrained = resolved.models
        memoryPolicy = job.memoryPolicy ?? job.mainPolicy
        isPerUser = job.mode == .perUser
        seed = job.options.seed
        restart = job.options.restart
        input = facts.input
        self.timer = timer
        prefetching = prefetch.map { PrefetchLane($0, resolved: resolved, facts: facts) }
        // A prefetch policy that does not plan on lists plans as if there were none.
        let showsLists =
            job.traits.contains(.usesLists) && facts.input?.trace.lists != nil && prefetching?.plansOnLists != false
        if showsLists, prefetching == nil, let trace = facts.input?.trace, let shown = trace.lists {
            lists = ShownListQueue(shown, of: trace, isByUser: resolved.servesUsersInTurn(model: model))
        }
        if let model {
            models = (model, nil)
        } else if resolved.sharesModel {
            // A model learns from each access to its tier once, so each tier has its own.
            var context = facts.unit.context(capacity: resolved.capacity, seed: seed)
            context.showsLists = showsLists
            let disk = policy.makeModel(context)
            models = (job.tiers == nil ? disk : memoryPolicy.makeModel(context), disk)
        } else {
            models = (nil, nil)
        }
        var context = facts.unit.context(capacity: resolved.capacity, seed: seed)
        context.prefetches = prefetch != nil
        context.servesOneUser = isPerUser && job.knowledge == .device
        context.showsLists = showsLists
        context.lifetime = job.tiers?.diskLifetime
        let expires = facts.input?.trace.lifetimes.isEmpty == false
        context.entriesExpire = expires
        self.context = context
        let tiers = job.tiers
        decodedSizeRatio = facts.unit.usesUniformSizes ? 1 : tiers?.decodedSizeRatio ?? 1
        memoryContext = resolved.memoryCapacity.map { capacity in
            var memory = context
            memory.capacity = tiers.map { facts.unit.memoryCapacity(capacity, $0) } ?? facts.unit.capacity(capacity)
            memory.lifetime = tiers?.memoryLifetime
            return memory
        }
        columns = Self.columns(job, prefetches: prefetch != nil).union(expires ? [.times, .deadlines] : [])
            .union(restart == nil ? [] : .times)
        trainsDevices = model != nil && isPerUser && job.knowledge == .device
        let isShared = !trainsDevices && (model != nil || resolved.sharesModel || !isPerUser)
        definitions = ReportedCategorySets(isShared: isShared)
        // All caches of a loaded trace are in use at once, unless users are served one after another.
        if facts.input != nil, isShared || prefetching?.hasPolicyPerCache == false {
            for number in 0..<(isPerUser ? facts.userCount : 1) { _ = open(number) }
        }
    }

    private static func columns(_ job: ReplayJob, prefetches: Bool) -> RequestColumns {
        if prefetches { return [.times, .categories, .users] }
        let traits = job.traits
        var columns: RequestColumns = []
        if traits.contains(.usesTime) || job.tiers?.memoryLifetime != nil || job.tiers?.diskLifetime != nil {
            columns.insert(.times)
        }
        if traits.contains(.usesCategories) { columns.insert(.categories) }
        if traits.contains(.usesUsers) || job.mode == .perUser { columns.insert(.users) }
        return columns
    }

    /// What the planner has learned; `nil` without one.
    var planner: PretrainedPlanner? { prefetching?.summary.planner }

    /// Serves the requests of a block and writes the outcome of each to `outcomes`.
    mutating func serve(_ block: borrowing RequestBlock, _ outcomes: UnsafeMutablePointer<AccessOutcome>) {
        if block.count == 0 { return }
        if block.cache == nil || prefetching != nil { return serveMixed(block, outcomes) }
        let number = block.cache ?? 0
        if number != current {
            if current >= 0 { retire(current) }
            beginLists(ofUser: number)
        }
        current = number
        let cache = open(number)
        definitions.define(block, in: cache, number: number)
        if let times = timer?.times {
            for index in 0..<block.count {
                let access = block.access(index, requestNumber: block.firstRequest + index)
                let deadline = block.deadlines?[index]
                show(before: block.position(index), to: cache)
                outcomes[index] = times.access { cache.access(access, deadline: deadline) }
            }
        } else if let deadlines = block.deadlines {
            for index in 0..<block.count {
                show(before: block.position(index), to: cache)
                outcomes[index] = cache.access(
                    block.access(index, requestNumber: block.firstRequest + index), deadline: deadlines[index])
            }
        } else if cache.hasDisk || cache.restarts || lists != nil {
            for index in 0..<block.count {
                show(before: block.position(index), to: cache)
                outcomes[index] = cache.access(block.access(index, requestNumber: block.firstRequest + index))
            }
        } else {
            cache.memory.replay(block.batch, outcomes: outcomes)
        }
        if block.isWarmup { cache.evictionsBefore = cache.evictions }
    }

    /// Serves a block whose requests go to several caches, or are followed by prefetching.
    private mutating func serveMixed(_ block: borrowing RequestBlock, _ outcomes: UnsafeMutablePointer<AccessOutcome>) {
        let (users, times, isCounted) = (isPerUser ? block.users : nil, timer?.times, !block.isWarmup)
        let isOneAfterAnother = prefetching?.hasPolicyPerCache == true
        if isOneAfterAnother, let number = block.cache {
            if number != current, current >= 0 { retire(current) }
            current = number
            _ = open(number)
        }
        if definitions.isShared, usesCategories {
            let number = users.map { Int($0[0]) } ?? 0
            definitions.define(block, in: open(number), number: number)
        }
        let (definesEach, prefetches) = (!definitions.isShared && usesCategories, prefetching != nil)
        prefetching?.define(block)
        for index in 0..<block.count {
            let number = users.map { Int($0[index]) } ?? 0
            let cache = open(number)
            if definesEach { definitions.define(index, of: block, in: cache, number: number) }
            if prefetches {
                let access = block.access(index, requestNumber: 0)
                for announced in prefetching?.dueList(at: access.time) ?? [] {
                    definitions.define(announced.categories, of: block, in: cache, number: number)
                }
                outcomes[index] =
                    prefetching?.serve(
                        access, cache: number, position: block.position(index), isCounted: isCounted, times: times)
                    ?? .miss
                continue
            }
            show(before: block.position(index), to: nil)
            var access = block.access(index, requestNumber: cache.requests)
            cache.requests += 1
            if numbersEntries { access.entry = cache.entry(of: access.object) }
            let deadline = block.deadlines?[index]
            if let times {
                outcomes[index] = times.access { cache.access(access, deadline: deadline) }
            } else {
                outcomes[index] = cache.access(access, deadline: deadline)
            }
        }
        if isOneAfterAnother, block.isWarmup, let cache = caches[current] { cache.evictionsBefore = cache.evictions }
    }

    /// Tells the policies of the lists that are shown before the request at a position.
    ///
    /// - Parameter cache: the cache of all of them; `nil` if each user has one.
    private mutating func show(before position: Int, to cache: TieredCache?) {
        while lists?.nextTime(before: position) != nil, let (list, _) = lists?.popNext() {
            let number = Int(list.user)
            guard let cache = cache ?? (number < caches.count ? caches[number] : nil) else { continue }
            cache.shown(list.items.map { item in deviceNumbers.map { $0[item.object] ?? .max } ?? item.object })
        }
    }

    /// Goes on with the lists of a user whose cache is served alone. It numbers the objects that its user requests.
    private mutating func beginLists(ofUser user: Int) {
        guard lists != nil, isPerUser, let input, let users = input.users else { return }
        lists?.begin(user: user)
        let requests = users.starts[user]..<users.starts[user + 1]
        deviceNumbers = Dictionary(
            requests.map { (input.trace.entries[Int(users.positions[$0])], users.entries[$0]) },
            uniquingKeysWith: { first, _ in first })
    }

    /// Records the state of all caches at the end of the warm-up.
    mutating func endWarmup() {
        for case let cache? in caches { cache.evictionsBefore = cache.evictions }
    }

    /// Returns the state of all caches at the end. O(entries).
    ///
    /// - Parameter facts: the facts of the source at its end.
    mutating func finish(_ facts: SourceFacts) -> CacheSummary {
        objectCount = facts.objectCount
        for number in caches.indices { retire(number) }
        summary.prefetching = prefetching?.summary
        return summary
    }

    /// Adds a cache to the summary, and releases it.
    private mutating func retire(_ number: Int) {
        guard let cache = caches[number] else { return }
        let policyBytes = prefetching?.finish(number) ?? 0
        summary.add(cache, policyBytes: policyBytes, entries: entryCount(of: cache, number))
        caches[number] = nil
    }

    /// Returns how many entry numbers of a cache are in use.
    private func entryCount(of cache: TieredCache, _ number: Int) -> Int {
        if numbersEntries || prefetching != nil { return cache.numberCount }
        if let input { return entriesInAdvance(number, input) }
        return objectCount
    }

    private func entriesInAdvance(_ number: Int, _ input: ReplayInput) -> Int {
        isPerUser ? input.users?.objectCounts[number] ?? 0 : input.trace.objectCount
    }

    // MARK: The caches in memory

    /// Returns a cache, which is created for its first request.
    @inline(__always)
    private mutating func open(_ number: Int) -> TieredCache {
        if number < caches.count, let cache = caches[number] { return cache }
        return openPlace(number)
    }

    @inline(never)
    private mutating func openPlace(_ number: Int) -> TieredCache {
        while caches.count <= number { caches.append(nil) }
        let cache = makeCache(number)
        prefetching?.open(cache, number: number)
        if usesCategories, prefetching?.plansOnLists == true, let sets = input?.trace.categorySets {
            // Items of a list may be fetched before any request has their categories.
            for set in 1..<UInt32(max(1, sets.count)) { cache.define(set, Array(sets[set])) }
        }
        caches[number] = cache
        return cache
    }

    private mutating func makeCache(_ number: Int) -> TieredCache {
        let times = timer?.times
        var context = context
        adjust(&context, number)
        if trainsDevices { (models.memory as? LearnedModel)?.beginDevice() }
        guard var memory = memoryContext else {
            let policy = pretrained?.policy(ofUser: number) ?? policy
            return TieredCache(
                memory: policy.makeCache(context, model: models.disk ?? models.memory, times: times), disk: nil,
                recyclesNumbers: recyclesNumbers,
                restarting: restart.map { (RestartingTier(policy, context, keepsResidents: true, options: $0), nil) })
        }
        adjust(&memory, number)
        return TieredCache(
            memory: memoryPolicy.makeCache(memory, model: models.memory, times: times),
            disk: policy.makeCache(context, model: models.disk, times: times), recyclesNumbers: recyclesNumbers,
            decodedSizeRatio: decodedSizeRatio,
            restarting: restart.map {
                (
                    RestartingTier(memoryPolicy, memory, keepsResidents: false, options: $0),
                    RestartingTier(policy, context, keepsResidents: true, options: $0)
                )
            })
    }

    private var recyclesNumbers: Bool {
        prefetching == nil && !policy.decidesByNumber && !memoryPolicy.decidesByNumber
    }

    private mutating func adjust(_ context: inout PolicyContext, _ number: Int) {
        if isPerUser { context.seed = seed &+ UInt64(number) }
        guard let input else { return }
        if prefetching == nil { context.entries = entriesInAdvance(number, input) }
        guard policy.info.traits.contains(.needsFuture) else { return }
        if isPerUser, let users = input.users {
            context.future = FutureKnowledge(
                entries: Array(users.entries[users.starts[number]..<users.starts[number + 1]]),
                entryCount: users.objectCounts[number])
        } else {
            context.future = input.future
        }
    }
}

/// The state of all caches of a run at its end.
struct CacheSummary {
    /// The number of caches.
    var caches = 0
    /// The number of entries evicted since the warm-up.
    var evictions = 0
    var residents = 0
    var metadataBytes = MetadataBytes()
    /// The sum and the largest of the heap bytes of each cache with its prefetch policy, if it has one.
    private var (deviceBytes, largestDeviceBytes) = (0, 0)
    private var last: TieredCache?
    /// The metrics that the policy of the last cache publishes.
    var metrics: [PolicyMetric] { last?.metrics ?? [] }
    var prefetching: PrefetchSummary?
    /// The number of entry numbers in use, counted once for each tier.
    private var numbers = 0
    /// The number of entries that are not resident and that their policy remembers.
    private var remembered = 0

    /// Adds a cache. O(entries).
    ///
    /// - Parameters:
    ///   - policyBytes: the heap bytes of the prefetch policy that serves this cache alone.
    ///   - entries: the number of entry numbers in use.
    mutating func add(_ cache: TieredCache, policyBytes: Int, entries: Int) {
        let bytes = cache.metadataBytes.total + policyBytes
        deviceBytes += bytes
        largestDeviceBytes = max(largestDeviceBytes, bytes)
        caches += 1
        evictions += cache.evictions - cache.evictionsBefore
        residents += cache.count
        metadataBytes = metadataBytes + cache.metadataBytes
        last = cache
        numbers += entries * (cache.hasDisk ? 2 : 1)
        remembered += cache.rememberedCount(below: EntryID(entries))
    }

    /// The heap bytes of a device; `nil` without caches.
    var deviceMetadata: DeviceMetadata? {
        caches == 0 ? nil : DeviceMetadata(meanBytes: deviceBytes / caches, largestBytes: largestDeviceBytes)
    }

    /// The heap bytes per resident; see ``RunResult/metadataBytesPerResident``.
    var bytesPerResident: Double {
        guard residents > 0, numbers > 0 else { return 0 }
        let perNumber = Double(metadataBytes.perNumber) / Double(numbers)
        let bytes = perNumber * Double(residents + remembered) + Double(metadataBytes.perResident)
        return bytes / Double(residents)
    }
}

/// The category sets that each cache knows. Reports each set to the policy of a cache before the first access with
/// it, at most a block in advance.
private struct ReportedCategorySets {
    /// Whether a set that is reported to one cache is known to all.
    let isShared: Bool
    /// The last cache that knows a set, plus one, by set.
    private var knownBy: [Int] = []
    /// The sets that each cache knows, if blocks mix caches.
    private var known: [Set<CategorySetID>] = []

    init(isShared: Bool) { self.isShared = isShared }

    /// Reports the new sets of a block.
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

    /// Reports the set of one request, if the cache does not know it.
    mutating func define(
        _ index: Int, of block: borrowing RequestBlock, in cache: TieredCache, number: Int
    ) {
        guard let set = block.categories?[index] else { return }
        define(set, of: block, in: cache, number: number)
    }

    /// Reports a set, if the cache does not know it.
    mutating func define(_ set: CategorySetID, of block: borrowing RequestBlock, in cache: TieredCache, number: Int) {
        guard set != 0 else { return }
        while known.count <= number { known.append([]) }
        if known[number].insert(set).inserted { cache.define(set, Array(block.categorySets[set])) }
    }
}
