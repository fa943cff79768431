import HalcyonCache
import HalcyonEviction
import HalcyonPipeline
import HalcyonPrefetch
import HalcyonSupport

/// Asks a prefetch policy what will be wanted, and fetches it: events in, fetches out, one thing at a time.
///
/// Accesses are told to the policy one by one, in their order. It is asked for a plan only once those that came together are
/// told, because only what is wanted next counts; a new plan takes the place of what the last one left to be fetched.
///
/// It runs on a dispatch queue of its own: file locks, files, models and planning would block the threads that all tasks share.
actor Forecaster {
    private let executor = QueueExecutor(label: "halcyon.forecaster")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Made when the first is told, off the caller's path: a file may have to be read.
    private lazy var policy: any PrefetchPolicy = makePolicy()
    private let prediction: PrefetchPrediction
    private let surroundings: ForesightSurroundings
    private let inbox: ForesightInbox
    /// Ends once the one before has kept what it learnt; the policy is made after that.
    private let ending: Task<Void, Never>?
    private var catalogue = ForesightCatalogue()
    /// How what was asked for is loaded that was not announced, by processor.
    private var recipes: ForesightRecipes
    /// The latest accesses, which are kept with what the planner has learnt.
    private var memory = AccessMemory()
    private var sizes = FetchSizes()
    private var spending: PrefetchSpending
    /// What of it is in the file.
    private var keptAccount: PrefetchAccount?
    private var isPrepared = false
    private var conditions: PrefetchConditions = []
    /// Whether nothing is to be fetched any more: it was stopped, or nobody is there to fetch through.
    private var isStopped = false
    /// The last access, as long as nothing was planned after it.
    private var unplanned: Access?
    /// Who made the last access.
    private var user = ForesightUser()
    /// What is to be fetched, in this order, and for whom.
    private var wanted: (objects: ArraySlice<UInt32>, user: ForesightUser) = ([], ForesightUser())
    private var running: [UInt32: RunningFetch] = [:]
    /// What was fetched and not asked for yet, with its bytes and the number of the fetch.
    private var fetched: [UInt32: (bytes: Int, fetch: Int)] = [:]
    /// The same in turns, in which it is looked at again.
    private var unused = UnusedPrefetches()
    /// What was fetched in vain, and nobody has had since.
    private var setbacks: [UInt32: FetchSetback] = [:]
    /// What the cache can hold, as it was last looked at.
    private var capacity = CacheCapacity()
    private var counts = PrefetchPredictionStatistics()
    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(
        _ prediction: PrefetchPrediction, _ surroundings: ForesightSurroundings, _ inbox: ForesightInbox,
        usual: ForesightRecipe, after ending: Task<Void, Never>?
    ) {
        self.ending = ending
        recipes = ForesightRecipes(usual: usual)
        self.prediction = prediction
        self.inbox = inbox
        self.surroundings = surroundings
        spending = PrefetchSpending(prediction.budget)
    }

    var statistics: PrefetchPredictionStatistics { counts }
    /// Why what the planner had learnt, or what was spent, could not be kept the last time that this happened.
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

    /// Takes in what has happened, without planning anything. Comes before everything else that asks the policy.
    func takeIn() async {
        await prepare()
        let (events, lost) = inbox.take()
        counts.lostAccesses += lost.accesses
        counts.lostRemovals += lost.removals
        for event in events { take(event) }
    }

    /// Plans after the last access, if nothing was planned after it yet, and begins to fetch what comes of that.
    func plan() {
        if let access = unplanned { plan(after: access) }
        unplanned = nil
        begin()
    }

    /// Breaks off what is under way, and fetches nothing more; what was heard until now is learnt and kept.
    func stop() async {
        isStopped = true
        breakOff()
        await takeIn()
        save()
    }

    /// Keeps what was spent, the latest accesses, and what the planner has learnt, if it has.
    func save() {
        keepAccount()
        guard prediction.keepsModel, let folder = surroundings.folder() else { return }
        if prediction.remembersAccesses, memory.count > 0 {
            let file = KeptAccessesFile(folder: folder)
            do { try file.write { memory.latest($0, in: catalogue) } } catch { note(fault: error) }
        }
        guard let planner = policy as? PrefetchPlanner, let learnt = planner.snapshot(producer: Halcyon.version)
        else { return }
        do { try PlannerFile(folder: folder).write(learnt) } catch { note(fault: error) }
    }

    /// Keeps none of the accesses until now, here or in the file. What was learnt from them goes on being used.
    func forgetAccesses() async {
        await takeIn()
        memory.forget()
        do { try surroundings.folder().map(KeptAccessesFile.init)?.remove() } catch { note(fault: error) }
    }

    /// Waits for the one before, and goes on from what was spent and what was asked for.
    private func prepare() async {
        await ending?.value
        if isPrepared { return }
        isPrepared = true
        recall()
        guard let account = surroundings.folder().map(PrefetchAccountFile.init)?.read() else { return }
        spending.resume(account, at: surroundings.now())
        sizes = FetchSizes(after: spending)
        keptAccount = account
    }

    /// Keeps what was spent, where that has changed.
    private func keepAccount() {
        let account = spending.account
        guard account != keptAccount, counts.accesses > 0, let folder = surroundings.folder() else { return }
        do {
            try PrefetchAccountFile(folder: folder).write(account)
            keptAccount = account
        } catch { note(fault: error) }
    }

    /// Goes on from the accesses that were kept, or sees to it that there are none.
    private func recall() {
        guard let file = surroundings.folder().map(KeptAccessesFile.init) else { return }
        do {
            guard prediction.remembersAccesses else { return try file.remove() }
            guard let kept = try file.read() else { return }
            memory.recall(
                kept, into: &catalogue, telling: policy, now: surroundings.now(), fileName: surroundings.fileName)
        } catch { note(fault: error) }
    }

    private func makePolicy() -> any PrefetchPolicy {
        let context = PrefetchContext(seed: prediction.seed)
        if let make = prediction.policy { return make(context) }
        var learnt: PretrainedPlanner?
        if prediction.keepsModel {
            do { learnt = try surroundings.folder().map(PlannerFile.init)?.read() } catch { note(fault: error) }
        }
        if let start = learnt ?? prediction.pretrained {
            return PrefetchPlanner(start, parameters: prediction.planner, context: context)
        }
        return PrefetchPlanner(prediction.planner, context: context)
    }

    private func note(fault: any Error) {
        counts.modelFaults += 1
        modelFault = "\(fault)"
    }

    /// Returns when nothing is under way.
    func waitUntilIdle() async {
        if running.isEmpty { return }
        await withCheckedContinuation { waiters.append($0) }
    }

    // MARK: - Events

    private func take(_ event: ForesightEvent) {
        switch event {
        case .recipe(let recipe): recipes.note(recipe)
        case .wanted(let resource, let processor):
            guard let object = learn(resource, processor) else { break }
            if catalogue[object].recipe == nil { catalogue[object].recipe = recipes[processor] }
        case .announced(let resources, let recipe, let time):
            for resource in resources { announce(resource, recipe, time) }
        case .accessed(let access): note(access)
        case .removed(let type, let removal): left(type, removal)
        case .conditions(let new):
            conditions = new
            spending.budget =
                conditions.contains(.meteredNetwork)
                ? prediction.budget.limited(by: prediction.meteredBudget) : prediction.budget
            if isPaused { breakOff() }
        }
    }

    /// The object of a resource; `nil` where there are too many.
    private func learn(_ resource: Resource, _ processor: String) -> UInt32? {
        let key = resource.cacheKey.computedKey(with: processor)
        guard let object = catalogue.intern(key, fileName: surroundings.fileName) else { return nil }
        catalogue.set(resource, of: object)
        return object
    }

    private func announce(_ announced: AnnouncedResource, _ recipe: ForesightRecipe, _ time: Int64) {
        guard let object = learn(announced.resource, recipe.processor) else {
            counts.unknownAnnouncements += 1
            return
        }
        catalogue[object].recipe = recipe
        let names = announced.resource.categories
        catalogue[object].categories = catalogue.set(of: names, telling: policy)
        if let bytes = announced.bytes { catalogue[object].bytes = bytes }
        catalogue.set(cost: announced.cost ?? 0, of: object)
        policy.announce(
            AnnouncedObject(
                object: object, categories: catalogue[object].categories, size: catalogue.expectedCost(of: object),
                time: announced.since ?? time))
    }

    private func note(_ heard: RecordedAccess) {
        guard let object = catalogue.internAccessed(heard.key, fileName: surroundings.fileName) else {
            counts.unknownAccesses += 1
            return
        }
        if !heard.categories.isEmpty {
            catalogue[object].categories = catalogue.set(of: heard.categories, telling: policy)
        }
        catalogue.set(cost: heard.cost, of: object)
        user = ForesightUser(number: catalogue.user(heard.user), name: heard.user)
        let access = Access(
            entry: object, requestNumber: memory.recalledCount + counts.accesses, time: heard.time,
            size: catalogue.expectedCost(of: object), categories: catalogue[object].categories, user: user.number,
            object: object)
        counts.accesses += 1
        spending.begin(request: heard.time)
        let isHit = heard.outcome != .network && heard.outcome != .miss
        if let setback = setbacks[object], heard.outcome != .miss {
            // Somebody has it: it can be had, but need not be cached.
            if !setback.isRefusal || surroundings.holds(heard.key) { setbacks[object] = nil }
        }
        if fetched.removeValue(forKey: object) != nil {
            // Had it left before, that would have been told first: it came while somebody waited for it.
            if isHit { counts.used += 1 } else { counts.usedLate += 1 }
        }
        running[object]?.isWanted = true
        policy.note(access, isHit: isHit)
        if prediction.remembersAccesses {
            memory.note(access, user: heard.user, cost: catalogue[object].cost, isHit: isHit)
        }
        unplanned = access
    }

    private func left(_ type: CacheType, _ removal: Removal) {
        let object = type == .disk ? catalogue.object(inFile: removal.key) : catalogue.object(forKey: removal.key)
        guard let object, !surroundings.holds(catalogue.key(of: object)) else { return }
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

    private var isPaused: Bool { isStopped || !conditions.isDisjoint(with: prediction.pausing) }

    private func plan(after access: Access) {
        wanted = ([], user)
        capacity = surroundings.capacity()
        // It is asked though nothing may be fetched: it may learn while it plans.
        let limit = isPaused ? 0 : spending.objectsLeft
        var (plan, due): (PrefetchPlan, [UInt32]) = (PrefetchPlan(), [])
        let room = surroundings.room()
        if access.size > room { unused.next(of: access.user, into: &due, isUnused: isUnused) }
        let outlook = PrefetchOutlook(
            limit: limit, room: room, unused: due, holds: { self.isOutOfQuestion($0) })
        policy.plan(after: access, outlook: outlook, into: &plan)
        for verdict in plan.reconsiderations where verdict.object < catalogue.count {
            surroundings.reconsider(catalogue.key(of: verdict.object), verdict.isLikely)
        }
        counts.plans += 1
        counts.proposed += plan.proposals.count
        wanted.objects = plan.proposals.prefix(limit).map(\.object)[...]
    }

    /// Whether an object is cached or on its way, comes from nobody knows where or how, is too large for the cache, or was fetched in vain
    /// not long ago.
    private func isOutOfQuestion(_ object: UInt32) -> Bool {
        guard object < catalogue.count, catalogue[object].resource != nil, running[object] == nil else { return true }
        var known = catalogue[object]
        known.recipe = recipes.recipe(of: known)
        if known.recipe == nil { return true }
        if let setback = setbacks[object],
            setback.isInForce(at: surroundings.now(), bytes: known.bytes, capacity)
        {
            return true
        }
        return !known.fits(capacity, toMemory: prediction.toMemory) || surroundings.holds(catalogue.key(of: object))
    }

    private func isUnused(_ fetch: UnusedPrefetches.Fetch) -> Bool { fetched[fetch.object]?.fetch == fetch.number }

    private func begin() {
        if isPaused { wanted.objects = [] }
        let begunBefore = counts.begun
        while running.count < prediction.maxConcurrent, let object = wanted.objects.popFirst() {
            guard !isOutOfQuestion(object), spending.objectsLeft > 0 else { continue }
            let known = catalogue[object]
            guard let recipe = recipes.recipe(of: known), var resource = known.resource else { continue }
            let expected = known.bytes ?? (resource.source.url == nil ? 0 : sizes.mean)
            guard spending.allows(size: expected) else { continue }
            resource.user = wanted.user.name
            let left = spending.bytesLeft
            let payment = spending.spend(size: expected)
            counts.begun += 1
            let received = ReceivedBytes(after: known.partialBytes, atMost: left ?? .max)
            var options = recipe.options
            options.callbackQueue = .untouch
            options.onProgress = { received.note($0.received) }
            let task = Task(priority: .utility) { [surroundings, resource, options] in
                let result = await surroundings.fetch(resource, options)
                self.ended(object, result)
            }
            received.breaksOff(task)
            running[object] = RunningFetch(task: task, user: wanted.user.number, payment: payment, received: received)
        }
        // Whatever becomes of the process, what it may spend now counts as spent.
        if counts.begun > begunBefore { keepAccount() }
    }

    private func ended(_ object: UInt32, _ result: ForesightSurroundings.Fetched) {
        guard let ended = running.removeValue(forKey: object) else { return }
        var paid = 0
        switch result {
        case .loaded(let bytes, let cost):
            counts.fetched += 1
            counts.bytes += bytes
            let said = catalogue[object].bytes
            // What was made of what is on this machine says nothing of what it would be over the network.
            if bytes > 0 {
                sizes.note(bytes)
                catalogue[object].bytes = bytes
            }
            catalogue[object].partialBytes = 0
            catalogue.set(cost: cost, of: object)
            paid = bytes
            let isHeld = surroundings.holds(catalogue.key(of: object))
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
                    UnusedPrefetches.Fetch(object: object, user: ended.user, number: counts.fetched), isUnused: isUnused
                )
            } else {
                drop(bytes)
            }
        case .wasThere: setbacks[object] = nil
        case .nobody:
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
            // What has come was paid for, though it is no image.
            paid = ended.received.total
            counts.partialBytes += paid
            catalogue[object].partialBytes = ended.received.held
        }
        if result != .nobody { spending.correct(ended.payment, to: paid) }
        begin()
        guard running.isEmpty else { return }
        keepAccount()
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    /// Remembers a fetch that brought nothing.
    private func setBack(_ object: UInt32, _ cause: FetchSetback.Cause) {
        setbacks[object] = FetchSetback(cause, after: setbacks[object], at: surroundings.now())
    }

    private func breakOff() {
        wanted.objects = []
        for one in running.values { one.task.cancel() }
    }
}
