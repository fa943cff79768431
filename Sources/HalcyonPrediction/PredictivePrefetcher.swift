import HalcyonCache
import HalcyonEviction
import HalcyonPipeline
import HalcyonPrefetch
import HalcyonSupport
import Synchronization

/// Learns from every access to a manager's cache what will be wanted, and fetches it before anybody asks.
///
/// ```swift
/// let predictive = manager.startPredicting()
/// predictive.announce(catalogue)             // optional: what exists, with its categories
/// predictive.conditions = [.meteredNetwork]  // as the platform tells
/// print(await predictive.statistics)
/// ```
///
/// It is off until `HalcyonManager.startPredicting(_:)` is called. It hears of each access through the cache, whoever makes it,
/// and knows where an image comes from once it was asked for through the manager or announced. When accesses pause, or go
/// on for too long, a prefetch policy is asked what to fetch, within a budget; that is loaded at the lowest priority, below everything
/// that somebody waits for, and waits in the cache apart from what was asked for. Nothing of it happens on the caller's path
/// but that an access is put into a list; nothing leaves the device but the requests for the images. See <doc:Foresight>.
public final class PredictivePrefetcher: Sendable {
    private let forecaster: Forecaster
    private let inbox: ForesightInbox
    private let clock: any CacheClock
    private let prediction: PrefetchPrediction
    private let settleCache: @Sendable () async -> Void
    private let options: ImageOptions
    private let current: Mutex<PrefetchConditions> = Mutex([])
    private let timer = Mutex<Task<Void, Never>?>(nil)

    init(
        _ prediction: PrefetchPrediction, _ surroundings: ForesightSurroundings, options: ImageOptions,
        clock: any CacheClock, after ending: Task<Void, Never>?, settleCache: @escaping @Sendable () async -> Void
    ) {
        self.prediction = prediction
        self.options = options
        self.clock = clock
        self.settleCache = settleCache
        inbox = ForesightInbox()
        forecaster = Forecaster(
            prediction, surroundings, inbox, usual: ForesightRecipe(nil, defaults: options), after: ending)
        // What an earlier start kept goes now, not with the first access.
        if !prediction.remembersAccesses { Task { [forecaster] in await forecaster.takeIn() } }
    }

    deinit { timer.withLock { $0?.cancel() } }

    // MARK: - What the app tells

    /// Tells what exists, so that it can be fetched before anybody has asked for it: an app calls this with its catalogue, and
    /// again with what is new in it or has changed.
    ///
    /// - Parameter options: how these images will be asked for, until they are announced again with the same processor; by default
    ///   as the manager's options say. What is not announced is fetched as the first image with its processor was asked for.
    public func announce(_ resources: [AnnouncedResource], options: ImageOptions? = nil) {
        inbox.put(.announced(resources, ForesightRecipe(options, defaults: self.options), time: clock.now))
        Task { [forecaster] in await forecaster.takeIn() }
    }

    /// The same for resources of which nothing more is known.
    public func announce(_ resources: [Resource], options: ImageOptions? = nil) {
        announce(resources.map { AnnouncedResource($0) }, options: options)
    }

    /// How the device is. What pauses breaks off what is under way; what is planned and not begun yet is begun only if the budget that
    /// holds from now on allows it.
    public var conditions: PrefetchConditions {
        get { current.withLock { $0 } }
        set {
            current.withLock { $0 = newValue }
            inbox.put(.conditions(newValue))
            Task { [forecaster] in await forecaster.takeIn() }
        }
    }

    // MARK: - What it tells

    /// What was counted so far.
    public var statistics: PrefetchPredictionStatistics { get async { await forecaster.statistics } }

    /// Why what the planner had learnt or the latest accesses could not be read or written, or what was spent of the budget written, the last time that this
    /// happened: one sentence. A damaged file is as good as none, and replaced by the next that is written.
    public var modelFault: String? { get async { await forecaster.modelFault } }

    /// How well the policy's probabilities agree with what happened; empty from a policy that gives none.
    public var calibration: [CalibrationBin] { get async { await forecaster.calibration } }

    /// What the policy publishes about itself.
    public var metrics: [PolicyMetric] { get async { await forecaster.metrics } }

    /// Keeps what the planner has learnt, the latest accesses, and what was spent, beside the cache's files, as happens when the app goes to the background.
    public func save() async {
        await forecaster.takeIn()
        await forecaster.save()
    }

    /// Returns when everything that has happened so far is taken in, and what is fetched because of it is there: the policy is
    /// asked now, without waiting for a pause.
    public func settle() async {
        await settleCache()
        await plan()
        await forecaster.waitUntilIdle()
        await settleCache()
        await forecaster.takeIn()
    }

    // MARK: - Inside

    /// Fetches nothing more, and returns when nothing is under way and what was learnt is kept.
    package func stop() async {
        timer.withLock { $0?.cancel() }
        await forecaster.stop()
        await forecaster.waitUntilIdle()
    }

    /// Keeps none of the accesses until now.
    package func forgetAccesses() async { await forecaster.forgetAccesses() }

    /// Takes in what came, and plans.
    private func plan() async {
        inbox.endWait()
        await forecaster.takeIn()
        await forecaster.plan()
    }

    /// Waits for a pause, in turn with what else happens, then takes in what came and plans; what was taken in before counts, too.
    private func waitForPause() {
        let task = Task.detached(priority: .utility) { [weak self, clock] in
            while let span = self?.timeToWait() {
                if span <= 0 {
                    await self?.plan()
                    return
                }
                do { try await clock.sleep(microseconds: span) } catch { return }
            }
        }
        timer.withLock { $0 = task }
    }

    /// The microseconds until there was a pause or patience is at an end; `nil` where no access waits for a plan. None where the
    /// clock was set back since the last access: nobody knows how long that is ago.
    func timeToWait() -> Int64? {
        guard let (first, last) = inbox.waiting else { return nil }
        let (pause, end) = (last + Self.microseconds(prediction.quiet), first + Self.microseconds(prediction.patience))
        let now = clock.now
        return now < last ? 0 : min(pause, end) - now
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
        Task { [self] in
            await save()
            done()
        }
    }

    package func removed(_ type: CacheType, _ removals: [Removal]) {
        for removal in removals { inbox.put(.removed(type, removal)) }
    }
}
