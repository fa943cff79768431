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
/// caller's path, an access is appended to a list. All other work runs on a queue of its own. Only the requests for the
/// images are sent over the network. See <doc:PredictivePrefetching>.
public final class PredictivePrefetcher: Sendable {
    private let prefetcher: LivePrefetcher
    private let inbox: EventInbox
    private let clock: any CacheClock
    private let configuration: PrefetchConfiguration
    private let settleCache: @Sendable () async -> Void
    private let options: ImageOptions
    private let current: Mutex<PrefetchConditions> = Mutex([])
    private let timer = Mutex<Task<Void, Never>?>(nil)
    /// The task that waits for the next moment between accesses, and the time until which it waits.
    private let momentTimer = Mutex<(due: Int64, task: Task<Void, Never>)?>(nil)

    init(
        _ configuration: PrefetchConfiguration, _ host: PrefetchHost, options: ImageOptions,
        clock: any CacheClock, after ending: Task<Void, Never>?, settleCache: @escaping @Sendable () async -> Void
    ) {
        self.configuration = configuration
        self.options = options
        self.clock = clock
        self.settleCache = settleCache
        inbox = EventInbox()
        prefetcher = LivePrefetcher(
            configuration, host, inbox, usual: LoadTemplate(nil, defaults: options), after: ending)
        // A file of an earlier start that should not exist is removed now, not with the first access. A moment that fell due since the
        // last start is made up for without an access, too.
        if !configuration.remembersAccesses || !configuration.keepsURLs || configuration.servesOneUser {
            processEventsLater()
        }
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
        processEventsLater()
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
            processEventsLater()
        }
    }

    // MARK: - Results

    /// The counts since the start.
    public var statistics: PrefetchStatistics { get async { await prefetcher.statistics } }

    /// The last fault of a file of the model, the accesses or the spending, in one sentence. A damaged file counts as none, and the
    /// next write replaces it.
    public var modelFault: String? { get async { await prefetcher.modelFault } }

    /// The calibration of the policy's probabilities; empty for a policy without probabilities.
    public var calibration: [CalibrationBin] { get async { await prefetcher.calibration } }

    /// The metrics of the policy.
    public var metrics: [PolicyMetric] { get async { await prefetcher.metrics } }

    /// Writes the model, the latest accesses and the spending to the cache's folder, as when the app goes to the background.
    public func save() async {
        await processEvents()
        await prefetcher.save()
    }

    /// Processes all events so far, plans without waiting for a pause, and returns when no fetch is in flight.
    public func settle() async {
        await settleCache()
        await plan()
        await prefetcher.waitUntilIdle()
        await settleCache()
        await processEvents()
    }

    // MARK: - Inside

    /// Stops fetching, and returns when no fetch is in flight and the state is saved.
    package func stop() async {
        timer.withLock { $0?.cancel() }
        momentTimer.withLock { $0?.task.cancel() }
        await prefetcher.stop()
        await prefetcher.waitUntilIdle()
    }

    /// Forgets all accesses until now.
    package func forgetAccesses() async { await prefetcher.forgetAccesses() }

    /// Forgets a user's accesses, and cancels the fetches for it.
    ///
    /// - Throws: an error with one sentence if the file of accesses can neither be written nor removed.
    package func forget(user: String) async throws { try await prefetcher.forget(user: user) }

    /// Processes the pending events.
    private func processEvents() async { waitForMoment(await prefetcher.processEvents()) }

    private func processEventsLater() {
        Task { [weak self, prefetcher] in
            let next = await prefetcher.processEvents()
            self?.waitForMoment(next)
        }
    }

    /// Processes the pending events, and plans.
    ///
    /// - Parameter isIdle: whether there was a pause.
    private func plan(isIdle: Bool = true) async {
        inbox.endWait()
        await prefetcher.processEvents()
        await prefetcher.plan(isIdle: isIdle)
        await processEvents()
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
            let time = max(next, clock.now + Self.microseconds(configuration.quiet))
            let task = Task.detached(priority: .background) { [weak self, clock] in
                do { try await clock.sleep(until: time) } catch { return }
                await self?.planAtMoments()
            }
            timer = (next, task)
        }
    }

    private func planAtMoments() async {
        momentTimer.withLock { $0 = nil }
        await prefetcher.processEvents()
        await prefetcher.planAtMoments()
        await processEvents()
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
        let (pause, end) = (
            last + Self.microseconds(configuration.quiet), first + Self.microseconds(configuration.patience)
        )
        let now = clock.now
        return now < last ? 0 : min(pause, end) - now
    }

    /// Whether the last access was as long ago as a pause lasts.
    private var isIdle: Bool {
        let (last, now) = (inbox.waiting?.last ?? .min, clock.now)
        return last == .min || now < last || now - last >= Self.microseconds(configuration.quiet)
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

    package var stateForSuccessor: any Sendable { conditions }

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
