import HalcyonEviction
import HalcyonModel

/// A cache that is prefetched for: its residents, what is on the way, what was fetched ahead and is not used yet.
final class PrefetchedCache {
    private struct Arrival {
        var access: Access
        var time: Int64
        /// Whether the fetch was begun after the warm-up.
        var isCounted: Bool
    }

    private let run: CacheRun
    private let capacity: Int
    private let latency: Int64
    private let seen: SeenObjects
    /// Kept behind a pointer, so that it is reached without exclusivity checks.
    private let met: UnsafeMutablePointer<MetObjects>
    /// What policies are given to ask whether an object is held; made once, and never kept by them.
    private let holds: (UInt32) -> Bool
    /// Whether what was fetched once has not been asked for yet.
    private let waits: (WaitingObjects.Fetch) -> Bool
    private var arrivals: [Arrival] = []
    private var victims: [EntryID] = []
    private var waiting = WaitingObjects()
    /// Those that wait whose turn it is.
    private var due: [UInt32] = []
    private var requests = 0
    private var spending: PrefetchSpending

    init(_ run: CacheRun, capacity: Int, budget: PrefetchBudget, latency: Int64, seen: SeenObjects) {
        self.seen = seen
        self.run = run
        self.capacity = capacity
        self.latency = latency
        let met = UnsafeMutablePointer<MetObjects>.allocate(capacity: 1)
        met.initialize(to: MetObjects())
        self.met = met
        let containsFresh = run.containsFresh
        holds =
            run.entriesExpire
            ? { object in met.pointee.holds(object) { containsFresh($0, met.pointee.now) } }
            : { met.pointee.holds($0) }
        waits = { met.pointee.waits($0.object, since: $0.number) }
        spending = PrefetchSpending(budget)
    }

    deinit {
        met.deinitialize(count: 1)
        met.deallocate()
    }

    var state: CacheState { run.state() }

    func define(_ set: CategorySetID, _ members: [UInt32]) { run.define(set, members) }

    /// Serves a request. The access needs no entry number and no index of its own.
    ///
    /// What comes of it is told by ``tell(_:isHit:counts:to:)``.
    func serve(
        _ access: Access, isCounted: Bool, counts: inout PrefetchCounts, policy: (any PrefetchPolicy)?
    ) -> AccessOutcome {
        let entry = met.pointee.assign(access.object)
        met.pointee.now = access.time
        arrive(by: access.time, &counts, policy)
        var access = access
        access.entry = entry
        access.index = requests
        requests += 1
        let before = met.pointee[entry]
        if before == .onTheWay, let joined = arrivals.firstIndex(where: { $0.access.entry == entry }) {
            // Whoever asks for it joins the fetch, and waits.
            let fetch = arrivals.remove(at: joined)
            if fetch.isCounted { counts.join(cost: fetch.access.cost) }
        }
        let outcome = run.access(access)
        met.pointee[entry] = outcome == .refused ? .absent : .ordinary
        if before == .waiting || before == .waitingUncounted {
            if outcome == .hit && isCounted {
                counts.hitsOwed += 1
                if before == .waiting {
                    counts.used += 1
                    counts.requestsUntilUse += requests - met.pointee.fetch(of: entry)
                }
            } else if outcome != .hit && before == .waiting {
                counts.waste(cost: seen.cost(of: access.object))
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
        spending.begin(request: access.time)
        plan.removeAll()
        let (limit, room) = (spending.objectsLeft, capacity - run.used())
        due.removeAll(keepingCapacity: true)
        if access.cost > room { waiting.next(of: access.user, into: &due, waits: waits) }
        policy.plan(
            after: access,
            outlook: PrefetchOutlook(limit: limit, room: room, capacity: capacity, waiting: due, holds: holds),
            into: &plan)
        for judgement in plan.judgements {
            run.reconsider(fetch(judgement.object, after: access), judgement.isLikely)
        }
        for proposal in plan.proposals.prefix(limit) {
            let cost = seen.cost(of: proposal.object)
            // What the cache could never let in is not fetched, whoever proposes it.
            guard cost <= capacity, spending.allows(cost: cost), !holds(proposal.object) else { continue }
            spending.spend(cost: cost)
            let fetch = fetch(proposal.object, after: access)
            // It has expired before anybody asked for it.
            if met.pointee[fetch.entry] == .waiting { counts.waste(cost: cost) }
            if isCounted { counts.fetch(cost: cost) }
            if latency == 0 {
                place(fetch, isCounted: isCounted, &counts, policy)
            } else {
                met.pointee[fetch.entry] = .onTheWay
                let (time, isNever) = access.time.addingReportingOverflow(latency)
                arrivals.append(Arrival(access: fetch, time: isNever ? .max : time, isCounted: isCounted))
            }
        }
    }

    /// What is fetched ahead, as an access.
    private func fetch(_ object: UInt32, after access: Access) -> Access {
        Access(
            entry: met.pointee.assign(object), index: requests, time: access.time, cost: seen.cost(of: object),
            categories: seen.categories(of: object), user: access.user, object: object, isPrefetch: true)
    }

    private func arrive(by time: Int64, _ counts: inout PrefetchCounts, _ policy: (any PrefetchPolicy)?) {
        // Each fetch takes the same time, so that they arrive in their order.
        while let first = arrivals.first, first.time <= time {
            arrivals.removeFirst()
            var access = first.access
            access.index = requests
            access.time = first.time
            place(access, isCounted: first.isCounted, &counts, policy)
        }
    }

    private func place(
        _ access: Access, isCounted: Bool, _ counts: inout PrefetchCounts, _ policy: (any PrefetchPolicy)?
    ) {
        if run.access(access) == .refused {
            met.pointee[access.entry] = .absent
            policy?.dropped(access.object)
            if isCounted { counts.waste(cost: access.cost) }
        } else {
            met.pointee.arrived(access.entry, request: requests, isCounted: isCounted)
            waiting.add(
                WaitingObjects.Fetch(object: access.object, user: access.user, number: requests), waits: waits)
        }
        release(&counts, policy, user: access.user)
    }

    /// Takes note of who had to leave.
    private func release(
        _ counts: inout PrefetchCounts, _ policy: (any PrefetchPolicy)?, user: UInt32
    ) {
        run.takeVictims(&victims)
        for victim in victims {
            switch met.pointee[victim] {
            case .ordinary: policy?.evicted(met.pointee.object(victim), from: user)
            case .waiting:
                counts.waste(cost: seen.cost(of: met.pointee.object(victim)))
                policy?.dropped(met.pointee.object(victim))
            case .waitingUncounted: policy?.dropped(met.pointee.object(victim))
            case .absent: break
            case .onTheWay: continue
            }
            met.pointee[victim] = .absent
        }
        victims.removeAll(keepingCapacity: true)
    }

    /// What was fetched ahead and is not used at the end, what is still on its way included.
    func finish(_ counts: inout PrefetchCounts) {
        for arrival in arrivals where arrival.isCounted { counts.waste(cost: arrival.access.cost) }
        for entry in 0..<met.pointee.count where met.pointee[entry] == .waiting {
            counts.waste(cost: seen.cost(of: met.pointee.object(entry)))
        }
    }
}
