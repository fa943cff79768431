import HalcyonAccessLog
import Dispatch
import HalcyonCache
import HalcyonEviction
import HalcyonPipeline
import HalcyonPrefetch
import HalcyonSupport

/// Feeds events to a prefetch policy, and fetches what the policy proposes.
///
/// The policy receives accesses one by one, in their order. It plans once after all accesses that came together, and at moments between
/// accesses (`PlanningMoment`) if it can. A new plan replaces the fetches of the last one that have not started; one at a moment does so
/// only if it proposes any.
///
/// It runs on a dispatch queue of its own: file locks, files, models and planning would block the threads that all tasks share.
actor LivePrefetcher {
    private let executor = QueueExecutor(label: "halcyon.prefetcher")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The policy. It is made with the first event, because a file may have to be read.
    private lazy var policy: any PrefetchPolicy = makePolicy()
    private let configuration: PrefetchConfiguration
    private let host: PrefetchHost
    private let inbox: EventInbox
    /// The task that ends once the previous prefetcher has saved its state. The policy is made after that.
    private let ending: Task<Void, Never>?
    private var catalogue = ObjectCatalogue()
    /// The load templates of objects that were not announced, by processor.
    private var templates: LoadTemplates
    /// The latest accesses, which are kept with the planner's model.
    private var memory = AccessMemory()
    private var sizes = FetchSizes()
    private var spending: PrefetchSpending
    /// The account that the file contains.
    private var keptAccount: PrefetchAccount?
    private var isPrepared = false
    private var conditions: PrefetchConditions = []
    /// Whether fetching has ended: it was stopped, or the manager no longer exists.
    private var isStopped = false
    /// The last access, if there was no plan after it.
    private var unplanned: Access?
    /// The user of the last access.
    private var user = PrefetchUser()
    /// Whether the object of the last access is kept in memory alone.
    private var isMemoryOnly = false
    /// The users whose visits are timed.
    private var users: TimedUsers
    /// The user for whom a condition held a plan or a fetch back.
    private var deferredUser: PrefetchUser?
    /// Whether the last plan named entries for the cache to evict first.
    private var hasNamedVictims = false
    /// The objects to fetch, in this order, and their user.
    private var fetchQueue: (objects: ArraySlice<UInt32>, user: PrefetchUser) = ([], PrefetchUser())
    private var running: [UInt32: RunningFetch] = [:]
    /// The fetched and not yet requested objects, with their bytes and the numbers of their fetches.
    private var fetched: [UInt32: (bytes: Int, fetch: Int)] = [:]
    /// The same in the order in which the policy reconsiders them.
    private var unused = UnusedPrefetches()
    /// The back-offs of objects whose last fetch failed.
    private var setbacks: [UInt32: FetchSetback] = [:]
    /// The capacity of the cache at the last plan.
    private var capacity = CacheCapacity()
    private var counts = PrefetchStatistics()
    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(
        _ configuration: PrefetchConfiguration, _ host: PrefetchHost, _ inbox: EventInbox,
        usual: LoadTemplate, after ending: Task<Void, Never>?
    ) {
        self.ending = ending
        templates = LoadTemplates(usual: usual)
        self.configuration = configuration
        self.inbox = inbox
        self.host = host
        let idleTime = configuration.context.idleTime
        spending = PrefetchSpending(configuration.budget, idleTime: idleTime)
        users = TimedUsers(idleTime: idleTime, servesOneUser: configuration.servesOneUser)
    }

    var statistics: PrefetchStatistics { counts }
    /// The last fault of a file, in one sentence.
    private(set) var modelFault: String?
    var calibration: [CalibrationBin] {
        get async {
            await prepare()
            return policy.calibration
        }
    }
    var metrics: [PolicyMetric] {
        get async {
            await prepare()
            return policy.metrics
        }
    }

    /// Processes the pending events without a plan after accesses. It precedes all other calls of the policy.
    ///
    /// - Returns: the time of the next moment between accesses, which may be past after a start; `nil` for none.
    @discardableResult
    func processEvents() async -> Int64? {
        await prepare()
        let (events, lost) = inbox.take()
        counts.lostAccesses += lost.accesses
        counts.lostRemovals += lost.removals
        for event in events { process(event) }
        return isStopped || !policy.plansBetweenRequests ? nil : users.nextTime
    }

    /// Plans after the last access, if there was no plan after it, and at the moments that are due, and starts fetches.
    ///
    /// - Parameter isIdle: whether there was a pause before the plan.
    func plan(isIdle: Bool = true) {
        planAfterAccess(isIdle: isIdle)
        planAtMoments()
        begin()
    }

    /// Plans at the moments that are due, and starts fetches. Of several moments of a user, which can be due after a restart or while the
    /// process slept, only the last has a plan.
    func planAtMoments() {
        guard policy.plansBetweenRequests, !isStopped else { return }
        let now = host.now()
        for (moment, user) in users.due(by: now) {
            planAfterAccess()
            plan(at: PlanningMoment(moment.occasion, user: moment.user, time: now), for: user)
        }
    }

    /// Cancels the fetches in flight, starts no more, processes the pending events and saves the state.
    func stop() async {
        isStopped = true
        cancelFetches()
        await processEvents()
        save()
    }

    /// Writes the spending, the latest accesses, and the planner's model if it has learnt enough.
    func save() {
        keepAccount()
        guard configuration.keepsModel, let folder = host.folder() else { return }
        if configuration.remembersAccesses, memory.count > 0 {
            let file = KeptAccessesFile(folder: folder)
            do { try write(to: file) } catch { note(fault: error) }
        }
        let visits = policy as? VisitPlanner
        let planner =
            visits?.plannerSnapshot(producer: Halcyon.version)
            ?? (policy as? PrefetchPlanner)?.snapshot(producer: Halcyon.version)
        do {
            if let planner { try PlannerFile(folder: folder).write(planner) }
            if let learned = visits?.snapshot(producer: Halcyon.version) {
                try VisitsFile(folder: folder).write(learned)
            }
        } catch { note(fault: error) }
    }

    /// Removes the accesses until now from memory and file. The policy keeps what it has learnt from them.
    func forgetAccesses() async {
        await processEvents()
        memory.forget()
        do { try host.folder().map(KeptAccessesFile.init)?.remove() } catch { note(fault: error) }
    }

    /// Forgets a user: cancels the fetches for it, and removes its accesses here and in the file. Returns when the fetches have ended.
    ///
    /// What the policy has learnt from the accesses stays, under a number that no name leads to.
    func forget(user: String) async throws {
        await processEvents()
        guard let name = catalogue.user(user) else { return }
        if self.user.isNamed(user) {
            self.user = PrefetchUser()
            unplanned = nil
        }
        if fetchQueue.user.isNamed(user) { fetchQueue = ([], PrefetchUser()) }
        if deferredUser?.isNamed(user) == true { deferredUser = nil }
        let number = catalogue.number(ofUser: name)
        users.forget(number)
        spending.forget(visitOf: number)
        memory.forget(user: name)
        catalogue.forget(user: name)
        let fetches = running.values.filter { $0.user.isNamed(user) }
        for fetch in fetches { fetch.task.cancel() }
        if let file = host.folder().map(KeptAccessesFile.init) {
            if configuration.remembersAccesses, memory.count > 0 {
                do { try write(to: file) } catch { try file.remove() }
            } else {
                try file.remove()
            }
        }
        for fetch in fetches { await fetch.task.value }
    }

    /// Writes the latest accesses.
    private func write(to file: KeptAccessesFile) throws {
        if !configuration.keepsURLs, catalogue.hashed.key == nil {
            catalogue.hashed.key = file.readKey() ?? NameHashKey()
        }
        try file.write(key: catalogue.hashed.key) { memory.latest($0, in: catalogue) }
    }

    /// Waits for the previous prefetcher, then reads the kept accesses and the spending.
    private func prepare() async {
        await ending?.value
        if isPrepared { return }
        isPrepared = true
        recall()
        if let account = host.folder().map(PrefetchAccountFile.init)?.read() {
            spending.resume(account, at: host.now())
            sizes = FetchSizes(after: spending)
            keptAccount = account
        }
        guard policy.plansBetweenRequests else { return }
        for user in users.all {
            guard let visit = spending.visit(of: user.number) else { continue }
            // A moment that was planned before the restart is not planned again, but the policy learns from its outcome.
            if visit.lastMoment >= visit.lastRequest { learn(at: visit.lastMoment, for: user) }
            time(user, at: visit.lastRequest, lastMoment: visit.lastMoment)
        }
        if let visits = policy as? VisitPlanner, configuration.keepsModel {
            do {
                if let learned = try host.folder().map(VisitsFile.init)?.read() { visits.adopt(learned) }
            } catch { note(fault: error) }
        }
    }

    /// Times a user's visit from an access on.
    private func time(_ user: PrefetchUser, at time: Int64, lastMoment: Int64 = .min) {
        if let forgotten = users.note(user, at: time, lastMoment: lastMoment) { spending.forget(visitOf: forgotten) }
    }

    /// Passes a past moment to the policy, which may learn from its outcome. Nothing is proposed.
    private func learn(at time: Int64, _ occasion: PlanningMoment.Occasion = .visitEnd, for user: PrefetchUser) {
        var plan = PrefetchPlan()
        policy.plan(
            at: PlanningMoment(occasion, user: user.number, time: time),
            outlook: PrefetchOutlook(limit: 0, room: 0, holds: { _ in false }), into: &plan)
    }

    /// Writes the spending, if it has changed.
    private func keepAccount() {
        let account = spending.account
        guard account != keptAccount, counts.accesses + counts.plans > 0, let folder = host.folder() else {
            return
        }
        do {
            try PrefetchAccountFile(folder: folder).write(account)
            keptAccount = account
        } catch { note(fault: error) }
    }

    /// Reads the kept accesses, or removes their file.
    private func recall() {
        guard let file = host.folder().map(KeptAccessesFile.init) else { return }
        do {
            guard configuration.remembersAccesses else { return try file.remove() }
            let key = configuration.keepsURLs ? nil : file.readKey() ?? NameHashKey()
            catalogue.hashed.key = key
            guard let kept = try file.read() else { return }
            // Names in clear that should not be kept so, hashes of a lost key, and hashes where names are wanted.
            guard kept.hashKey == key?.identifier else { return try file.remove() }
            let isTimed = policy.plansBetweenRequests
            memory.recall(
                kept, into: &catalogue, telling: policy, now: host.now(), fileName: host.fileName
            ) { access, name in
                if isTimed {
                    for (moment, user) in users.due(by: access.time) {
                        learn(at: moment.time, moment.occasion, for: user)
                    }
                }
                spending.begin(request: access.time, of: access.user)
                time(PrefetchUser(number: access.user, name: name), at: access.time)
            }
        } catch { note(fault: error) }
    }

    private func makePolicy() -> any PrefetchPolicy {
        let context = configuration.context
        if let make = configuration.policy { return make(context) }
        var learnt: PretrainedPlanner?
        if configuration.keepsModel {
            do { learnt = try host.folder().map(PlannerFile.init)?.read() } catch { note(fault: error) }
        }
        let planner =
            (learnt ?? configuration.pretrained).map {
                PrefetchPlanner($0, parameters: configuration.planner, context: context)
            } ?? PrefetchPlanner(configuration.planner, context: context)
        return VisitPlanner(context: context, withinVisits: planner)
    }

    private func note(fault: any Error) {
        counts.modelFaults += 1
        modelFault = "\(fault)"
    }

    /// Returns when no fetch is in flight.
    func waitUntilIdle() async {
        if running.isEmpty { return }
        await withCheckedContinuation { waiters.append($0) }
    }

    // MARK: - Events

    private func process(_ event: PrefetcherEvent) {
        switch event {
        case .template(let template): templates.note(template)
        case .wanted(let resource, let processor):
            guard let object = learn(resource, processor) else { break }
            if catalogue[object].template == nil { catalogue[object].template = templates[processor] }
        case .announced(let resources, let template, let time):
            for resource in resources { announce(resource, template, time) }
        case .accessed(let access): handleAccess(access)
        case .removed(let type, let removal): handleRemoval(type, removal)
        case .conditions(let new): set(new)
        case .background:
            record(.background, for: user)
            guard policy.plansBetweenRequests, !isStopped else { break }
            planAfterAccess()
            plan(at: .background, for: user)
        }
    }

    private func set(_ new: PrefetchConditions) {
        let old = conditions
        conditions = new
        host.record(
            RecordedEvent(time: host.now(), kind: .conditions, conditions: Int(new.rawValue)))
        spending.budget =
            conditions.contains(.meteredNetwork)
            ? configuration.budget.limited(by: configuration.meteredBudget) : configuration.budget
        if isPaused {
            if !running.isEmpty || !fetchQueue.objects.isEmpty { deferredUser = fetchQueue.user }
            return cancelFetches()
        }
        let limiting = configuration.pausing.union(.meteredNetwork)
        guard let user = deferredUser, !old.intersection(limiting).subtracting(new).isEmpty else { return }
        deferredUser = nil
        guard policy.plansBetweenRequests else { return }
        planAfterAccess()
        plan(at: .connected, for: user)
    }

    /// Returns the object of a resource; `nil` if there are too many.
    private func learn(_ resource: Resource, _ processor: String) -> UInt32? {
        let key = resource.cacheKey.computedKey(with: processor)
        guard let object = catalogue.intern(key, fileName: host.fileName) else { return nil }
        catalogue.set(resource, of: object)
        return object
    }

    private func announce(_ announced: AnnouncedResource, _ template: LoadTemplate, _ time: Int64) {
        guard let object = learn(announced.resource, template.processor) else {
            counts.unknownAnnouncements += 1
            return
        }
        catalogue[object].template = template
        let names = announced.resource.categories
        catalogue[object].categories = catalogue.set(of: names, telling: policy)
        if let bytes = announced.bytes { catalogue[object].bytes = bytes }
        catalogue.set(cost: announced.cost ?? 0, of: object)
        policy.announce(
            AnnouncedObject(
                object: object, categories: catalogue[object].categories, size: catalogue.expectedCost(of: object),
                time: announced.since ?? time))
    }

    private func handleAccess(_ heard: RecordedAccess) {
        // The model knows an image by its source, also where each user has an image of its own.
        let key = EntryOrigin.sharedKey(of: heard.key, user: heard.user)
        guard let object = catalogue.internAccessed(key, fileName: host.fileName) else {
            counts.unknownAccesses += 1
            return
        }
        if !heard.categories.isEmpty {
            catalogue[object].categories = catalogue.set(of: heard.categories, telling: policy)
        }
        catalogue.set(cost: heard.cost, of: object)
        let name = catalogue.user(heard.user)
        user = PrefetchUser(number: catalogue.number(ofUser: name), name: heard.user)
        if policy.plansBetweenRequests {
            for (moment, due) in users.due(by: heard.time) {
                plan(at: moment, for: due, isOvertaken: due.number == user.number)
            }
        }
        time(user, at: heard.time)
        isMemoryOnly = templates.template(of: catalogue[object])?.isMemoryOnly ?? templates.usual.isMemoryOnly
        let access = Access(
            entry: object, requestNumber: memory.recalledCount + counts.accesses, time: heard.time,
            size: catalogue.expectedCost(of: object), categories: catalogue[object].categories, user: user.number,
            object: object)
        counts.accesses += 1
        spending.begin(request: heard.time, of: user.number)
        let isHit = heard.outcome != .network && heard.outcome != .miss
        if let setback = setbacks[object], heard.outcome != .miss {
            // The image is available, but the cache may have refused it.
            if !setback.isRefusal || heldKey(object, heard.user) != nil { setbacks[object] = nil }
        }
        if fetched.removeValue(forKey: object) != nil {
            // A removal would have been processed first: on a miss, the fetch ended while the request waited for it.
            if isHit { counts.used += 1 } else { counts.usedLate += 1 }
        }
        running[object]?.isWanted = true
        policy.note(access, isHit: isHit)
        if configuration.remembersAccesses {
            memory.note(access, user: name, cost: catalogue[object].cost, isHit: isHit)
        }
        unplanned = access
    }

    private func handleRemoval(_ type: CacheType, _ removal: Removal) {
        let object =
            type == .disk
            ? catalogue.object(inFile: removal.key)
            : catalogue.object(forKey: EntryOrigin.sharedKey(of: removal.key, user: user.name))
        guard let object, heldKey(object, user.name) == nil else { return }
        if let left = fetched.removeValue(forKey: object) {
            drop(left.bytes)
            policy.dropped(object)
        } else if removal.reason == .evicted {
            policy.evicted(object, from: user.number)
        }
    }

    private func drop(_ bytes: Int) {
        counts.dropped += 1
        counts.droppedBytes += bytes
    }

    // MARK: - Plans

    private var isPaused: Bool { isStopped || !conditions.isDisjoint(with: configuration.pausing) }

    private func planAfterAccess(isIdle: Bool = true) {
        if let access = unplanned { plan(after: access, isIdle: isIdle) }
        unplanned = nil
    }

    private func plan(after access: Access, isIdle: Bool) {
        fetchQueue = ([], user)
        var due: [UInt32] = []
        if access.size > host.room() { unused.next(of: access.user, into: &due, isUnused: isUnused) }
        // It plans even if nothing may be fetched, because it may learn from that.
        let (outlook, user) = (outlook(limit: isPaused ? 0 : spending.objectsLeft, unused: due, for: user), user)
        var plan = PrefetchPlan()
        policy.plan(after: access, outlook: outlook, into: &plan)
        for verdict in plan.reconsiderations where verdict.object < catalogue.count {
            guard let key = heldKey(verdict.object, user.name) else { continue }
            host.reconsider(key, verdict.isLikely)
            record(verdict.isLikely ? .likely : .unlikely, key: key, for: user)
        }
        carryOut(plan, limit: outlook.limit, for: user)
        count(plan, limit: outlook.limit, isIdle: isIdle, isReady: policy.isReady)
    }

    /// Plans now, on an occasion other than a timer, for a user with a visit.
    private func plan(at occasion: PlanningMoment.Occasion, for user: PrefetchUser) {
        guard let visit = spending.visit(of: user.number) else { return }
        let time = max(host.now(), visit.lastRequest)
        plan(at: PlanningMoment(occasion, user: user.number, time: time), for: user)
    }

    /// Plans at a moment between accesses, and starts fetches.
    ///
    /// - Parameter isOvertaken: whether the user's next access has come already. Then the policy only learns, because the cache knows
    ///   what came after the moment.
    private func plan(at moment: PlanningMoment, for user: PrefetchUser, isOvertaken: Bool = false) {
        spending.begin(momentAt: moment.time, of: user.number)
        counts.plansByOccasion[moment.occasion, default: 0] += 1
        if let kind = moment.occasion.recordedKind { record(kind, for: user) }
        // Nothing can be fetched for a user of an earlier start whose name is not known yet.
        guard !isOvertaken, user.isNamed else {
            learn(at: moment.time, moment.occasion, for: user)
            return count(PrefetchPlan(), limit: .max, isIdle: false, isReady: policy.isReadyBetweenRequests)
        }
        let outlook = outlook(limit: isPaused ? 0 : spending.objectsLeft, unused: [], for: user)
        var plan = PrefetchPlan()
        policy.plan(at: moment, outlook: outlook, into: &plan)
        carryOut(plan, limit: outlook.limit, for: user)
        count(plan, limit: outlook.limit, isIdle: true, isReady: policy.isReadyBetweenRequests)
        begin()
    }

    private func outlook(limit: Int, unused: [UInt32], for user: PrefetchUser) -> PrefetchOutlook {
        capacity = host.capacity()
        // An entry on disk that leaves memory is not missed. So the room is that of the disk, unless the images are kept in memory alone.
        let isOnDisk = capacity.disk > 0 && !isMemoryOnly
        var room = host.room()
        if isOnDisk {
            let (size, isTooLarge) = catalogue.meanCost.multipliedReportingOverflow(
                by: host.roomOnDisk() ?? .max)
            room = isTooLarge ? .max : size
        }
        return PrefetchOutlook(
            limit: limit, room: room, capacity: isOnDisk ? .max : capacity.memory, unused: unused,
            isResident: { self.running[$0] != nil || self.isHeld($0, user.name) },
            holds: { self.cannotFetch($0, user.name) })
    }

    private func record(_ kind: RecordedEvent.Kind, key: String? = nil, for user: PrefetchUser) {
        guard user.isNamed else { return }
        host.record(RecordedEvent(time: host.now(), kind: kind, key: key, user: user.name))
    }

    /// Passes on which entries the cache evicts next, and sets what is fetched next.
    private func carryOut(_ plan: PrefetchPlan, limit: Int, for user: PrefetchUser) {
        let victims = plan.releases.compactMap { $0 < catalogue.count ? heldKey($0, user.name) : nil }
        if hasNamedVictims || !victims.isEmpty {
            host.evictNext(victims)
            record(.plan, for: user)
            for victim in victims { record(.victim, key: victim, for: user) }
        }
        hasNamedVictims = !victims.isEmpty
        let proposed = plan.proposals.prefix(limit).map(\.object)
        if !proposed.isEmpty { fetchQueue = (proposed[...], user) }
        let isShort = conditions.contains(.meteredNetwork) && plan.proposals.count >= limit
        if isPaused && !isStopped || isShort { deferredUser = user }
    }

    private func count(_ plan: PrefetchPlan, limit: Int, isIdle: Bool, isReady: Bool) {
        counts.plans += 1
        counts.proposed += plan.proposals.count
        guard plan.proposals.prefix(limit).isEmpty else { return }
        let reason: EmptyPlanReason =
            isPaused ? .paused : limit == 0 ? .noBudget : !isReady ? .learning : isIdle ? .nothingLikely : .neverIdle
        counts.emptyPlans[reason, default: 0] += 1
    }

    /// Returns whether an object cannot be fetched now.
    ///
    /// It is cached or in flight, it has no known source or load template, it is too large for the cache, or its last fetch has failed.
    private func cannotFetch(_ object: UInt32, _ user: String?) -> Bool {
        guard object < catalogue.count, catalogue[object].resource != nil, running[object] == nil else { return true }
        var known = catalogue[object]
        known.template = templates.template(of: known)
        if known.template == nil { return true }
        if let setback = setbacks[object],
            setback.isInForce(at: host.now(), bytes: known.bytes, capacity)
        {
            return true
        }
        return !known.fits(capacity, toMemory: configuration.toMemory) || heldKey(object, user) != nil
    }

    /// Returns the computed key under which an object is cached for a user; `nil` if it is not.
    private func heldKey(_ object: UInt32, _ user: String?) -> String? {
        host.heldKey(catalogue.key(of: object), catalogue[object].resource?.cacheKey, user)
    }

    private func isHeld(_ object: UInt32, _ user: String?) -> Bool {
        object < catalogue.count && heldKey(object, user) != nil
    }

    private func isUnused(_ fetch: UnusedPrefetches.Fetch) -> Bool { fetched[fetch.object]?.fetch == fetch.number }

    private func begin() {
        if isPaused { fetchQueue.objects = [] }
        let begunBefore = counts.begun
        while running.count < configuration.maxConcurrent, let object = fetchQueue.objects.popFirst() {
            guard !cannotFetch(object, fetchQueue.user.name), spending.objectsLeft > 0 else { continue }
            let known = catalogue[object]
            guard let template = templates.template(of: known), var resource = known.resource else { continue }
            let expected = known.bytes ?? (resource.source.url == nil ? 0 : sizes.mean)
            guard spending.allows(size: expected) else { continue }
            resource.user = fetchQueue.user.name
            let left = spending.bytesLeft
            let payment = spending.spend(size: expected)
            counts.begun += 1
            let received = ReceivedBytes(after: known.partialBytes, atMost: left ?? .max)
            var options = template.options
            options.callbackQueue = .untouch
            options.onProgress = { received.note($0.received) }
            let task = Task(priority: .background) { [host, resource, options] in
                let result = await host.fetch(resource, options)
                self.ended(object, result)
            }
            received.cancelBeyondLimit(task)
            running[object] = RunningFetch(task: task, user: fetchQueue.user, payment: payment, received: received)
        }
        // If the process is killed, what the fetches may take counts as spent.
        if counts.begun > begunBefore { keepAccount() }
    }

    private func ended(_ object: UInt32, _ result: PrefetchHost.Fetched) {
        guard let ended = running.removeValue(forKey: object) else { return }
        var paid = 0
        switch result {
        case .loaded(let bytes, let cost):
            counts.fetched += 1
            counts.bytes += bytes
            let said = catalogue[object].bytes
            // An image from this machine has no size over the network.
            if bytes > 0 {
                sizes.note(bytes)
                catalogue[object].bytes = bytes
            }
            catalogue[object].partialBytes = 0
            catalogue.set(cost: cost, of: object)
            paid = bytes
            let isHeld = heldKey(object, ended.user.name) != nil
            if isHeld {
                setbacks[object] = nil
            } else {
                setBack(object, .refused(said: said, found: bytes, capacity))
            }
            if ended.isWanted {
                counts.usedLate += 1
            } else if isHeld {
                fetched[object] = (bytes, counts.fetched)
                unused.add(
                    UnusedPrefetches.Fetch(object: object, user: ended.user.number, number: counts.fetched),
                    isUnused: isUnused
                )
            } else {
                drop(bytes)
            }
        case .cached: setbacks[object] = nil
        case .noManager:
            counts.cancelled += 1
            spending.refund(ended.payment)
            isStopped = true
        case .failed, .rejected, .cancelled:
            if result == .cancelled {
                counts.cancelled += 1
            } else {
                counts.failed += 1
                setBack(object, result == .rejected ? .rejected : .failed)
            }
            // The received bytes count, though there is no image.
            paid = ended.received.total
            counts.partialBytes += paid
            catalogue[object].partialBytes = ended.received.held
        }
        if result != .noManager { spending.correct(ended.payment, to: paid) }
        begin()
        guard running.isEmpty else { return }
        keepAccount()
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    /// Sets the back-off of an object after a failed fetch.
    private func setBack(_ object: UInt32, _ cause: FetchSetback.Cause) {
        setbacks[object] = FetchSetback(cause, after: setbacks[object], at: host.now())
    }

    private func cancelFetches() {
        fetchQueue.objects = []
        for one in running.values { one.task.cancel() }
    }
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

/// A serial executor on a dispatch queue of its own, for an actor whose jobs block their thread.
///
/// The threads of the cooperative pool are as many as the processors. A job that waits for the disk, or computes for long,
/// would keep one of them from all other tasks of the process. The queue's quality of service is utility and not background, because
/// what it saves must be written before an app is suspended.
final class QueueExecutor: SerialExecutor {
    private static let isOwn = DispatchSpecificKey<Bool>()
    private let queue: DispatchQueue

    /// - Parameter label: the label of the queue.
    init(label: String) {
        queue = DispatchQueue(label: label, qos: .utility)
        queue.setSpecific(key: Self.isOwn, value: true)
    }

    /// Whether the calling code runs on the queue of such an executor.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: isOwn) ?? false }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
