import Dispatch
import HalcyonAccessLog
import HalcyonCache
import HalcyonEviction
import HalcyonPipeline
import HalcyonPrefetch
import HalcyonSupport
import Synchronization

/// The plans of a prefetcher, and the fetches that they lead to.
extension LivePrefetcher {
    func planAfterAccess(isIdle: Bool = true) {
        guard let access = driver.unplanned else { return }
        let user = driver.user
        let limit = driver.planAfterAccess(
            outlook: outlook(for: user), isCrowded: access.size > host.room, isHeld: { isHeld($0, user.name) })
        perform(for: user)
        count(limit: limit ?? 0, isIdle: isIdle, isReady: driver.policy.isReady)
    }

    /// Plans now, on an occasion other than a timer, for a user with a visit.
    func plan(at occasion: PlanningMoment.Occasion, for user: PrefetchUser) {
        guard let visit = driver.spending.visit(of: user.number) else { return }
        let time = max(host.clock.now, visit.lastRequest)
        plan(at: PlanningMoment(occasion, user: user.number, time: time), for: user)
    }

    /// Plans at a moment between accesses, and starts fetches.
    ///
    /// - Parameter isOvertaken: whether the user's next access has come already. Then the policy only learns, because the cache knows
    ///   what came after the moment.
    func plan(at moment: PlanningMoment, for user: PrefetchUser, isOvertaken: Bool = false) {
        statistics.plansByOccasion[moment.occasion, default: 0] += 1
        if let kind = moment.occasion.recordedKind { record(kind, for: user) }
        // Nothing can be fetched for a user of an earlier start whose name is not known yet.
        let isPlan = !isOvertaken && user.isNamed
        let limit = driver.plan(
            at: moment, for: user, outlook: isPlan ? outlook(for: user) : nil, isHeld: { isHeld($0, user.name) })
        perform(for: user)
        count(limit: limit, isIdle: isPlan, isReady: driver.policy.isReadyBetweenRequests)
        if isPlan { startFetches() }
    }

    func outlook(for user: PrefetchUser) -> PrefetchOutlook {
        capacity = host.capacity
        // An entry on disk that leaves memory is not missed. So the room is that of the disk, unless the images are kept in memory alone.
        let isOnDisk = capacity.disk > 0 && !isMemoryOnly
        var room = host.room
        if isOnDisk {
            let (size, isTooLarge) = catalogue.meanCost.multipliedReportingOverflow(by: host.roomOnDisk ?? .max)
            room = isTooLarge ? .max : size
        }
        return PrefetchOutlook(
            limit: 0, room: room, capacity: isOnDisk ? .max : capacity.memory,
            isResident: { self.driver.isFetching($0) || self.isHeld($0, user.name) },
            holds: { self.cannotFetch($0, user.name) })
    }

    func count(limit: Int, isIdle: Bool, isReady: Bool) {
        let proposals = driver.plan.proposals
        statistics.plans += 1
        statistics.proposed += proposals.count
        guard proposals.prefix(limit).isEmpty else { return }
        let reason: EmptyPlanReason =
            driver.isPaused
            ? .paused : limit == 0 ? .noBudget : !isReady ? .learning : isIdle ? .nothingLikely : .neverIdle
        statistics.emptyPlans[reason, default: 0] += 1
    }

    func record(_ kind: RecordedEvent.Kind, key: String? = nil, for user: PrefetchUser) {
        guard user.isNamed else { return }
        host.record(RecordedEvent(time: host.clock.now, kind: kind, key: key, user: user.name))
    }

    /// Does what the driver commands, and returns the cancelled tasks.
    ///
    /// - Parameter user: the user of the last plan.
    @discardableResult
    func perform(for user: PrefetchUser = PrefetchUser()) -> [Task<Void, Never>] {
        var cancelled: [Task<Void, Never>] = []
        for command in driver.takeCommands() {
            switch command {
            case .reconsider(let object, let isLikely):
                guard object < catalogue.count, let key = heldKey(object, user.name) else { continue }
                host.reconsider(key, isLikely: isLikely)
                record(isLikely ? .likely : .unlikely, key: key, for: user)
            case .evictNext(let objects):
                let victims = objects.compactMap { heldKey($0, user.name) }
                host.evictNext(victims)
                record(.plan, for: user)
                for victim in victims { record(.victim, key: victim, for: user) }
            case .cancel(let object):
                guard let task = running[object]?.task else { continue }
                task.cancel()
                cancelled.append(task)
            }
        }
        return cancelled
    }

    /// Returns whether an object cannot be fetched now.
    ///
    /// It is cached or in flight, it has no known source or load template, it is too large for the cache, or its last fetch has failed.
    func cannotFetch(_ object: UInt32, _ user: String?) -> Bool {
        if driver.isFetching(object) { return true }
        guard object < catalogue.count, catalogue[object].resource != nil else { return true }
        var known = catalogue[object]
        known.template = templates.template(of: known)
        if known.template == nil { return true }
        if let setback = setbacks[object],
            setback.isInForce(at: host.clock.now, bytes: known.bytes, capacity)
        {
            return true
        }
        return !known.fits(capacity, toMemory: configuration.toMemory) || heldKey(object, user) != nil
    }

    /// Returns the computed key under which an object is cached for a user; `nil` if it is not.
    func heldKey(_ object: UInt32, _ user: String?) -> String? {
        host.heldKey(catalogue.key(of: object), ofSource: catalogue[object].resource?.cacheKey, for: user)
    }

    func isHeld(_ object: UInt32, _ user: String?) -> Bool {
        object < catalogue.count && heldKey(object, user) != nil
    }

    // MARK: - Fetches

    func startFetches() {
        let begunBefore = statistics.begun
        while let start = driver.nextFetch(size: { object, user in
            if cannotFetch(object, user.name) { return nil }
            return catalogue[object].bytes ?? (catalogue[object].resource?.source.url == nil ? 0 : sizes.mean)
        }) {
            let known = catalogue[start.object]
            guard let template = templates.template(of: known), var resource = known.resource else {
                driver.withdrawn(start.object)
                continue
            }
            resource.user = start.user.name
            statistics.begun += 1
            if start.isOfList { fetchedForLists.insert(start.object) }
            let received = ReceivedBytes(after: known.partialBytes, atMost: start.bytes ?? .max)
            var options = template.options
            options.callbackQueue = .untouch
            options.onProgress = { received.note($0.received) }
            let task = Task(priority: .background) { [host, resource, options] in
                let result = await host.fetch(resource, options)
                self.ended(start.object, result)
            }
            received.cancelBeyondLimit(task)
            running[start.object] = (task, received)
        }
        // If the process is killed, what the fetches may take counts as spent.
        if statistics.begun > begunBefore { keepAccount() }
    }

    func ended(_ object: UInt32, _ result: FetchResult) {
        guard let received = running.removeValue(forKey: object)?.received else { return }
        switch result {
        case .loaded(let bytes, let cost): arrived(object, bytes: bytes, cost: cost)
        case .cached:
            setbacks[object] = nil
            fetchedForLists.remove(object)
            driver.ended(object, bytes: 0)
        case .noManager:
            statistics.cancelled += 1
            fetchedForLists.remove(object)
            driver.withdrawn(object)
            driver.isStopped = true
        case .failed, .rejected, .cancelled:
            fetchedForLists.remove(object)
            if result == .cancelled {
                statistics.cancelled += 1
            } else {
                statistics.failed += 1
                setBack(object, result == .rejected ? .rejected : .failed)
            }
            // The received bytes count, though there is no image.
            statistics.partialBytes += received.total
            catalogue[object].partialBytes = received.held
            driver.ended(object, bytes: received.total)
        }
        startFetches()
        guard driver.isIdle else { return }
        keepAccount()
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    func arrived(_ object: UInt32, bytes: Int, cost: Int) {
        statistics.fetched += 1
        statistics.bytes += bytes
        let said = catalogue[object].bytes
        // An image from this machine has no size over the network.
        if bytes > 0 {
            sizes.note(bytes)
            catalogue[object].bytes = bytes
        }
        catalogue[object].partialBytes = 0
        catalogue.set(cost: cost, of: object)
        let isHeld = heldKey(object, driver.user(ofFetch: object)?.name) != nil
        if isHeld { setbacks[object] = nil } else { setBack(object, .refused(said: said, found: bytes, capacity)) }
        let fetch = driver.arrived(object, bytes: bytes, isHeld: isHeld, number: statistics.fetched)
        if fetchedForLists.contains(object) { statistics.lists.prefetched += 1 }
        if fetch?.isWanted == true {
            statistics.usedLate += 1
            if fetchedForLists.remove(object) != nil { statistics.lists.used += 1 }
        } else if !isHeld {
            drop(object, bytes)
        }
    }

    /// Sets the back-off of an object after a failed fetch.
    func setBack(_ object: UInt32, _ cause: FetchSetback.Cause) {
        setbacks[object] = FetchSetback(cause, after: setbacks[object], at: host.clock.now)
    }
}

extension PrefetchUser {
    /// Whether the name is the user's and not the stand-in of a hash, under which nothing can be fetched.
    var isNamed: Bool { name.map { !HashedNames.isStandIn($0) } ?? true }
}

extension PlanningMoment.Occasion {
    /// The event of a plan at such a moment; `nil` for the background, which is an event of the app, whether or not there is a plan.
    fileprivate var recordedKind: RecordedEvent.Kind? {
        switch self {
        case .visitEnd: .visitEnd
        case .dayStart: .dayStart
        case .connected: .connected
        case .background: nil
        }
    }
}
