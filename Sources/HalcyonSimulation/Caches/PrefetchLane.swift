import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// The prefetching of a run: the prefetch policy, and the residency and budget of each cache.
///
/// For each request the policy receives the outcome and the victims, then plans; see
/// ``HalcyonPrefetch/PrefetchPolicy``.
///
/// With server knowledge, one policy serves all caches and learns from all users. With device knowledge
/// (``Knowledge/device``), each cache has a policy of its own, which sees the requests of its user and nothing else.
/// Caches are then served one after another, and only the policy of the present one is in memory.
struct PrefetchLane {
    /// The policy of all caches, or of the cache that is being served.
    private(set) var policy: any PrefetchPolicy
    private let makePolicy: (PretrainedPlanner?) -> any PrefetchPolicy
    /// What the planner of the next device starts with.
    private var start: PretrainedPlanner?
    private let models: DeviceModels?
    /// Whether each cache has a policy of its own.
    let hasPolicyPerCache: Bool
    /// The cache that is being served, if each has a policy of its own.
    private var current = -1
    /// The heap bytes of the policies of the caches that are finished.
    private var finishedBytes = 0
    /// The times of the last request of the warm-up and of all requests, if each cache has a policy of its own.
    private let (endOfWarmup, end): (Int64, Int64)
    private let warmup: Int
    private(set) var counts: PrefetchTally
    private let options: PrefetchOptions
    private let unit: CacheUnit
    private let capacity: Int
    /// The latency of a fetch by its object and its size in ``unit``, in microseconds.
    private let latency: @Sendable (UInt32, Int) -> Int64
    private let objects: ObjectInfo
    private var caches: [PrefetchingCache?] = []
    private var isKnownSet: [Bool] = []
    private let clock = ContinuousClock()
    private var requests = 0
    private let cachesPerUser: Bool
    /// The lists that each device receives, and the last period in which the present one received its list. Nil without
    /// announcements.
    private let lists: AnnouncedLists?
    private var lastPeriod = -1
    /// The lists that are shown; `nil` without any, and for a policy that does not plan on them.
    private var shown: ShownListQueue?
    /// The objects of the last list of each user that it did not request since.
    private var lastShown: [UInt32: Set<UInt32>] = [:]
    /// What all users opened before each period, of which each device hears with announcements.
    private let rates: AnnouncedRates?
    /// With announcements and lists, the numbers that the present device gives objects when it first hears of them, by their numbers in the
    /// trace. Without, the source numbers them so.
    private var numbers: [UInt32: UInt32] = [:]
    private let namesObjects: Bool
    private let categorySets: CategorySets
    /// The timers of a policy that plans between requests.
    private var timers: VisitTimers
    /// The recorded moments of all users that no timer gives: the app entered the background, or a condition ended.
    /// And the number of those past.
    private let allMoments: [TraceRecording.Event]
    /// Those of the users that the policy serves, and the number of these that are past.
    private var moments: [TraceRecording.Event]
    private var momentsPast = 0
    /// The recorded events that are repeated, and the number of those that were.
    private let recorded: [TraceRecording.Event]
    private var repeated = 0

    init(_ options: PrefetchOptions, resolved: ResolvedJob, facts: SourceFacts) {
        let job = resolved.job
        let trace = facts.input?.trace
        var context = PrefetchContext(
            seed: job.options.seed, objects: trace?.objectCount ?? 0, fetchLatency: options.latency.shortest,
            idleTime: options.idleTime, cachesPerUser: job.mode == .perUser,
            servesOneUser: job.hasPrefetchPolicyPerUser && !options.trainsDevices)
        if options.traits.contains(.usesKeys), let next = trace.flatMap(NextKeys.init) {
            context.nextByKey = { object in next.object(after: object) }
        }
        let makePolicy = { [context] in options.makePolicy(context, from: $0) }
        self.makePolicy = makePolicy
        start = options.pretrained
        models = resolved.models
        policy = makePolicy(start)
        hasPolicyPerCache = job.hasPrefetchPolicyPerUser
        let warmup = facts.warmup
        self.warmup = warmup
        endOfWarmup = trace.flatMap { warmup > 0 ? $0.times[warmup - 1] : nil } ?? .min
        end = trace?.times.last ?? .min
        cachesPerUser = context.cachesPerUser
        let announced = job.options.announcements
        lists = announced.flatMap { options in
            options.content == .popular ? trace.map { AnnouncedLists(options, $0) } : nil
        }
        rates = announced.flatMap { options in
            options.content == .rates ? trace.map { AnnouncedRates(options, $0) } : nil
        }
        namesObjects = job.namesObjects
        categorySets = facts.categorySets
        timers = VisitTimers(idleTime: options.idleTime)
        counts = PrefetchTally(unit: facts.unit)
        self.options = options
        unit = facts.unit
        capacity = facts.unit.capacity(resolved.capacity)
        objects = ObjectInfo(trace, forgets: hasPolicyPerCache)
        if policy.plansOnLists, let trace, let lists = trace.lists {
            shown = ShownListQueue(lists, of: trace, isByUser: hasPolicyPerCache)
        }
        let (latency, unit) = (options.latency, facts.sizeUnit == .bytes ? facts.unit.size : 0)
        self.latency = { latency.latency(ofObject: $0, bytes: $1 &* unit) }
        let events = trace?.recording?.events ?? []
        recorded = options.isRecorded ? events : []
        allMoments =
            policy.plansBetweenRequests ? events.filter { $0.kind == .background || $0.kind == .connected } : []
        moments = allMoments
    }

    /// Whether lists are handed on.
    var plansOnLists: Bool { shown != nil }

    /// Adds a cache. If each has a policy of its own, the one before is finished, and this is the next to be served.
    mutating func open(_ cache: TieredCache, number: Int) {
        if hasPolicyPerCache {
            current = number
            policy = makePolicy(models?.planner(ofUser: number) ?? start)
            timers = VisitTimers(idleTime: options.idleTime)
            isKnownSet.removeAll(keepingCapacity: true)
            objects.forget()
            moments = allMoments.filter { Int($0.user) == number }
            momentsPast = 0
            lastPeriod = -1
            numbers.removeAll(keepingCapacity: true)
            shown?.begin(user: number)
            lastShown.removeAll()
        }
        while caches.count <= number { caches.append(nil) }
        caches[number] = PrefetchingCache(
            cache, capacity: capacity, unit: unit, policy: policy,
            timers: policy.plansBetweenRequests ? timers : nil, budget: options.budget, idleTime: options.idleTime,
            servesOneUser: cachesPerUser, latency: latency, objects: objects)
    }

    /// Serves a request, then prefetches.
    ///
    /// - Parameters:
    ///   - number: the number of the cache.
    ///   - position: the number of requests of the source before it.
    ///   - isCounted: whether the request is after the warm-up.
    ///   - times: receives the time of the access; `nil` for caches that are not timed.
    mutating func serve(
        _ request: Access, cache number: Int, position: Int, isCounted: Bool, times: CacheTimes?
    ) -> AccessOutcome {
        var request = request
        // A device has one user.
        if hasPolicyPerCache { request.user = 0 }
        show(before: position)
        announceRates(at: request.time, isCounted: isCounted)
        planMoments(by: request.time, position: position, isCounted: isCounted)
        while repeated < recorded.count, recorded[repeated].position <= position {
            apply(recorded[repeated], isCounted: isCounted)
            repeated += 1
        }
        announce(dueList(at: request.time), at: request.time, isCounted: isCounted)
        if namesObjects { request.object = self.number(of: request.object) }
        let isOpening = shown != nil && lastShown[request.user]?.remove(request.object) != nil
        guard let cache = caches[number] else { return .miss }
        var access = request
        access.entry = .none
        // One plan in 64 is timed.
        let isTimed = requests & 63 == 63
        requests += 1
        let outcome = cache.serve(access, isCounted: isCounted, counts: &counts, times: times)
        if isOpening, isCounted { counts.lists.noteOpening(isHit: outcome.isHit) }
        let start = isTimed ? clock.now : nil
        cache.report(access, isHit: outcome.isHit, isCounted: isCounted, counts: &counts)
        objects.note(access)
        cache.prefetch(after: access, isCounted: isCounted, counts: &counts)
        if let start {
            counts.plansTimed += 1
            counts.planningNanoseconds += Int((clock.now - start).inSeconds * 1e9)
        }
        return outcome
    }

    /// Returns the list that the present device receives at its next request or list, at a time; empty if it has it already.
    func dueList(at time: Int64) -> [AnnouncedObject] {
        guard let lists else { return [] }
        let period = lists.period(of: time)
        return period > lastPeriod ? lists[period] : []
    }

    /// Returns the device's number of an object, and assigns one if it has none.
    private mutating func number(of object: UInt32) -> UInt32 {
        if let known = numbers[object] { return known }
        let number = UInt32(numbers.count)
        numbers[object] = number
        return number
    }

    private mutating func announce(_ list: [AnnouncedObject], at time: Int64, isCounted: Bool) {
        if let lists { lastPeriod = max(lastPeriod, lists.period(of: time)) }
        if list.isEmpty { return }
        for object in list {
            var object = object
            object.object = number(of: object.object)
            define(object.categories, of: categorySets)
            objects.announce(object)
            policy.announce(object)
        }
        guard isCounted else { return }
        counts.announcedLists += 1
        counts.announcedEntries += list.count
    }

    private mutating func apply(_ event: TraceRecording.Event, isCounted: Bool) {
        let number = cachesPerUser ? Int(event.user) : 0
        guard number < caches.count, let cache = caches[number] else { return }
        cache.apply(event, isCounted: isCounted, counts: &counts)
    }

    /// Passes on the lists that are shown before the request at a position, and plans at the moments that come before them.
    private mutating func show(before position: Int) {
        while let time = shown?.nextTime(before: position), let next = shown?.popNext() {
            var list = next.list
            let number = hasPolicyPerCache ? current : cachesPerUser ? Int(list.user) : 0
            guard number < caches.count, let cache = caches[number] else { continue }
            let isCounted = next.position >= warmup
            planMoments(by: time, position: next.position, isCounted: isCounted)
            announceRates(at: time, isCounted: isCounted)
            announce(dueList(at: time), at: time, isCounted: isCounted)
            if hasPolicyPerCache { list.user = 0 }
            for index in list.items.indices {
                if namesObjects { list.items[index].object = self.number(of: list.items[index].object) }
                let item = list.items[index]
                define(item.categories, of: categorySets)
                objects.announce(AnnouncedObject(object: item.object, categories: item.categories, size: item.size))
            }
            lastShown[list.user] = Set(list.items.map(\.object))
            cache.prefetch(on: list, isCounted: isCounted, counts: &counts)
        }
    }

    private mutating func announceRates(at time: Int64, isCounted: Bool) {
        guard let rates, let (period, current) = rates.latest(at: time), period > lastPeriod else { return }
        lastPeriod = period
        for set in 1..<UInt32(max(1, categorySets.count)) { define(set, of: categorySets) }
        policy.announce(current)
        guard isCounted else { return }
        counts.announcedLists += 1
        counts.announcedEntries += current.count
    }

    private mutating func planMoments(by time: Int64, position: Int, isCounted: Bool) {
        guard policy.plansBetweenRequests else { return }
        while let moment = nextMoment(by: time, position: position) { plan(at: moment, isCounted: isCounted) }
    }

    /// Returns the next moment before a request at a time and a position, recorded or due; `nil` if there is none.
    private mutating func nextMoment(by time: Int64, position: Int) -> PlanningMoment? {
        guard momentsPast < moments.count, moments[momentsPast].position <= position,
            moments[momentsPast].time <= min(time, timers.nextTime ?? .max)
        else { return timers.next(by: time) }
        let event = moments[momentsPast]
        momentsPast += 1
        return PlanningMoment(
            event.kind == .background ? .background : .connected, user: hasPolicyPerCache ? 0 : event.user,
            time: event.time)
    }

    private mutating func plan(at moment: PlanningMoment, isCounted: Bool) {
        let number = hasPolicyPerCache ? current : cachesPerUser ? Int(moment.user) : 0
        guard number < caches.count, let cache = caches[number] else { return }
        // The request that comes next is another user's, perhaps long before this user's.
        let isCounted = hasPolicyPerCache ? moment.time > endOfWarmup : isCounted
        cache.prefetch(at: moment, isCounted: isCounted, counts: &counts)
    }

    /// Counts the unused prefetches of one cache at the end.
    ///
    /// - Returns: the heap bytes of the cache's policy; 0 if all caches have one.
    mutating func finish(_ number: Int) -> Int {
        guard let cache = caches[number] else { return 0 }
        var bytes = 0
        show(before: .max)
        if hasPolicyPerCache {
            while let moment = nextMoment(by: end, position: .max) { plan(at: moment, isCounted: true) }
            bytes = policy.metadataBytes
            finishedBytes += bytes
            if options.trainsDevices { start = learned ?? start }
        }
        cache.finish(&counts)
        caches[number] = nil
        return bytes
    }

    /// What a planner has learned over all its users; `nil` if that is too little, and for another policy.
    private var learned: PretrainedPlanner? { (policy as? PrefetchPlanner)?.snapshot(producer: Halcyon.version) }

    /// What remains of the policies at the end: the only one, or the heap bytes of those of all caches.
    var summary: PrefetchSummary {
        PrefetchSummary(
            counts: counts, policy: hasPolicyPerCache ? nil : policy,
            planner: hasPolicyPerCache ? start : learned,
            metadataBytes: hasPolicyPerCache ? finishedBytes : policy.metadataBytes)
    }

    /// Reports the new category sets of a block to the policy.
    mutating func define(_ block: borrowing RequestBlock) {
        guard let categories = block.categories else { return }
        for index in 0..<block.count { define(categories[index], of: block.categorySets) }
    }

    private mutating func define(_ set: CategorySetID, of sets: CategorySets) {
        while isKnownSet.count < sets.count { isKnownSet.append(false) }
        if set == 0 || isKnownSet[Int(set)] { return }
        isKnownSet[Int(set)] = true
        policy.define(categorySet: set, members: Array(sets[set]))
    }
}

/// The prefetching of all caches of a run at its end.
struct PrefetchSummary {
    let counts: PrefetchTally
    /// The policy that served all caches; `nil` if each had one of its own.
    let policy: (any PrefetchPolicy)?
    /// What the planner has learned over all users. If each cache had one of its own, what the next one would start with.
    let planner: PretrainedPlanner?
    /// The heap bytes of all policies.
    let metadataBytes: Int
}

/// The object whose key is the next number, for traces with numeric keys. O(1) per look-up; 4 bytes per object.
///
/// A prefetcher cannot know which keys will be requested. So a key that never occurs in the trace has an object, too: it
/// is numbered after the objects of the trace. It can be fetched, takes its place until it is evicted, and is never used.
struct NextKeys: Sendable {
    private let next: [UInt32]

    /// Creates the table for a trace that was loaded with its keys; `nil` if no key is a number. O(objects).
    init?(_ trace: Trace) {
        guard trace.names.keys.count == trace.objectCount else { return nil }
        var objects: [UInt64: UInt32] = [:]
        var numbers = [UInt64?](repeating: nil, count: trace.objectCount)
        for object in numbers.indices {
            numbers[object] = UInt64(trace.names.keys[UInt32(object)])
            if let number = numbers[object] { objects[number] = UInt32(object) }
        }
        var next = [UInt32](repeating: .max, count: numbers.count)
        var unused = trace.objectCount
        for (object, number) in numbers.enumerated() {
            guard let number, number < .max else { continue }
            if let following = objects[number + 1] {
                next[object] = following
            } else if unused < Int(UInt32.max) {
                next[object] = UInt32(unused)
                objects[number + 1] = next[object]
                unused += 1
            }
        }
        if next.allSatisfy({ $0 == .max }) { return nil }
        self.next = next
    }

    /// Returns the object whose key follows that of another; `nil` if that key is not a number, or never occurs.
    func object(after object: UInt32) -> UInt32? {
        guard Int(object) < next.count else { return nil }
        let following = next[Int(object)]
        return following == .max ? nil : following
    }
}
