import Dispatch
import HalcyonAccessLog
import HalcyonCache
import HalcyonEviction
import HalcyonPipeline
import HalcyonPrefetch
import HalcyonSupport
import Synchronization

/// Predicts requests from all accesses to a manager's cache, and prefetches their images.
///
/// ```swift
/// let predictive = manager.startPredicting()
/// predictive.announce(catalogue)             // optional: what exists, with its categories
/// predictive.conditions = [.meteredNetwork]  // as the platform reports
/// print(await predictive.statistics)
/// ```
///
/// It is off until `HalcyonManager.startPredicting(_:)` is called. It receives each access from the cache, and knows the
/// source of an image once a request through the manager or an announcement has named it. A prefetch policy plans what to
/// fetch within a budget when accesses pause, or have gone on for too long, and at moments between them such as the end of
/// a visit. These images are loaded at the lowest priority, and kept in the cache apart from requested ones. On the
/// caller's path, an access is appended to a list. All other work runs on a dispatch queue of its own, because file locks,
/// files, models and planning would block the threads that all tasks share. Only the requests for the images are sent over
/// the network. See <doc:PredictivePrefetching>.
public actor LivePrefetcher {
    /// The maximum number of users whose visits are timed.
    static let maxTimedUsers = 256

    private let executor = QueueExecutor(label: "halcyon.prefetcher")
    /// The queue on which it runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated let inbox = EventInbox()
    private let configuration: PrefetchConfiguration
    private let options: ImageOptions
    private let host: any PrefetchHost
    /// The task that ends once the previous prefetcher has saved its state. The policy is made after that.
    private let ending: Task<Void, Never>?
    private let current: Mutex<PrefetchConditions> = Mutex([])
    private let pauseTimer = Mutex<Task<Void, Never>?>(nil)
    /// The task that waits for the next moment between accesses, and the time until which it waits.
    private var momentTimer: (due: Int64, task: Task<Void, Never>)?

    /// Decides what is fetched. It is made with the first event, because a file of the policy may have to be read.
    private lazy var driver: PrefetchDriver = makeDriver()
    private var catalogue = ObjectCatalogue()
    /// The load templates of objects that were not announced, by processor.
    private var templates: LoadTemplates
    /// The latest accesses, which are kept with the planner's model.
    private var memory = AccessMemory()
    private var sizes = FetchSizes()
    /// The account that the file contains.
    private var keptAccount: PrefetchAccount?
    private var isPrepared = false
    /// Whether fetching has ended, also before the driver is made.
    private var isStopped = false
    /// The conditions that the driver knows.
    private var knownConditions: PrefetchConditions = []
    /// Whether the object of the last access is kept in memory alone.
    private var isMemoryOnly = false
    /// The tasks of the fetches in flight, and what they received.
    private var running: [UInt32: (task: Task<Void, Never>, received: ReceivedBytes)] = [:]
    /// The back-offs of objects whose last fetch failed.
    private var setbacks: [UInt32: FetchSetback] = [:]
    /// The capacity of the cache at the last plan.
    private var capacity = CacheCapacity()
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// The counts since the start.
    public private(set) var statistics = PrefetchStatistics()

    /// The last fault of a file of the model, the accesses or the spending, in one sentence. A damaged file counts as none, and the
    /// next write replaces it.
    public private(set) var modelFault: String?

    init(
        _ configuration: PrefetchConfiguration, _ host: any PrefetchHost, options: ImageOptions,
        after ending: Task<Void, Never>?
    ) {
        self.configuration = configuration
        self.host = host
        self.options = options
        self.ending = ending
        templates = LoadTemplates(usual: LoadTemplate(nil, defaults: options))
        // A file of an earlier start that should not exist is removed now, not with the first access. A moment that fell due since the
        // last start is made up for without an access, too.
        if !configuration.remembersAccesses || !configuration.keepsURLs || configuration.servesOneUser {
            processEventsLater()
        }
    }

    deinit {
        pauseTimer.withLock { $0?.cancel() }
        momentTimer?.task.cancel()
    }

    // MARK: - Input of the app

    /// Announces resources, which can then be fetched before their first request. An app calls this with its catalogue, and again
    /// with new and changed resources.
    ///
    /// - Parameter options: the options with which the images will be requested, until they are announced again with the same
    ///   processor; by default the manager's. Images that are not announced are fetched with the options of the first request
    ///   with their processor.
    public nonisolated func announce(_ resources: [AnnouncedResource], options: ImageOptions? = nil) {
        inbox.put(.announced(resources, LoadTemplate(options, defaults: self.options), time: host.clock.now))
        processEventsLater()
    }

    /// Announces resources of unknown sizes.
    public nonisolated func announce(_ resources: [Resource], options: ImageOptions? = nil) {
        announce(resources.map { AnnouncedResource($0) }, options: options)
    }

    /// The conditions of network and battery; by default none. A condition that pauses prefetching cancels the fetches in flight. Planned
    /// fetches then start only if the new budget allows them.
    public nonisolated var conditions: PrefetchConditions {
        get { current.withLock { $0 } }
        set {
            current.withLock { $0 = newValue }
            inbox.put(.conditions(newValue))
            processEventsLater()
        }
    }

    // MARK: - Results

    /// The calibration of the policy's probabilities; empty for a policy without probabilities.
    public var calibration: [CalibrationBin] {
        get async {
            await prepare()
            return driver.policy.calibration
        }
    }

    /// The metrics of the policy.
    public var metrics: [PolicyMetric] {
        get async {
            await prepare()
            return driver.policy.metrics
        }
    }

    /// Writes the model, the latest accesses and the spending to the cache's folder, as when the app goes to the background.
    public func save() async {
        await processEvents()
        write()
    }

    /// Processes all events so far, plans without waiting for a pause, and returns when no fetch is in flight.
    public func settle() async {
        await host.settle()
        await plan()
        await waitUntilIdle()
        await host.settle()
        await processEvents()
    }

    // MARK: - Times of plans

    private nonisolated func processEventsLater() { Task { await processEvents() } }

    /// Processes the pending events without a plan after accesses. It precedes all other calls of the policy.
    func processEvents() async {
        await prepare()
        let (events, lost) = inbox.take()
        statistics.lostAccesses += lost.accesses
        statistics.lostRemovals += lost.removals
        for event in events { process(event) }
        waitForMoment()
    }

    /// Processes the pending events, plans after the last access, if there was no plan after it, and at the moments that are due, and
    /// starts fetches.
    ///
    /// - Parameter isIdle: whether there was a pause.
    func plan(isIdle: Bool = true) async {
        inbox.endWait()
        await processEvents()
        planAfterAccess(isIdle: isIdle)
        planAtDueMoments()
        startFetches()
        await processEvents()
    }

    /// Plans at the moments that are due. Of several moments of a user, which can be due after a restart or while the process slept, only
    /// the last has a plan.
    private func planAtDueMoments() {
        guard driver.policy.plansBetweenRequests, !driver.isStopped else { return }
        let now = host.clock.now
        for (moment, user) in driver.dueMoments(by: now) {
            planAfterAccess()
            plan(at: PlanningMoment(moment.occasion, user: moment.user, time: now), for: user)
        }
    }

    /// Starts a task that waits until the next moment, then processes the pending events and plans at the moments that are due. A task
    /// that waits for an earlier moment does so, too, and looks for the next moment then.
    ///
    /// A moment that is past, which happens after a start, is waited for as long as a pause, in which the app can announce its catalogue.
    private func waitForMoment() {
        guard let next = driver.nextMoment else { return }
        if let momentTimer, momentTimer.due <= next { return }
        momentTimer?.task.cancel()
        let clock = host.clock
        let time = max(next, clock.now + Self.microseconds(configuration.quiet))
        let task = Task.detached(priority: .background) { [weak self] in
            do { try await clock.sleep(until: time) } catch { return }
            await self?.momentCame()
        }
        momentTimer = (next, task)
    }

    private func momentCame() async {
        momentTimer = nil
        await processEvents()
        planAtDueMoments()
        await processEvents()
    }

    /// Starts a task that waits for a pause, then processes the pending events and plans.
    private nonisolated func waitForPause() {
        let task = Task.detached(priority: .background) { [weak self, clock = host.clock] in
            while let span = self?.timeToWait() {
                if span <= 0 {
                    await self?.plan(isIdle: self?.isIdle ?? true)
                    return
                }
                do { try await clock.sleep(microseconds: span) } catch { return }
            }
        }
        pauseTimer.withLock { $0 = task }
    }

    /// Returns the microseconds until the next plan; `nil` if no access is without a plan. It is 0 if the clock was set back since the
    /// last access.
    nonisolated func timeToWait() -> Int64? {
        guard let (first, last) = inbox.waiting else { return nil }
        let (pause, end) = (
            last + Self.microseconds(configuration.quiet), first + Self.microseconds(configuration.patience)
        )
        let now = host.clock.now
        return now < last ? 0 : min(pause, end) - now
    }

    /// Whether the last access was as long ago as a pause lasts.
    private nonisolated var isIdle: Bool {
        let (last, now) = (inbox.waiting?.last ?? .min, host.clock.now)
        return last == .min || now < last || now - last >= Self.microseconds(configuration.quiet)
    }

    /// Returns a span in microseconds, from 0 to 30 years.
    private static func microseconds(_ span: Duration) -> Int64 {
        let (seconds, attoseconds) = min(max(span, .zero), .seconds(1_000_000_000)).components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// Returns when no fetch is in flight.
    private func waitUntilIdle() async {
        if driver.isIdle { return }
        await withCheckedContinuation { waiters.append($0) }
    }

    // MARK: - Files

    /// Writes the spending, the latest accesses, and the planner's model if it has learnt enough.
    private func write() {
        keepAccount()
        guard configuration.keepsModel, let folder = host.folder else { return }
        if configuration.remembersAccesses, memory.count > 0 {
            let file = KeptAccessesFile(folder: folder)
            do { try write(to: file) } catch { note(fault: error) }
        }
        guard let planner = driver.policy as? PrefetchPlanner else { return }
        do {
            try planner.snapshot(producer: Halcyon.version).map(PlannerFile(folder: folder).write)
            try planner.visitsSnapshot(producer: Halcyon.version).map(VisitsFile(folder: folder).write)
        } catch { note(fault: error) }
    }

    /// Writes the latest accesses.
    private func write(to file: KeptAccessesFile) throws {
        if !configuration.keepsURLs, catalogue.hashed.key == nil {
            catalogue.hashed.key = file.readKey() ?? NameHashKey()
        }
        try file.write(key: catalogue.hashed.key) { memory.latest($0, in: catalogue) }
    }

    /// Writes the spending, if it has changed.
    private func keepAccount() {
        let account = driver.spending.account
        guard account != keptAccount, statistics.accesses + statistics.plans > 0, let folder = host.folder else {
            return
        }
        do {
            try PrefetchAccountFile(folder: folder).write(account)
            keptAccount = account
        } catch { note(fault: error) }
    }

    /// Waits for the previous prefetcher, then reads the kept accesses and the spending.
    private func prepare() async {
        await ending?.value
        if isPrepared { return }
        isPrepared = true
        recall()
        let account = host.folder.map(PrefetchAccountFile.init)?.read()
        driver.resume(account, at: host.clock.now)
        if let account {
            sizes = FetchSizes(after: driver.spending)
            keptAccount = account
        }
        guard configuration.keepsModel, let planner = driver.policy as? PrefetchPlanner, planner.plansBetweenRequests
        else { return }
        do { try host.folder.map(VisitsFile.init)?.read().map(planner.adopt) } catch { note(fault: error) }
    }

    /// Reads the kept accesses, or removes their file.
    private func recall() {
        guard let file = host.folder.map(KeptAccessesFile.init) else { return }
        do {
            guard configuration.remembersAccesses else { return try file.remove() }
            let key = configuration.keepsURLs ? nil : file.readKey() ?? NameHashKey()
            catalogue.hashed.key = key
            guard let kept = try file.read() else { return }
            // Names in clear that should not be kept so, hashes of a lost key, and hashes where names are wanted.
            guard kept.hashKey == key?.identifier else { return try file.remove() }
            let driver = driver
            memory.recall(
                kept, into: &catalogue, telling: driver.policy, now: host.clock.now, fileName: host.fileName
            ) { driver.prepare(recalled: $0, by: $1) }
        } catch { note(fault: error) }
    }

    private func makeDriver() -> PrefetchDriver {
        let context = configuration.context
        let driver = PrefetchDriver(
            makePolicy(context), budget: configuration.budget, idleTime: context.idleTime,
            timers: VisitTimers(idleTime: context.idleTime, timesUnknownUsers: configuration.servesOneUser),
            maxTimedUsers: Self.maxTimedUsers, maxConcurrent: configuration.maxConcurrent)
        driver.isStopped = isStopped
        return driver
    }

    private func makePolicy(_ context: PrefetchContext) -> any PrefetchPolicy {
        if let make = configuration.policy { return make(context) }
        var learnt: PretrainedPlanner?
        if configuration.keepsModel {
            do { learnt = try host.folder.map(PlannerFile.init)?.read() } catch { note(fault: error) }
        }
        let (parameters, visits) = (configuration.planner, VisitPlannerParameters())
        guard let network = learnt ?? configuration.pretrained else {
            return PrefetchPlanner(parameters, visits: visits, context: context)
        }
        return PrefetchPlanner(network, parameters: parameters, visits: visits, context: context)
    }

    private func note(fault: any Error) {
        statistics.modelFaults += 1
        modelFault = "\(fault)"
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
            record(.background, for: driver.user)
            guard driver.policy.plansBetweenRequests, !driver.isStopped else { break }
            planAfterAccess()
            plan(at: .background, for: driver.user)
        }
    }

    private func set(_ new: PrefetchConditions) {
        let (old, limiting) = (knownConditions, configuration.pausing.union(.meteredNetwork))
        knownConditions = new
        host.record(RecordedEvent(time: host.clock.now, kind: .conditions, conditions: Int(new.rawValue)))
        let isMetered = new.contains(.meteredNetwork)
        let deferred = driver.set(
            isHeldBack: !new.isDisjoint(with: configuration.pausing), isLimited: isMetered,
            budget: isMetered ? configuration.budget.limited(by: configuration.meteredBudget) : configuration.budget,
            hasEased: !old.intersection(limiting).subtracting(new).isEmpty)
        perform()
        guard let deferred else { return }
        planAfterAccess()
        plan(at: .connected, for: deferred)
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
            statistics.unknownAnnouncements += 1
            return
        }
        catalogue[object].template = template
        let names = announced.resource.categories
        catalogue[object].categories = catalogue.set(of: names, telling: driver.policy)
        if let bytes = announced.bytes { catalogue[object].bytes = bytes }
        catalogue.set(cost: announced.cost ?? 0, of: object)
        driver.policy.announce(
            AnnouncedObject(
                object: object, categories: catalogue[object].categories, size: catalogue.expectedCost(of: object),
                time: announced.since ?? time))
    }

    private func handleAccess(_ heard: RecordedAccess) {
        // The model knows an image by its source, also where each user has an image of its own.
        let key = EntryOrigin.sharedKey(of: heard.key, user: heard.user)
        guard let object = catalogue.internAccessed(key, fileName: host.fileName) else {
            statistics.unknownAccesses += 1
            return
        }
        if !heard.categories.isEmpty {
            catalogue[object].categories = catalogue.set(of: heard.categories, telling: driver.policy)
        }
        catalogue.set(cost: heard.cost, of: object)
        let name = catalogue.user(heard.user)
        let user = catalogue.number(ofUser: name)
        if driver.policy.plansBetweenRequests {
            for (moment, due) in driver.dueMoments(by: heard.time) {
                plan(at: moment, for: due, isOvertaken: due.number == user)
            }
        }
        isMemoryOnly = templates.template(of: catalogue[object])?.isMemoryOnly ?? templates.usual.isMemoryOnly
        let access = Access(
            entry: object, requestNumber: memory.recalledCount + statistics.accesses, time: heard.time,
            size: catalogue.expectedCost(of: object), categories: catalogue[object].categories, user: user,
            object: object)
        statistics.accesses += 1
        let isHit = heard.outcome != .network && heard.outcome != .miss
        if let setback = setbacks[object], heard.outcome != .miss {
            // The image is available, but the cache may have refused it.
            if !setback.isRefusal || heldKey(object, heard.user) != nil { setbacks[object] = nil }
        }
        if driver.access(access, by: heard.user, isHit: isHit) != nil {
            // A removal would have been processed first: on a miss, the fetch ended while the request waited for it.
            if isHit { statistics.used += 1 } else { statistics.usedLate += 1 }
        }
        if configuration.remembersAccesses {
            memory.note(access, user: name, cost: catalogue[object].cost, isHit: isHit)
        }
    }

    private func handleRemoval(_ type: CacheType, _ removal: Removal) {
        let user = driver.user
        let object =
            type == .disk
            ? catalogue.object(inFile: removal.key)
            : catalogue.object(forKey: EntryOrigin.sharedKey(of: removal.key, user: user.name))
        guard let object, heldKey(object, user.name) == nil else { return }
        let left = driver.removed(object, of: user.number, isEvicted: removal.reason == .evicted)
        if let left { drop(left.bytes) }
    }

    private func drop(_ bytes: Int) {
        statistics.dropped += 1
        statistics.droppedBytes += bytes
    }

    // MARK: - Plans

    private func planAfterAccess(isIdle: Bool = true) {
        guard let access = driver.unplanned else { return }
        let user = driver.user
        let limit = driver.planAfterAccess(
            outlook: outlook(for: user), isCrowded: access.size > host.room, isHeld: { isHeld($0, user.name) })
        perform(for: user)
        count(limit: limit ?? 0, isIdle: isIdle, isReady: driver.policy.isReady)
    }

    /// Plans now, on an occasion other than a timer, for a user with a visit.
    private func plan(at occasion: PlanningMoment.Occasion, for user: PrefetchUser) {
        guard let visit = driver.spending.visit(of: user.number) else { return }
        let time = max(host.clock.now, visit.lastRequest)
        plan(at: PlanningMoment(occasion, user: user.number, time: time), for: user)
    }

    /// Plans at a moment between accesses, and starts fetches.
    ///
    /// - Parameter isOvertaken: whether the user's next access has come already. Then the policy only learns, because the cache knows
    ///   what came after the moment.
    private func plan(at moment: PlanningMoment, for user: PrefetchUser, isOvertaken: Bool = false) {
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

    private func outlook(for user: PrefetchUser) -> PrefetchOutlook {
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

    private func count(limit: Int, isIdle: Bool, isReady: Bool) {
        let proposals = driver.plan.proposals
        statistics.plans += 1
        statistics.proposed += proposals.count
        guard proposals.prefix(limit).isEmpty else { return }
        let reason: EmptyPlanReason =
            driver.isPaused
            ? .paused : limit == 0 ? .noBudget : !isReady ? .learning : isIdle ? .nothingLikely : .neverIdle
        statistics.emptyPlans[reason, default: 0] += 1
    }

    private func record(_ kind: RecordedEvent.Kind, key: String? = nil, for user: PrefetchUser) {
        guard user.isNamed else { return }
        host.record(RecordedEvent(time: host.clock.now, kind: kind, key: key, user: user.name))
    }

    /// Does what the driver commands, and returns the cancelled tasks.
    ///
    /// - Parameter user: the user of the last plan.
    @discardableResult
    private func perform(for user: PrefetchUser = PrefetchUser()) -> [Task<Void, Never>] {
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
    private func cannotFetch(_ object: UInt32, _ user: String?) -> Bool {
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
    private func heldKey(_ object: UInt32, _ user: String?) -> String? {
        host.heldKey(catalogue.key(of: object), ofSource: catalogue[object].resource?.cacheKey, for: user)
    }

    private func isHeld(_ object: UInt32, _ user: String?) -> Bool {
        object < catalogue.count && heldKey(object, user) != nil
    }

    // MARK: - Fetches

    private func startFetches() {
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

    private func ended(_ object: UInt32, _ result: FetchResult) {
        guard let received = running.removeValue(forKey: object)?.received else { return }
        switch result {
        case .loaded(let bytes, let cost): arrived(object, bytes: bytes, cost: cost)
        case .cached:
            setbacks[object] = nil
            driver.ended(object, bytes: 0)
        case .noManager:
            statistics.cancelled += 1
            driver.withdrawn(object)
            driver.isStopped = true
        case .failed, .rejected, .cancelled:
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

    private func arrived(_ object: UInt32, bytes: Int, cost: Int) {
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
        if fetch?.isWanted == true { statistics.usedLate += 1 } else if !isHeld { drop(bytes) }
    }

    /// Sets the back-off of an object after a failed fetch.
    private func setBack(_ object: UInt32, _ cause: FetchSetback.Cause) {
        setbacks[object] = FetchSetback(cause, after: setbacks[object], at: host.clock.now)
    }
}

extension LivePrefetcher: RequestObserver {
    package nonisolated func requested(_ resource: Resource, _ options: ImageOptions?) {
        inbox.want(resource, options, defaults: self.options)
    }

    package nonisolated func accessed(_ access: RecordedAccess) {
        if inbox.put(.accessed(access)) { waitForPause() }
    }

    package nonisolated var stateForSuccessor: any Sendable { conditions }

    package nonisolated func enteredBackground(done: @escaping @Sendable () -> Void) {
        inbox.put(.background)
        Task {
            await save()
            done()
        }
    }

    package nonisolated func removed(_ type: CacheType, _ removals: [Removal]) {
        for removal in removals { inbox.put(.removed(type, removal)) }
    }

    /// Cancels the fetches in flight, starts no more, processes the pending events and saves the state.
    package func stop() async {
        pauseTimer.withLock { $0?.cancel() }
        momentTimer?.task.cancel()
        isStopped = true
        if isPrepared {
            driver.isStopped = true
            driver.cancelFetches()
            perform()
        }
        await save()
        await waitUntilIdle()
    }

    /// Removes the accesses until now from memory and file. The policy keeps what it has learnt from them.
    package func forgetAccesses() async {
        await processEvents()
        memory.forget()
        do { try host.folder.map(KeptAccessesFile.init)?.remove() } catch { note(fault: error) }
    }

    /// Forgets a user: cancels the fetches for it, and removes its accesses here and in the file. Returns when the fetches have ended.
    ///
    /// What the policy has learnt from the accesses stays, under a number that no name leads to.
    ///
    /// - Throws: an error with one sentence if the file of accesses can neither be written nor removed.
    package func forget(user: String) async throws {
        await processEvents()
        guard let name = catalogue.user(user) else { return }
        driver.forget(user, number: catalogue.number(ofUser: name))
        memory.forget(user: name)
        catalogue.forget(user: name)
        let fetches = perform()
        if let file = host.folder.map(KeptAccessesFile.init) {
            if configuration.remembersAccesses, memory.count > 0 {
                do { try write(to: file) } catch { try file.remove() }
            } else {
                try file.remove()
            }
        }
        for fetch in fetches { await fetch.value }
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
