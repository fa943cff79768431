import HalcyonEviction
import HalcyonModel

/// A cache that is prefetched for: its residents, what is on the way, what was fetched ahead and is not used yet.
final class PrefetchedCache {
    /// Where an entry stands.
    private enum State: UInt8 {
        /// Absent, or resident because somebody asked for it.
        case ordinary
        /// Fetched ahead, on its way.
        case onTheWay
        /// Fetched ahead, resident, not asked for yet.
        case waiting
        /// The same, fetched during the warm-up.
        case waitingUncounted
    }

    private struct Arrival {
        var access: Access
        var time: Int64
    }

    private let run: CacheRun
    private let capacity: Int
    private let latency: Int64
    private let seen: SeenObjects
    private var numbers = ObjectNumbers()
    private var states: [State] = []
    private var fetchedAt: [UInt32] = []
    private var arrivals: [Arrival] = []
    private var victims: [EntryID] = []
    private var requests = 0
    private var spending: PrefetchSpending

    init(_ run: CacheRun, capacity: Int, budget: PrefetchBudget, latency: Int64, seen: SeenObjects) {
        self.seen = seen
        self.run = run
        self.capacity = capacity
        self.latency = latency
        spending = PrefetchSpending(budget)
    }

    var state: CacheState { run.state() }

    func define(_ set: CategorySetID, _ members: [UInt32]) { run.define(set, members) }

    /// Serves a request. The access needs no entry number and no index of its own.
    ///
    /// What comes of it is told by ``tell(_:isHit:counts:to:)``.
    func serve(
        _ access: Access, isCounted: Bool, counts: inout PrefetchCounts, policy: (any PrefetchPolicy)?
    ) -> AccessOutcome {
        let entry = number(access.object)
        arrive(by: access.time, isCounted: isCounted, &counts, policy)
        var access = access
        access.entry = entry
        access.index = requests
        requests += 1
        let before = states[Int(entry)]
        if before == .onTheWay {
            // Whoever asks for it joins the fetch, and waits.
            arrivals.removeAll { $0.access.entry == entry }
            states[Int(entry)] = .ordinary
            if isCounted { counts.late += 1 }
        }
        let outcome = run.access(access)
        if before == .waiting || before == .waitingUncounted {
            states[Int(entry)] = .ordinary
            if outcome == .hit && isCounted {
                counts.hitsOwed += 1
                if before == .waiting {
                    counts.used += 1
                    counts.requestsUntilUse += requests - Int(fetchedAt[Int(entry)])
                }
            } else if outcome != .hit && before == .waiting {
                counts.wastedCost += access.cost
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
        plan: inout [PrefetchProposal]
    ) {
        spending.begin(request: access.time)
        plan.removeAll(keepingCapacity: true)
        let outlook = PrefetchOutlook(
            limit: spending.objectsLeft, hasRoom: run.used() + access.cost <= capacity,
            holds: { [unowned self] in holds($0) })
        policy.plan(after: access, outlook: outlook, into: &plan)
        for proposal in plan.prefix(outlook.limit) {
            let (cost, categories) = (seen.cost(of: proposal.object), seen.categories(of: proposal.object))
            guard spending.allows(cost: cost), !holds(proposal.object) else { continue }
            spending.spend(cost: cost)
            let entry = number(proposal.object)
            let fetch = Access(
                entry: entry, index: requests, time: access.time, cost: cost, categories: categories, user: access.user,
                object: proposal.object, isPrefetch: true)
            if isCounted {
                counts.fetched += 1
                counts.fetchedCost += cost
            }
            if latency == 0 {
                place(fetch, isCounted: isCounted, &counts, policy)
            } else {
                states[Int(entry)] = .onTheWay
                arrivals.append(Arrival(access: fetch, time: access.time + latency))
            }
        }
    }

    private func holds(_ object: UInt32) -> Bool {
        guard let entry = numbers.number(of: object) else { return false }
        return states[Int(entry)] == .onTheWay || run.contains(entry)
    }

    private func number(_ object: UInt32) -> EntryID {
        let entry = numbers.assign(object)
        if Int(entry) == states.count {
            states.append(.ordinary)
            fetchedAt.append(0)
        }
        return entry
    }

    private func arrive(
        by time: Int64, isCounted: Bool, _ counts: inout PrefetchCounts, _ policy: (any PrefetchPolicy)?
    ) {
        // Each fetch takes the same time, so that they arrive in their order.
        while let first = arrivals.first, first.time <= time {
            arrivals.removeFirst()
            var access = first.access
            access.index = requests
            access.time = first.time
            place(access, isCounted: isCounted, &counts, policy)
        }
    }

    private func place(
        _ access: Access, isCounted: Bool, _ counts: inout PrefetchCounts, _ policy: (any PrefetchPolicy)?
    ) {
        states[Int(access.entry)] = .ordinary
        if run.access(access) == .refused {
            if isCounted { counts.wastedCost += access.cost }
        } else {
            states[Int(access.entry)] = isCounted ? .waiting : .waitingUncounted
            fetchedAt[Int(access.entry)] = UInt32(truncatingIfNeeded: requests)
        }
        release(&counts, policy, user: access.user)
    }

    /// Takes note of who had to leave.
    private func release(
        _ counts: inout PrefetchCounts, _ policy: (any PrefetchPolicy)?, user: UInt32
    ) {
        run.takeVictims(&victims)
        for victim in victims {
            switch states[Int(victim)] {
            case .ordinary: policy?.evicted(numbers.objects[Int(victim)], from: user)
            case .waiting: counts.wastedCost += seen.cost(of: numbers.objects[Int(victim)])
            case .waitingUncounted, .onTheWay: break
            }
            states[Int(victim)] = .ordinary
        }
        victims.removeAll(keepingCapacity: true)
    }

    /// What was fetched ahead and is not used at the end.
    func finish(_ counts: inout PrefetchCounts) {
        for (entry, state) in states.enumerated() where state == .waiting {
            counts.wastedCost += seen.cost(of: numbers.objects[entry])
        }
    }
}
