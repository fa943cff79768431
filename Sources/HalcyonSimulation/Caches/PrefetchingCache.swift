import HalcyonEviction
import HalcyonPrefetch

/// A cache with prefetching: its residents, transfers in flight, prefetched and not yet used objects, and its budget.
final class PrefetchingCache {
    private struct Arrival {
        var access: Access
        var time: Int64
        /// Whether the fetch was begun after the warm-up.
        var isCounted: Bool
    }

    /// What changes.
    private struct Contents: ~Copyable {
        var residency = ResidencyTable()
        var arrivals: [Arrival] = []
        var victims: [EntryID] = []
        var waiting = WaitingObjects()
        /// Those that wait whose turn it is.
        var due: [UInt32] = []
        var requests = 0
        var spending: PrefetchSpending
    }

    private let cache: TieredCache
    /// The capacity in ``unit``, as are the sizes of all accesses; the budget is in the unit of the trace.
    private let capacity: Int
    private let unit: CacheUnit
    private let latency: Int64
    private let objects: ObjectInfo
    /// Kept behind a pointer, so that it is reached without exclusivity checks.
    private let contents: UnsafeMutablePointer<Contents>
    /// What policies are given to ask whether an object is held; made once, and never kept by them.
    private let holds: (UInt32) -> Bool
    /// Whether what was fetched once has not been asked for yet.
    private let waits: (WaitingObjects.Fetch) -> Bool

    /// - Parameter capacity: the capacity of the cache in `unit`.
    init(
        _ cache: TieredCache, capacity: Int, unit: CacheUnit, budget: PrefetchBudget, latency: Int64,
        objects: ObjectInfo
    ) {
        self.objects = objects
        self.cache = cache
        self.capacity = capacity
        self.unit = unit
        self.latency = latency
        let contents = UnsafeMutablePointer<Contents>.allocate(capacity: 1)
        contents.initialize(to: Contents(spending: PrefetchSpending(budget)))
        self.contents = contents
        holds =
            cache.entriesExpire
            ? { object in
                contents.pointee.residency.holds(object) { cache.contains($0, freshAt: contents.pointee.residency.now) }
            }
            : { contents.pointee.residency.holds($0) }
        waits = { contents.pointee.residency.waits($0.object, since: $0.number) }
    }

    deinit {
        contents.deinitialize(count: 1)
        contents.deallocate()
    }

    /// The number of entry numbers in use.
    var entryCount: Int { Int(contents.pointee.residency.count) }

    /// Serves a request. The access needs no entry number and no index of its own.
    ///
    /// What comes of it is told by ``tell(_:isHit:counts:to:)``.
    func serve(
        _ access: Access, isCounted: Bool, counts: inout PrefetchCounts, policy: (any PrefetchPolicy)?,
        times: CacheTimes? = nil
    ) -> AccessOutcome {
        let entry = contents.pointee.residency.assign(access.object)
        contents.pointee.residency.now = access.time
        arrive(by: access.time, &counts, policy)
        var access = access
        access.entry = entry
        access.requestNumber = contents.pointee.requests
        contents.pointee.requests += 1
        let before = contents.pointee.residency[entry]
        if before == .onTheWay, let joined = contents.pointee.arrivals.firstIndex(where: { $0.access.entry == entry }) {
            // Whoever asks for it joins the fetch, and waits.
            let fetch = contents.pointee.arrivals.remove(at: joined)
            if fetch.isCounted { counts.join(size: fetch.access.size) }
        }
        let outcome = times?.access { cache.access(access) } ?? cache.access(access)
        contents.pointee.residency[entry] = outcome == .refused ? .absent : .ordinary
        if before == .waiting || before == .waitingUncounted {
            if outcome.isHit && isCounted {
                counts.hitsOwed += 1
                if before == .waiting {
                    counts.used += 1
                    counts.requestsUntilUse += contents.pointee.requests - contents.pointee.residency.fetch(of: entry)
                }
            } else if !outcome.isHit && before == .waiting {
                counts.waste(size: objects.size(of: access.object))
            }
        }
        return outcome
    }

    /// Tells the policy, if there is one, of `access`, which has just been served, and of who had to leave for it.
    func tell(
        _ access: Access, isHit: Bool, counts: inout PrefetchCounts, to policy: (any PrefetchPolicy)?
    ) {
        policy?.note(access, isHit: isHit)
        release(&counts, policy, user: access.user)
    }

    /// Fetches what the policy proposes after `access`, which has just been served.
    func prefetch(
        after access: Access, isCounted: Bool, counts: inout PrefetchCounts, policy: any PrefetchPolicy,
        plan: inout PrefetchPlan
    ) {
        contents.pointee.spending.begin(request: access.time)
        plan.removeAll()
        let (limit, room) = (contents.pointee.spending.objectsLeft, capacity - cache.used)
        contents.pointee.due.removeAll(keepingCapacity: true)
        if access.size > room {
            contents.pointee.waiting.next(of: access.user, into: &contents.pointee.due, waits: waits)
        }
        policy.plan(
            after: access,
            outlook: PrefetchOutlook(
                limit: limit, room: room, capacity: capacity, waiting: contents.pointee.due, holds: holds),
            into: &plan)
        for judgement in plan.judgements {
            cache.reconsider(fetch(judgement.object, after: access), isLikely: judgement.isLikely)
        }
        for proposal in plan.proposals.prefix(limit) {
            let size = objects.size(of: proposal.object)
            // What the cache could never let in is not fetched, whoever proposes it.
            guard size <= capacity, contents.pointee.spending.allows(cost: size &* unit.size), !holds(proposal.object)
            else {
                continue
            }
            contents.pointee.spending.spend(cost: size &* unit.size)
            let fetch = fetch(proposal.object, after: access)
            // It has expired before anybody asked for it.
            if contents.pointee.residency[fetch.entry] == .waiting { counts.waste(size: size) }
            if isCounted { counts.fetch(size: size) }
            if latency == 0 {
                place(fetch, isCounted: isCounted, &counts, policy)
            } else {
                contents.pointee.residency[fetch.entry] = .onTheWay
                let (time, isNever) = access.time.addingReportingOverflow(latency)
                contents.pointee.arrivals.append(
                    Arrival(access: fetch, time: isNever ? .max : time, isCounted: isCounted))
            }
        }
    }

    /// What is fetched ahead, as an access.
    private func fetch(_ object: UInt32, after access: Access) -> Access {
        Access(
            entry: contents.pointee.residency.assign(object), requestNumber: contents.pointee.requests,
            time: access.time,
            size: objects.size(of: object),
            categories: objects.categories(of: object), user: access.user, object: object, isPrefetch: true)
    }

    private func arrive(by time: Int64, _ counts: inout PrefetchCounts, _ policy: (any PrefetchPolicy)?) {
        // Each fetch takes the same time, so that they arrive in their order.
        while let first = contents.pointee.arrivals.first, first.time <= time {
            contents.pointee.arrivals.removeFirst()
            var access = first.access
            access.requestNumber = contents.pointee.requests
            access.time = first.time
            place(access, isCounted: first.isCounted, &counts, policy)
        }
    }

    private func place(
        _ access: Access, isCounted: Bool, _ counts: inout PrefetchCounts, _ policy: (any PrefetchPolicy)?
    ) {
        if cache.access(access) == .refused {
            contents.pointee.residency[access.entry] = .absent
            policy?.dropped(access.object)
            if isCounted { counts.waste(size: access.size) }
        } else {
            contents.pointee.residency.arrived(access.entry, request: contents.pointee.requests, isCounted: isCounted)
            contents.pointee.waiting.add(
                WaitingObjects.Fetch(object: access.object, user: access.user, number: contents.pointee.requests),
                waits: waits)
        }
        release(&counts, policy, user: access.user)
    }

    /// Takes note of who had to leave.
    private func release(
        _ counts: inout PrefetchCounts, _ policy: (any PrefetchPolicy)?, user: UInt32
    ) {
        cache.takeVictims(into: &contents.pointee.victims)
        for victim in contents.pointee.victims {
            switch contents.pointee.residency[victim] {
            case .ordinary: policy?.evicted(contents.pointee.residency.object(victim), from: user)
            case .waiting:
                counts.waste(size: objects.size(of: contents.pointee.residency.object(victim)))
                policy?.dropped(contents.pointee.residency.object(victim))
            case .waitingUncounted: policy?.dropped(contents.pointee.residency.object(victim))
            case .absent: break
            case .onTheWay: continue
            }
            contents.pointee.residency[victim] = .absent
        }
        contents.pointee.victims.removeAll(keepingCapacity: true)
    }

    /// What was fetched ahead and is not used at the end, what is still on its way included.
    func finish(_ counts: inout PrefetchCounts) {
        for arrival in contents.pointee.arrivals where arrival.isCounted { counts.waste(size: arrival.access.size) }
        for entry in 0..<contents.pointee.residency.count where contents.pointee.residency[entry] == .waiting {
            counts.waste(size: objects.size(of: contents.pointee.residency.object(entry)))
        }
    }
}
