import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// A cache with prefetching: its residents, transfers in flight, prefetched and not yet used objects, and its budget.
final class PrefetchingCache {
    /// The mutable state.
    private struct Contents: ~Copyable {
        var residency = ResidencyTable()
        let transfers = TransferSchedule()
        var victims: [EntryID] = []
        var unused = UnusedPrefetches()
        /// The unused objects to reconsider next.
        var due: [UInt32] = []
        var requests = 0
        var spending: PrefetchSpending
        /// The entries that leave next when room is needed, the last first.
        var releases: [EntryID] = []
    }

    private let cache: TieredCache
    /// The capacity in ``unit``, as are the sizes of all accesses; the budget is in the unit of the trace.
    private let capacity: Int
    private let unit: CacheUnit
    /// The latency of a fetch by its object and its size, in microseconds.
    private let latency: @Sendable (UInt32, Int) -> Int64
    private let objects: ObjectInfo
    /// The state, behind a pointer to avoid exclusivity checks.
    private let contents: UnsafeMutablePointer<Contents>
    /// Whether an object is resident or in flight. Created once; policies do not keep it.
    private let holds: (UInt32) -> Bool
    /// Whether the object of a prefetch is resident and was not requested since.
    private let isUnused: (UnusedPrefetches.Fetch) -> Bool

    /// - Parameter capacity: the capacity of the cache in `unit`.
    init(
        _ cache: TieredCache, capacity: Int, unit: CacheUnit, budget: PrefetchBudget,
        idleTime: Int64 = PlanningMoment.idleTime,
        latency: @escaping @Sendable (UInt32, Int) -> Int64, objects: ObjectInfo
    ) {
        self.objects = objects
        self.cache = cache
        self.capacity = capacity
        self.unit = unit
        self.latency = latency
        let contents = UnsafeMutablePointer<Contents>.allocate(capacity: 1)
        contents.initialize(to: Contents(spending: PrefetchSpending(budget, idleTime: idleTime)))
        self.contents = contents
        holds =
            cache.entriesExpire
            ? { object in
                contents.pointee.residency.holds(object) { cache.contains($0, freshAt: contents.pointee.residency.now) }
            }
            : { contents.pointee.residency.holds($0) }
        isUnused = { contents.pointee.residency.isUnused($0.object, since: $0.number) }
    }

    deinit {
        contents.deinitialize(count: 1)
        contents.deallocate()
    }

    /// The number of entry numbers in use.
    var entryCount: Int { Int(contents.pointee.residency.count) }

    /// Serves a request and assigns its entry and request number. Call ``report(_:isHit:counts:to:)`` next.
    func serve(
        _ access: Access, isCounted: Bool, counts: inout PrefetchTally, policy: (any PrefetchPolicy)?,
        times: CacheTimes? = nil
    ) -> AccessOutcome {
        let entry = contents.pointee.residency.assign(access.object)
        contents.pointee.residency.now = access.time
        arrive(before: access.time, &counts, policy)
        var access = access
        access.entry = entry
        access.requestNumber = contents.pointee.requests
        contents.pointee.requests += 1
        let before = contents.pointee.residency[entry]
        var wait = latency(access.object, access.size)
        if before == .inFlight,
            let joined = contents.pointee.transfers.cancel(entry)
        {
            // The request joins the transfer and waits for it.
            if joined.isCounted { counts.join(size: joined.access.size) }
            // A recorded transfer ends when its arrival was recorded.
            if joined.time < .max { wait = joined.time &- access.time }
        }
        if before == .absent || before == .inFlight { makeRoom(for: access.size, &counts, policy, user: access.user) }
        var outcome = times?.access { cache.access(access) } ?? cache.access(access)
        if before == .awaited, outcome.isHit { outcome = .miss }
        if isCounted { counts.waits.count(outcome.isHit ? 0 : wait) }
        contents.pointee.residency[entry] = outcome == .refused ? .absent : .requested
        if before == .unused || before == .unusedUncounted {
            if outcome.isHit && isCounted {
                counts.hitsOwed += 1
                if before == .unused {
                    counts.used += 1
                    counts.requestsUntilUse += contents.pointee.requests - contents.pointee.residency.fetch(of: entry)
                }
            } else if !outcome.isHit && before == .unused {
                counts.waste(size: objects.size(of: access.object))
            }
        }
        return outcome
    }

    /// Reports the last served request and its victims to the policy.
    func report(
        _ access: Access, isHit: Bool, counts: inout PrefetchTally, to policy: (any PrefetchPolicy)?
    ) {
        policy?.note(access, isHit: isHit)
        release(&counts, policy, user: access.user)
    }

    /// Prefetches what the policy proposes after the last served request.
    func prefetch(
        after access: Access, isCounted: Bool, counts: inout PrefetchTally, policy: any PrefetchPolicy,
        plan: inout PrefetchPlan
    ) {
        contents.pointee.spending.begin(request: access.time, of: access.user)
        plan.removeAll()
        let (limit, room) = (contents.pointee.spending.objectsLeft, capacity - cache.used)
        contents.pointee.due.removeAll(keepingCapacity: true)
        if access.size > room {
            contents.pointee.unused.next(of: access.user, into: &contents.pointee.due, isUnused: isUnused)
        }
        policy.plan(
            after: access,
            outlook: PrefetchOutlook(
                limit: limit, room: room, capacity: capacity, unused: contents.pointee.due, holds: holds),
            into: &plan)
        carryOut(plan, limit: limit, after: access, isCounted: isCounted, &counts, policy)
    }

    /// Prefetches what the policy proposes at a moment between requests.
    func prefetch(
        at moment: PlanningMoment, isCounted: Bool, counts: inout PrefetchTally, policy: any PrefetchPolicy,
        plan: inout PrefetchPlan
    ) {
        contents.pointee.residency.now = moment.time
        arrive(before: moment.time, &counts, policy)
        contents.pointee.spending.begin(momentAt: moment.time, of: moment.user)
        plan.removeAll()
        let limit = contents.pointee.spending.objectsLeft
        policy.plan(
            at: moment,
            outlook: PrefetchOutlook(limit: limit, room: capacity - cache.used, capacity: capacity, holds: holds),
            into: &plan)
        let access = Access(
            entry: .none, requestNumber: contents.pointee.requests, time: moment.time, size: 1, categories: 0,
            user: moment.user, object: UInt32.none)
        let before = counts.fetched
        carryOut(plan, limit: limit, after: access, isCounted: isCounted, &counts, policy)
        counts.fetchedBetweenRequests += counts.fetched - before
    }

    private func carryOut(
        _ plan: PrefetchPlan, limit: Int, after access: Access, isCounted: Bool, _ counts: inout PrefetchTally,
        _ policy: any PrefetchPolicy
    ) {
        contents.pointee.releases.removeAll(keepingCapacity: true)
        for object in plan.releases.reversed() where contents.pointee.residency.holds(object) {
            contents.pointee.releases.append(contents.pointee.residency.assign(object))
        }
        for verdict in plan.reconsiderations {
            cache.reconsider(fetch(verdict.object, after: access), isLikely: verdict.isLikely)
        }
        for proposal in plan.proposals.prefix(limit) {
            let isKnown = objects.knowsSize(of: proposal.object)
            guard allows(proposal.object, isSizeKnown: isKnown), !holds(proposal.object) else { continue }
            let size = isKnown ? objects.size(of: proposal.object) : objects.reveal(proposal.object, after: access)
            contents.pointee.spending.spend(size: size &* unit.size)
            let fetch = fetch(proposal.object, after: access)
            // The entry expired before its first request.
            if contents.pointee.residency[fetch.entry] == .unused { counts.waste(size: size) }
            if isCounted { counts.fetch(size: size) }
            let latency = latency(proposal.object, size)
            if latency == 0 {
                place(fetch, isCounted: isCounted, &counts, policy)
            } else {
                let (time, isNever) = access.time.addingReportingOverflow(latency)
                contents.pointee.transfers.start(
                    TransferSchedule.Transfer(access: fetch, time: isNever ? .max : time, isCounted: isCounted))
                contents.pointee.residency[fetch.entry] = .inFlight
            }
        }
    }

    /// Returns whether an object may be fetched.
    ///
    /// An object known to be larger than the cache is not fetched, whichever policy proposes it. If the size is not
    /// known, the budget in bytes pays after the fetch, and an object that turns out to be too large is wasted.
    private func allows(_ object: UInt32, isSizeKnown: Bool) -> Bool {
        guard isSizeKnown else {
            return contents.pointee.spending.objectsLeft > 0 && contents.pointee.spending.allows(size: 0)
        }
        let size = objects.size(of: object)
        return size <= capacity && contents.pointee.spending.allows(size: size &* unit.size)
    }

    /// Returns a prefetch as an access.
    private func fetch(_ object: UInt32, after access: Access) -> Access {
        Access(
            entry: contents.pointee.residency.assign(object), requestNumber: contents.pointee.requests,
            time: access.time,
            size: objects.size(of: object),
            categories: objects.categories(of: object), user: access.user, object: object, isPrefetch: true)
    }

    /// Places the objects whose transfers ended strictly before a request or a moment. One that ends at the same time
    /// stamp may have ended later, because a trace rounds its times.
    private func arrive(before time: Int64, _ counts: inout PrefetchTally, _ policy: (any PrefetchPolicy)?) {
        while let first = contents.pointee.transfers.popEnded(before: time) {
            var access = first.access
            access.requestNumber = contents.pointee.requests
            access.time = first.time
            place(access, isCounted: first.isCounted, &counts, policy)
        }
    }

    private func place(
        _ access: Access, isCounted: Bool, _ counts: inout PrefetchTally, _ policy: (any PrefetchPolicy)?
    ) {
        makeRoom(for: access.size, &counts, policy, user: access.user)
        if cache.access(access) == .refused {
            contents.pointee.residency[access.entry] = .absent
            policy?.dropped(access.object)
            if isCounted { counts.waste(size: access.size) }
        } else {
            contents.pointee.residency.arrived(access.entry, request: contents.pointee.requests, isCounted: isCounted)
            contents.pointee.unused.add(
                UnusedPrefetches.Fetch(object: access.object, user: access.user, number: contents.pointee.requests),
                isUnused: isUnused)
        }
        release(&counts, policy, user: access.user)
    }

    /// Removes the entries that the last plan named, until an object finds room or none is left.
    private func makeRoom(
        for size: Int, _ counts: inout PrefetchTally, _ policy: (any PrefetchPolicy)?, user: UInt32
    ) {
        while size <= capacity, cache.used > capacity - size, let entry = contents.pointee.releases.popLast() {
            let state = contents.pointee.residency[entry]
            if state == .absent || state == .inFlight { continue }
            cache.remove(entry)
            contents.pointee.victims.append(entry)
            release(&counts, policy, user: user)
        }
    }

    /// Reports the victims to the policy.
    private func release(
        _ counts: inout PrefetchTally, _ policy: (any PrefetchPolicy)?, user: UInt32
    ) {
        cache.takeVictims(into: &contents.pointee.victims)
        for victim in contents.pointee.victims {
            switch contents.pointee.residency[victim] {
            case .requested, .awaited: policy?.evicted(contents.pointee.residency.object(victim), from: user)
            case .unused:
                counts.waste(size: objects.size(of: contents.pointee.residency.object(victim)))
                policy?.dropped(contents.pointee.residency.object(victim))
            case .unusedUncounted: policy?.dropped(contents.pointee.residency.object(victim))
            case .absent: break
            case .inFlight: continue
            }
            contents.pointee.residency[victim] = .absent
        }
        contents.pointee.victims.removeAll(keepingCapacity: true)
    }

    /// Repeats what was recorded: prefetches begin, arrive and end as they did, and what a plan named leaves first. Other events are
    /// skipped, because what was planned at them is recorded.
    func apply(
        _ event: TraceRecording.Event, isCounted: Bool, counts: inout PrefetchTally, policy: any PrefetchPolicy
    ) {
        contents.pointee.residency.now = event.time
        let request = Access(
            entry: .none, requestNumber: contents.pointee.requests, time: event.time, size: 1, categories: 0,
            user: event.user, object: UInt32.none)
        switch event.kind {
        case .prefetchStart:
            guard !holds(event.object) else { return }
            start(fetch(event.object, after: request), isCounted: isCounted, &counts)
        case .prefetchArrival:
            if event.size > 0 { objects.reveal(event.object, size: unit.usesUniformSizes ? 1 : event.size) }
            var fetch = fetch(event.object, after: request)
            // An image that was made of a cached original was fetched at once.
            if !holds(event.object) { start(fetch, isCounted: isCounted, &counts) }
            guard let transfer = contents.pointee.transfers.cancel(fetch.entry) else { return }
            fetch.size = objects.size(of: event.object)
            place(fetch, isCounted: transfer.isCounted, &counts, policy)
            if event.isJoined, holds(event.object) {
                contents.pointee.residency[fetch.entry] = .awaited
                if transfer.isCounted { counts.join(size: fetch.size) }
            }
        case .prefetchEnd:
            let entry = contents.pointee.residency.assign(event.object)
            guard let transfer = contents.pointee.transfers.cancel(entry) else { return }
            contents.pointee.residency[entry] = .absent
            if transfer.isCounted { counts.waste(size: transfer.access.size) }
        case .plan: contents.pointee.releases.removeAll(keepingCapacity: true)
        case .victim:
            guard contents.pointee.residency.holds(event.object) else { return }
            contents.pointee.releases.insert(contents.pointee.residency.assign(event.object), at: 0)
        case .likely, .unlikely: cache.reconsider(fetch(event.object, after: request), isLikely: event.kind == .likely)
        case .visitEnd, .dayStart, .background, .connected, .conditions: break
        }
    }

    /// Starts a transfer that ends when its end was recorded.
    private func start(_ fetch: Access, isCounted: Bool, _ counts: inout PrefetchTally) {
        if isCounted { counts.fetch(size: fetch.size) }
        contents.pointee.transfers.start(TransferSchedule.Transfer(access: fetch, time: .max, isCounted: isCounted))
        contents.pointee.residency[fetch.entry] = .inFlight
    }

    /// Counts the unused prefetched objects at the end as waste, including those in flight.
    func finish(_ counts: inout PrefetchTally) {
        for transfer in contents.pointee.transfers.remaining where transfer.isCounted {
            counts.waste(size: transfer.access.size)
        }
        for entry in 0..<contents.pointee.residency.count where contents.pointee.residency[entry] == .unused {
            counts.waste(size: objects.size(of: contents.pointee.residency.object(entry)))
        }
    }
}
