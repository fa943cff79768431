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
/// It is off until `HalcyonManager.startPredicting(_:)` is called. It receives each access from the cache, and knows the source of
/// an image once a request through the manager or an announcement has named it. A prefetch policy plans what to fetch within a budget
/// when accesses pause, or have gone on for too long, and at moments between them such as the end of a visit. These images are loaded at
/// the lowest priority, and kept in the cache apart from requested ones. On the caller's path, an access is appended to a list. All other
/// work runs on a queue of its own. Only the requests for the images are sent over the network. See <doc:Foresight>.
public final class PredictivePrefetcher: Sendable {
    private let forecaster: Forecaster
    private let inbox: ForesightInbox
    private let clock: any CacheClock
    private let prediction: PrefetchPrediction
    private let settleCache: @Sendable () async -> Void
    private let options: ImageOptions
    private let current: Mutex<PrefetchConditions> = Mutex([])
    private let timer = Mutex<Task<Void, Never>?>(nil)
    /// The task that waits for the next moment between accesses, and the time until which it waits.
    private let momentTimer = Mutex<(due: Int64, task: Task<Void, Never>)?>(nil)

    init(
        _ prediction: PrefetchPrediction, _ environment: ForesightEnvironment, options: ImageOptions,
        clock: any CacheClock, after ending: Task<Void, Never>?, settleCache: @escaping @Sendable () async -> Void
    ) {
        self.prediction = prediction
        self.options = options
        self.clock = clock
        self.settleCache = settleCache
        inbox = ForesightInbox()
        forecaster = Forecaster(
            prediction, environment, inbox, usual: LoadTemplate(nil, defaults: options), after: ending)
        // A file of an earlier start that should not exist is removed now, not with the first access. A moment that fell due since the
        // last start is made up for without an access, too.
        if !prediction.remembersAccesses || !prediction.keepsURLs || prediction.servesOneUser { takeInLater() }
    }

    deinit {
        timer.withLock { $0?.cancel() }
        momentTimer.withLock { $0?.task.cancel() }
    }

    // MARK: - Input of the app

    /// Announces resources, which can then be fetched before their first request. An app calls this with its catalogue, and again
    /// with new and changed resources.
    ///
    /// - Parameter options: the options with which the images will be requested, until they are announced again with the same
    ///   processor; by default the manager's. Images that are not announced are fetched with the options of the first request
    ///   with their processor.
    public func announce(_ resources: [AnnouncedResource], options: ImageOptions? = nil) {
        inbox.put(.announced(resources, LoadTemplate(options, defaults: self.options), time: clock.now))
        takeInLater()
    }

    /// Announces resources of unknown sizes.
    public func announce(_ resources: [Resource], options: ImageOptions? = nil) {
        announce(resources.map { AnnouncedResource($0) }, options: options)
    }

    /// The conditions of network and battery; by default none. A condition that pauses prefetching cancels the fetches in flight. Planned
    /// fetches then start only if the new budget allows them.
    public var conditions: PrefetchConditions {
        get { current.withLock { $0 } }
        set {
            current.withLock { $0 = newValue }
            inbox.put(.conditions(newValue))
            takeInLater()
        }
    }

    // MARK: - Results

    /// The counts since the start.
    public var statistics: PrefetchPredictionStatistics { get async { await forecaster.statistics } }

    /// The last fault of a file of the model, the accesses or the spending, in one sentence. A damaged file counts as none, and the
    /// next write replaces it.
    public var modelFault: String? { get async { await forecaster.modelFault } }

    /// The calibration of the policy's probabilities; empty for a policy without probabilities.
    public var calibration: [CalibrationBin] { get async { await forecaster.calibration } }

    /// The metrics of the policy.
    public var metrics: [PolicyMetric] { get async { await forecaster.metrics } }

    /// Writes the model, the latest accesses and the spending to the cache's folder, as when the app goes to the background.
    public func save() async {
        await takeIn()
        await forecaster.save()
    }

    /// Processes all events so far, plans without waiting for a pause, and returns when no fetch is in flight.
    public func settle() async {
        await settleCache()
        await plan()
        await forecaster.waitUntilIdle()
        await settleCache()
        await takeIn()
    }

    // MARK: - Inside

    /// Stops fetching, and returns when no fetch is in flight and the state is saved.
    package func stop() async {
        timer.withLock { $0?.cancel() }
        momentTimer.withLock { $0?.task.cancel() }
        await forecaster.stop()
        await forecaster.waitUntilIdle()
    }

    /// Forgets all accesses until now.
    package func forgetAccesses() async { await forecaster.forgetAccesses() }

    /// Forgets a user's accesses, and cancels the fetches for it.
    ///
    /// - Throws: an error with one sentence if the file of accesses can neither be written nor removed.
    package func forget(user: String) async throws { try await forecaster.forget(user: user) }

    /// Processes the pending events.
    private func takeIn() async { waitForMoment(await forecaster.takeIn()) }

    private func takeInLater() {
        Task { [weak self, forecaster] in
            let next = await forecaster.takeIn()
            self?.waitForMoment(next)
        }
    }

    /// Processes the pending events, and plans.
    ///
    /// - Parameter isIdle: whether there was a pause.
    private func plan(isIdle: Bool = true) async {
        inbox.endWait()
        await forecaster.takeIn()
        await forecaster.plan(isIdle: isIdle)
        await takeIn()
    }

    /// Starts a task that waits until a time, then processes the pending events and plans at the moments that are due. A task that waits
    /// for an earlier moment does so, too, and looks for the next moment then.
    ///
    /// A moment that is past, which happens after a start, is waited for as long as a pause, in which the app can announce its catalogue.
    private func waitForMoment(_ next: Int64?) {
        guard let next else { return }
        momentTimer.withLock { timer in
            if let timer, timer.due <= next { return }
            timer?.task.cancel()
            let time = max(next, clock.now + Self.microseconds(prediction.quiet))
            let task = Task.detached(priority: .background) { [weak self, clock] in
                do { try await clock.sleep(until: time) } catch { return }
                await self?.planAtMoments()
            }
            timer = (next, task)
        }
    }

    private func planAtMoments() async {
        momentTimer.withLock { $0 = nil }
        await forecaster.takeIn()
        await forecaster.planAtMoments()
        await takeIn()
    }

    /// Starts a task that waits for a pause, then processes the pending events and plans.
    private func waitForPause() {
        let task = Task.detached(priority: .background) { [weak self, clock] in
            while let span = self?.timeToWait() {
                if span <= 0 {
                    await self?.plan(isIdle: self?.isIdle ?? true)
                    return
                }
                do { try await clock.sleep(microseconds: span) } catch { return }
            }
        }
        timer.withLock { $0 = task }
    }

    /// Returns the microseconds until the next plan; `nil` if no access is without a plan. It is 0 if the clock was set back since the
    /// last access.
    func timeToWait() -> Int64? {
        guard let (first, last) = inbox.waiting else { return nil }
        let (pause, end) = (last + Self.microseconds(prediction.quiet), first + Self.microseconds(prediction.patience))
        let now = clock.now
        return now < last ? 0 : min(pause, end) - now
    }

    /// Whether the last access was as long ago as a pause lasts.
    private var isIdle: Bool {
        let (last, now) = (inbox.waiting?.last ?? .min, clock.now)
        return last == .min || now < last || now - last >= Self.microseconds(prediction.quiet)
    }

    /// Returns a span in microseconds, from 0 to 30 years.
    private static func microseconds(_ span: Duration) -> Int64 {
        let (seconds, attoseconds) = min(max(span, .zero), .seconds(1_000_000_000)).components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}

extension PredictivePrefetcher: RequestObserver {
    package func requested(_ resource: Resource, _ options: ImageOptions?) {
        inbox.want(resource, options, defaults: self.options)
    }

    package func accessed(_ access: RecordedAccess) {
        if inbox.put(.accessed(access)) { waitForPause() }
    }

    package var legacy: any Sendable { conditions }

    package func enteredBackground(done: @escaping @Sendable () -> Void) {
        inbox.put(.background)
        Task { [self] in
            await save()
            done()
        }
    }

    package func removed(_ type: CacheType, _ removals: [Removal]) {
        for removal in removals { inbox.put(.removed(type, removal)) }
    }
}

/// An event for a ``Forecaster``.
enum ForesightEvent: Sendable {
    /// The load template of a processor, for images that were not announced. It comes before the first of them.
    case template(LoadTemplate)
    /// A request for a resource with a processor.
    case wanted(Resource, processor: String)
    /// The app announces resources and their load template.
    case announced([AnnouncedResource], LoadTemplate, time: Int64)
    /// An access to the cache.
    case accessed(RecordedAccess)
    /// A value left a tier.
    case removed(CacheType, Removal)
    /// The app sets the conditions.
    case conditions(PrefetchConditions)
    /// The app enters the background.
    case background
}

/// A resource that an app announces, before or after its first request.
public struct AnnouncedResource: Sendable {
    /// The resource.
    public var resource: Resource
    /// The bytes to load, if they are known.
    public var bytes: Int?
    /// The size in memory, if it is known; for a bitmap four bytes a pixel.
    public var cost: Int?
    /// The time of its creation, in microseconds since 1970; `nil` for the time of the announcement.
    public var since: Int64?

    /// Creates an announcement.
    public init(_ resource: Resource, bytes: Int? = nil, cost: Int? = nil, since: Int64? = nil) {
        self.resource = resource
        self.bytes = bytes
        self.cost = cost
        self.since = since
    }
}

/// The queue of events from callers, which never wait, to the ``Forecaster``.
///
/// Beyond ``bound`` pending events, accesses and requests are lost, and lost accesses are counted. A lost access still causes a plan.
/// Removals are lost from half of the bound on, which leaves room for accesses.
final class ForesightInbox: Sendable {
    /// The maximum number of pending events.
    static let bound = 1 << 16

    /// The maximum number of processors with a load template. Images of others are predicted only if they were announced.
    static let mostProcessors = 1 << 10

    /// The numbers of lost events.
    struct Lost: Equatable {
        var accesses = 0
        var removals = 0
    }

    private struct State {
        var events: [ForesightEvent] = []
        var templates: Set<String> = []
        var lost = Lost()
        /// The times of the first access without a plan, and of the last access.
        var first: Int64?
        var last: Int64 = 0
    }

    private let state = Mutex(State())

    /// Adds an event.
    ///
    /// - Returns: whether it is the first access since ``endWait()``, after which the caller begins to wait for a pause.
    @discardableResult
    func put(_ event: ForesightEvent) -> Bool {
        state.withLock { state in
            switch event {
            case .accessed(let access):
                defer { state.last = access.time }
                if state.events.count < Self.bound { state.events.append(event) } else { state.lost.accesses += 1 }
                if state.first != nil { return false }
                state.first = access.time
                return true
            case .removed:
                if state.events.count < Self.bound / 2 {
                    state.events.append(event)
                } else {
                    state.lost.removals += 1
                }
            case .wanted:
                if state.events.count < Self.bound { state.events.append(event) }
            case .template, .announced, .conditions, .background: state.events.append(event)
            }
            return false
        }
    }

    /// Adds a request for a resource. The first with a processor adds its load template.
    func want(_ resource: Resource, _ options: ImageOptions?, defaults: ImageOptions) {
        let processor = options?.processorIdentifier(defaults) ?? defaults.processor?.identifier ?? ""
        state.withLock { state in
            if state.templates.count < Self.mostProcessors, state.templates.insert(processor).inserted {
                state.events.append(.template(LoadTemplate(options, defaults: defaults)))
            }
        }
        put(.wanted(resource, processor: processor))
    }

    /// The times of the first and the last access since ``endWait()``, lost or not; `nil` if there are none.
    var waiting: (first: Int64, last: Int64)? {
        state.withLock { state in state.first.map { ($0, state.last) } }
    }

    /// Handles that a plan begins: the next access is the first again.
    func endWait() { state.withLock { $0.first = nil } }

    /// Removes and returns all pending events, and the losses since the last call.
    func take() -> (events: [ForesightEvent], lost: Lost) {
        state.withLock { state in
            defer { (state.events, state.lost) = ([], Lost()) }
            return (state.events, state.lost)
        }
    }
}
