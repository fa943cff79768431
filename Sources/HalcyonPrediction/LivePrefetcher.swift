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

    let executor = QueueExecutor(label: "halcyon.prefetcher")
    /// The queue on which it runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated let inbox = EventInbox()
    let configuration: PrefetchConfiguration
    let options: ImageOptions
    let host: any PrefetchHost
    /// The task that ends once the previous prefetcher has saved its state. The policy is made after that.
    let ending: Task<Void, Never>?
    let current: Mutex<PrefetchConditions> = Mutex([])
    let pauseTimer = Mutex<Task<Void, Never>?>(nil)
    /// The task that waits for the next moment between accesses, and the time until which it waits.
    var momentTimer: (due: Int64, task: Task<Void, Never>)?

    /// Decides what is fetched. It is made with the first event, because a file of the policy may have to be read.
    lazy var driver: PrefetchDriver = makeDriver()
    /// What the planner started with: the kept model, or that of the configuration.
    var start: PretrainedPlanner?
    var catalogue = ObjectCatalogue()
    /// The load templates of objects that were not announced, by processor.
    var templates: LoadTemplates
    /// The latest accesses, which are kept with the planner's model.
    var memory = AccessMemory()
    var sizes = FetchSizes()
    /// The account that the file contains.
    var keptAccount: PrefetchAccount?
    var isPrepared = false
    /// Whether fetching has ended, also before the driver is made.
    var isStopped = false
    /// The conditions that the driver knows.
    var knownConditions: PrefetchConditions = []
    /// Whether the object of the last access is kept in memory alone.
    var isMemoryOnly = false
    /// The tasks of the fetches in flight, and what they received.
    var running: [UInt32: (task: Task<Void, Never>, received: ReceivedBytes)] = [:]
    /// The back-offs of objects whose last fetch failed.
    var setbacks: [UInt32: FetchSetback] = [:]
    /// The images that are shown and were not opened yet.
    var shownPlaces = ShownPlaces()
    /// The lists that were shown and are not planned yet.
    var pendingLists: [PendingList] = []
    /// The place and the user of the list that was planned last.
    var plannedList: (place: String, user: String?)?
    /// The objects that a list's plan fetches or has fetched and that are not used yet.
    var fetchedForLists: Set<UInt32> = []
    /// The capacity of the cache at the last plan.
    var capacity = CacheCapacity()
    var waiters: [CheckedContinuation<Void, Never>] = []

    /// The counts since the start.
    public internal(set) var statistics = PrefetchStatistics()

    /// The last fault of a file of the model, the accesses or the spending, in one sentence. A damaged file counts as none, and the
    /// next write replaces it.
    public internal(set) var modelFault: String?

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
        announce(resources, options, isRanked: false)
    }

    /// Announces a list that a server recommends, best first, with its counts if it sends them
    /// (``AnnouncedResource/count``). It replaces the list before, and may be requested or not. Of a list, the first 10,000 resources
    /// count. What is shown to a user is announced by `HalcyonManager.show(list:in:options:)`.
    ///
    /// - Parameter options: as for announcements without an order.
    public nonisolated func announce(list: [AnnouncedResource], options: ImageOptions? = nil) {
        announce(list, options, isRanked: true)
    }

    /// Announces what all users of a server opened of what they were shown, by category. The planner uses it on lists in place of
    /// the counts of this device's users, beside what this user opens. It replaces the announcement before.
    public nonisolated func announce(openings: [CategoryOpenings]) {
        inbox.put(.openings(openings, time: host.clock.now))
        processEventsLater()
    }

    private nonisolated func announce(_ resources: [AnnouncedResource], _ options: ImageOptions?, isRanked: Bool) {
        inbox.put(
            .announced(
                resources, LoadTemplate(options, defaults: self.options), time: host.clock.now, isRanked: isRanked))
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

    nonisolated func processEventsLater() { Task { await processEvents() } }

    /// Processes the pending events without a plan after accesses. It precedes all other calls of the policy.
    func processEvents() async {
        await prepare()
        let (events, lost) = inbox.take()
        statistics.lostAccesses += lost.accesses
        statistics.lostRemovals += lost.removals
        statistics.lists.lost += lost.lists
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
        planLists()
        planAtDueMoments()
        startFetches()
        await processEvents()
    }

    /// Plans at the moments that are due. Of several moments of a user, which can be due after a restart or while the process slept, only
    /// the last has a plan.
    func planAtDueMoments() {
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
    func waitForMoment() {
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

    func momentCame() async {
        momentTimer = nil
        await processEvents()
        planAtDueMoments()
        await processEvents()
    }

    /// Starts a task that waits for a pause, then processes the pending events and plans.
    nonisolated func waitForPause() {
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
    nonisolated var isIdle: Bool {
        let (last, now) = (inbox.waiting?.last ?? .min, host.clock.now)
        return last == .min || now < last || now - last >= Self.microseconds(configuration.quiet)
    }

    /// Returns a span in microseconds, from 0 to 30 years.
    static func microseconds(_ span: Duration) -> Int64 {
        let (seconds, attoseconds) = min(max(span, .zero), .seconds(1_000_000_000)).components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// Returns when no fetch is in flight.
    func waitUntilIdle() async {
        if driver.isIdle { return }
        await withCheckedContinuation { waiters.append($0) }
    }
}
