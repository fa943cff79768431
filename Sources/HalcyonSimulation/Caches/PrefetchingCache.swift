import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// A cache with a ``HalcyonPrefetch/PrefetchDriver``: does what the driver says in simulated time, and counts what comes of it.
final class PrefetchingCache {
    let driver: PrefetchDriver
    private let cache: TieredCache
    /// The capacity in ``unit``, as are the sizes of all accesses; the budget is in the unit of the trace.
    private let capacity: Int
    private let unit: CacheUnit
    /// The latency of a fetch by its object and its size, in microseconds.
    private let latency: @Sendable (UInt32, Int) -> Int64
    private let objects: ObjectInfo
    private let transfers = TransferSchedule()
    private var requests = 0
    private var victims: [EntryID] = []
    /// The entries that leave next when room is needed, the last first.
    private var releases: [EntryID] = []
    /// The recorded prefetches that the next request waited for, which is a miss.
    private var awaited: Set<UInt32> = []
    /// Whether an object is resident or in flight. Created once; policies do not keep it.
    private let holds: (UInt32) -> Bool

    /// - Parameters:
    ///   - capacity: the capacity of the cache in `unit`.
    ///   - policy: the policy, which other caches may share.
    ///   - timers: those of the policy; `nil` if it plans nothing between requests.
    init(
        _ cache: TieredCache, capacity: Int, unit: CacheUnit, policy: any PrefetchPolicy, timers: VisitTimers? = nil,
        budget: PrefetchBudget, idleTime: Int64 = PlanningMoment.idleTime, servesOneUser: Bool = false,
        latency: @escaping @Sendable (UInt32, Int) -> Int64, objects: ObjectInfo
    ) {
        let driver = PrefetchDriver(
            policy, budget: budget, idleTime: idleTime, timers: timers, servesOneUser: servesOneUser)
        self.driver = driver
        self.objects = objects
        self.cache = cache
        self.capacity = capacity
        self.unit = unit
        self.latency = latency
        holds = { driver.isFetching($0) || cache.holds($0) }
    }

    /// Serves a request and assigns its entry and request number. Call ``report(_:isHit:isCounted:counts:)`` next.
    func serve(
        _ access: Access, isCounted: Bool, counts: inout PrefetchTally, times: CacheTimes? = nil
    ) -> AccessOutcome {
        let entry = cache.entry(of: access.object)
        cache.now = access.time
        arrive(before: access.time, &counts)
        var access = access
        access.entry = entry
        access.requestNumber = requests
        requests += 1
        var wait = latency(access.object, access.size)
        let joined = transfers.cancel(entry)
        if let joined {
            // The request joins the transfer and waits for it.
            driver.ended(access.object, bytes: nil)
            if joined.isCounted { counts.join(size: joined.access.size) }
            // A recorded transfer ends when its arrival was recorded.
            if joined.time < .max { wait = joined.time &- access.time }
        }
        if joined != nil || !cache.contains(entry) { makeRoom(for: access.size, &counts, user: access.user) }
        var outcome = times?.access { cache.access(access) } ?? cache.access(access)
        if !awaited.isEmpty, awaited.remove(access.object) != nil, outcome.isHit { outcome = .miss }
        if isCounted { counts.waits.count(outcome.isHit ? 0 : wait) }
        return outcome
    }

    /// Reports the last served request and its victims to the policy.
    func report(_ access: Access, isHit: Bool, isCounted: Bool, counts: inout PrefetchTally) {
        if let prefetch = driver.access(access, isHit: isHit) {
            if isHit && isCounted {
                counts.hitsOwed += 1
                if prefetch.isCounted {
                    counts.used += 1
                    counts.requestsUntilUse += requests - prefetch.number
                }
            } else if !isHit && prefetch.isCounted {
                counts.waste(size: objects.size(of: access.object))
            }
        }
        release(&counts, user: access.user)
    }

    /// Prefetches what the policy proposes after the last served request.
    func prefetch(after access: Access, isCounted: Bool, counts: inout PrefetchTally) {
        let room = capacity - cache.used
        _ = driver.planAfterAccess(
            outlook: outlook(room: room), isCrowded: access.size > room, isHeld: isResidentOrFetched)
        carryOut(after: access, isCounted: isCounted, &counts)
    }

    /// Prefetches what the policy proposes at a moment between requests.
    func prefetch(at moment: PlanningMoment, isCounted: Bool, counts: inout PrefetchTally) {
        let fetched = prefetch(at: moment.time, of: moment.user, isCounted: isCounted, &counts) {
            _ = driver.plan(at: moment, for: $0, outlook: $1, isHeld: isResidentOrFetched)
        }
        counts.fetchedBetweenRequests += fetched
    }

    /// Prefetches what the policy proposes on a list that is shown.
    func prefetch(on list: ShownList, isCounted: Bool, counts: inout PrefetchTally) {
        let fetched = prefetch(at: list.time, of: list.user, isCounted: isCounted, &counts) {
            _ = driver.plan(on: list, for: $0, outlook: $1, isHeld: isResidentOrFetched)
        }
        cache.shown(list.items.map(\.object))
        if isCounted { counts.lists.note(items: list.items.count, fetched: fetched) }
    }

    /// Prefetches what a plan proposes that no request comes before, and returns how many prefetches are counted.
    private func prefetch(
        at time: Int64, of user: UInt32, isCounted: Bool, _ counts: inout PrefetchTally,
        plan: (PrefetchUser, PrefetchOutlook) -> Void
    ) -> Int {
        cache.now = time
        arrive(before: time, &counts)
        plan(PrefetchUser(number: user), outlook(room: capacity - cache.used))
        let before = counts.fetched
        carryOut(after: event(at: time, of: user), isCounted: isCounted, &counts)
        return counts.fetched - before
    }

    private func outlook(room: Int) -> PrefetchOutlook {
        PrefetchOutlook(limit: 0, room: room, capacity: capacity, holds: holds)
    }

    private func isResidentOrFetched(_ object: UInt32) -> Bool {
        driver.isFetching(object) || cache.knownEntry(of: object).map(cache.contains) ?? false
    }

    /// Returns a moment or a recorded event as an access, after which something is fetched.
    private func event(at time: Int64, of user: UInt32) -> Access {
        Access(
            entry: .none, requestNumber: requests, time: time, size: 1, categories: 0, user: user, object: UInt32.none)
    }

    private func carryOut(after access: Access, isCounted: Bool, _ counts: inout PrefetchTally) {
        releases.removeAll(keepingCapacity: true)
        for command in driver.takeCommands() {
            switch command {
            case .evictNext(let victims): for object in victims.reversed() { releases.append(cache.entry(of: object)) }
            case .reconsider(let object, let isLikely):
                cache.reconsider(fetch(object, after: access), isLikely: isLikely)
            case .cancel: break
            }
        }
        while let start = driver.nextFetch(size: { object, _ in expectedSize(of: object) }) {
            let object = start.object
            var size = objects.size(of: object)
            if !objects.knowsSize(of: object) {
                size = objects.reveal(object, after: access)
                driver.correct(object, to: size &* unit.size)
            }
            let fetch = fetch(object, after: access)
            // The entry expired before its first request.
            if driver.takeUnused(object)?.isCounted == true { counts.waste(size: size) }
            if isCounted { counts.fetch(size: size) }
            let latency = latency(object, size)
            if latency == 0 {
                place(fetch, isCounted: isCounted, &counts)
            } else {
                let (time, isNever) = access.time.addingReportingOverflow(latency)
                transfers.start(
                    TransferSchedule.Transfer(access: fetch, time: isNever ? .max : time, isCounted: isCounted))
            }
        }
    }

    /// Returns the size of an object that may be fetched in the unit of the budget, 0 if it is not known; `nil` if it may not.
    ///
    /// An object known to be larger than the cache is not fetched, whichever policy proposes it. If the size is not
    /// known, the budget in bytes pays after the fetch, and an object that turns out to be too large is wasted.
    private func expectedSize(of object: UInt32) -> Int? {
        if holds(object) { return nil }
        guard objects.knowsSize(of: object) else { return 0 }
        let size = objects.size(of: object)
        return size <= capacity ? size &* unit.size : nil
    }

    /// Returns a prefetch as an access.
    private func fetch(_ object: UInt32, after access: Access) -> Access {
        Access(
            entry: cache.entry(of: object), requestNumber: requests, time: access.time, size: objects.size(of: object),
            categories: objects.categories(of: object), user: access.user, object: object, isPrefetch: true)
    }

    /// Places the objects whose transfers ended strictly before a request or a moment. One that ends at the same time
    /// stamp may have ended later, because a trace rounds its times.
    private func arrive(before time: Int64, _ counts: inout PrefetchTally) {
        while let first = transfers.popEnded(before: time) {
            var access = first.access
            access.requestNumber = requests
            access.time = first.time
            place(access, isCounted: first.isCounted, &counts)
        }
    }

    private func place(_ access: Access, isCounted: Bool, _ counts: inout PrefetchTally) {
        makeRoom(for: access.size, &counts, user: access.user)
        let isHeld = cache.access(access) != .refused
        driver.arrived(access.object, bytes: nil, isHeld: isHeld, number: requests, isCounted: isCounted)
        if !isHeld {
            driver.policy.dropped(access.object)
            if isCounted { counts.waste(size: access.size) }
        }
        release(&counts, user: access.user)
    }

    /// Removes the entries that the last plan named, until an object finds room or none is left.
    private func makeRoom(for size: Int, _ counts: inout PrefetchTally, user: UInt32) {
        while size <= capacity, cache.used > capacity - size, let entry = releases.popLast() {
            if !cache.contains(entry) || driver.isFetching(cache.object(of: entry)) { continue }
            cache.remove(entry)
            victims.append(entry)
            release(&counts, user: user)
        }
    }

    /// Reports the victims to the policy.
    private func release(_ counts: inout PrefetchTally, user: UInt32) {
        cache.takeVictims(into: &victims)
        if victims.isEmpty { return }
        for victim in victims {
            let object = cache.object(of: victim)
            if driver.isFetching(object) { continue }
            awaited.remove(object)
            if driver.removed(object, of: user, isEvicted: true)?.isCounted == true {
                counts.waste(size: objects.size(of: object))
            }
        }
        victims.removeAll(keepingCapacity: true)
    }

    /// Repeats what was recorded: prefetches begin, arrive and end as they did, and what a plan named leaves first. Other events are
    /// skipped, because what was planned at them is recorded.
    func apply(_ event: TraceRecording.Event, isCounted: Bool, counts: inout PrefetchTally) {
        cache.now = event.time
        let access = self.event(at: event.time, of: event.user)
        switch event.kind {
        case .prefetchStart:
            guard !holds(event.object) else { return }
            start(fetch(event.object, after: access), isCounted: isCounted, &counts)
        case .prefetchArrival:
            if event.size > 0 { objects.reveal(event.object, size: unit.usesUniformSizes ? 1 : event.size) }
            var fetch = fetch(event.object, after: access)
            // An image that was made of a cached original was fetched at once.
            if !holds(event.object) { start(fetch, isCounted: isCounted, &counts) }
            guard let transfer = transfers.cancel(fetch.entry) else { return }
            fetch.size = objects.size(of: event.object)
            place(fetch, isCounted: transfer.isCounted, &counts)
            if event.isJoined, holds(event.object) {
                driver.takeUnused(event.object)
                awaited.insert(event.object)
                if transfer.isCounted { counts.join(size: fetch.size) }
            }
        case .prefetchEnd:
            guard let transfer = transfers.cancel(cache.entry(of: event.object)) else { return }
            driver.ended(event.object, bytes: nil)
            if transfer.isCounted { counts.waste(size: transfer.access.size) }
        case .plan: releases.removeAll(keepingCapacity: true)
        case .victim:
            guard isResidentOrFetched(event.object) else { return }
            releases.insert(cache.entry(of: event.object), at: 0)
        case .likely, .unlikely: cache.reconsider(fetch(event.object, after: access), isLikely: event.kind == .likely)
        case .visitEnd, .dayStart, .background, .connected, .conditions: break
        }
    }

    /// Starts a transfer that ends when its end was recorded.
    private func start(_ fetch: Access, isCounted: Bool, _ counts: inout PrefetchTally) {
        if isCounted { counts.fetch(size: fetch.size) }
        driver.takeUnused(fetch.object)
        driver.repeated(fetch.object, for: fetch.user)
        transfers.start(TransferSchedule.Transfer(access: fetch, time: .max, isCounted: isCounted))
    }

    /// Counts the unused prefetched objects at the end as waste, including those in flight.
    func finish(_ counts: inout PrefetchTally) {
        for transfer in transfers.remaining where transfer.isCounted { counts.waste(size: transfer.access.size) }
        for (object, prefetch) in driver.unusedPrefetches where prefetch.isCounted {
            counts.waste(size: objects.size(of: object))
        }
    }
}
