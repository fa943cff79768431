import Foundation
import HalcyonSupport
import Synchronization

/// Loads images into the cache before they are requested.
///
/// ```swift
/// let prefetcher = ImagePrefetcher(resources: nextPage, maxConcurrent: 4)
/// let report = await prefetcher.run()
/// print(report.completed.count, report.skipped.count, report.failed.count)
/// ```
///
/// At most `maxConcurrent` images are loaded at a time, in the given order, at a low priority unless the options of the call state
/// another (``ImageOptions/priority``), and processed on a queue of the quality of service utility (background at `.veryLow`). A load that wants one of them
/// meanwhile joins its transfer and raises the priority. Retries and alternative sources are as for any load. A prefetch is no
/// access: policies and the log receive a prefetched image when it is requested. An image without a processor that goes to the disk
/// alone is not decoded: one that is damaged behind its header is found, and loaded again, when it is requested.
///
/// See `PrefetcherTests.prefetcherLimitsConcurrentLoads()`, `PrefetcherTests.visibleLoadRaisesPrefetchPriority()`,
/// `PrefetcherTests.prefetchUsesRetriesAlternativesAndOriginals()` and `PrefetcherTests.prefetchIsNoAccess()`.
public final class ImagePrefetcher: Sendable {
    private struct State {
        var work: Task<PrefetchReport, Never>?
        var isStopped = false
    }

    private let resources: [Resource]
    private let options: ImageOptions?
    private let callbackQueue: CallbackQueue
    /// Keeps the order of callbacks that have no queue of their own.
    private let callbacks = DispatchQueue(label: "halcyon.prefetcher", qos: .utility)
    private let onProgress: (@Sendable (PrefetchProgress) -> Void)?
    /// The prefetches, by the places of their resources.
    private let running: RunningPrefetches<Int>
    private let state = Mutex(State())

    /// Creates a prefetcher of some resources.
    ///
    /// - Parameters:
    ///   - options: override the manager's defaults, but for the priority, whose default is low.
    ///   - maxConcurrent: the number of loads at a time, at least 1.
    ///   - toMemory: whether the images are taken into memory, too, also those that are on disk already.
    ///   - onProgress: is called after each resource, in order, on the options' queue.
    public init(
        resources: [Resource], manager: HalcyonManager = .shared, options: ImageOptions? = nil, maxConcurrent: Int = 5,
        toMemory: Bool = false, onProgress: (@Sendable (PrefetchProgress) -> Void)? = nil
    ) {
        self.resources = resources
        self.options = options
        callbackQueue = options?.callbackQueue ?? manager.defaultOptions.callbackQueue ?? .mainCurrentOrAsync
        self.onProgress = onProgress
        running = RunningPrefetches(manager, maxConcurrent: maxConcurrent, toMemory: toMemory)
    }

    /// Creates a prefetcher of some URLs; see ``init(resources:manager:options:maxConcurrent:toMemory:onProgress:)``.
    public convenience init(
        urls: [URL], manager: HalcyonManager = .shared, options: ImageOptions? = nil, maxConcurrent: Int = 5,
        toMemory: Bool = false, onProgress: (@Sendable (PrefetchProgress) -> Void)? = nil
    ) {
        self.init(
            resources: urls.map { Resource($0) }, manager: manager, options: options, maxConcurrent: maxConcurrent,
            toMemory: toMemory, onProgress: onProgress)
    }

    /// Nothing could resume one that is paused. Another one goes on.
    deinit { if isPaused { stop() } }

    /// Prefetches, and returns the report. A second call waits for the same work. Cancelling the waiting task stops it.
    public func run() async -> PrefetchReport {
        let work = begin()
        return await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            stop()
        }
    }

    /// Prefetches; the completion is called once, on the options' queue.
    public func start(completionHandler: (@Sendable (PrefetchReport) -> Void)? = nil) {
        let work = begin()
        Task.detached { [callbackQueue, callbacks] in
            let report = await work.value
            if let completionHandler { callbackQueue.offPool(on: callbacks) { completionHandler(report) } }
        }
    }

    /// Cancels the running loads that no other request waits for, and starts no more.
    ///
    /// See `PrefetcherTests.stoppingEndsPrefetchesButNotVisibleLoads()`.
    public func stop() {
        state.withLock { $0.isStopped = true }
        running.stopAll()
    }

    /// Whether no load begins. Those that have begun continue. Default: `false`.
    ///
    /// See `PrefetcherTests.pausedPrefetcherBeginsNothing()`.
    public var isPaused: Bool {
        get { running.isPaused }
        set { running.isPaused = newValue }
    }

    /// The priority of all loads, also of those that have begun; `nil`, the default, for that of the options, else `.low`.
    public var priority: TransferPriority? {
        get { running.priority }
        set { running.priority = newValue }
    }

    // MARK: - Inside

    private func begin() -> Task<PrefetchReport, Never> {
        let (results, ended) = AsyncStream.makeStream(of: PrefetchEnd.self)
        let (work, isFirst) = state.withLock { state in
            if let work = state.work { return (work, false) }
            // Not this instance, so that letting go of it does not wait for the loads.
            let work = Task.detached { [resources, callbackQueue, callbacks, onProgress] in
                await Self.report(results, of: resources, callbackQueue, callbacks, onProgress)
            }
            state.work = work
            return (work, true)
        }
        guard isFirst else { return work }
        running.start(
            resources.enumerated().map { number, resource in
                .init(key: number, resource: resource, options: options) { number, result, hasBegun in
                    ended.yield(PrefetchEnd(number: number, result: result, hasBegun: hasBegun))
                }
            })
        if state.withLock({ $0.isStopped }) { running.stopAll() }
        return work
    }

    /// Collects the results of all resources.
    private static func report(
        _ results: AsyncStream<PrefetchEnd>, of resources: [Resource], _ queue: CallbackQueue,
        _ callbacks: DispatchQueue,
        _ onProgress: (@Sendable (PrefetchProgress) -> Void)?
    ) async -> PrefetchReport {
        var report = PrefetchReport()
        var stopped: [Int] = []
        var ends = results.makeAsyncIterator()
        while report.count < resources.count, let end = await ends.next() {
            report.add(resources[end.number], end.result)
            if case .failure(let error) = end.result, error.isCancellation { stopped.append(end.number) }
            if end.hasBegun, let onProgress {
                let progress = PrefetchProgress(resources[end.number], end.result, report, of: resources.count)
                queue.offPool(on: callbacks) { onProgress(progress) }
            }
        }
        report.stopped = stopped.sorted().map { resources[$0] }
        // The callbacks without a queue of their own have run when the report is there.
        await withCheckedContinuation { continuation in callbacks.async { continuation.resume() } }
        return report
    }
}

/// The end of one prefetch.
private struct PrefetchEnd: Sendable {
    /// The place of the resource.
    let number: Int
    /// Whether it was loaded, or the error.
    let result: Result<Bool, any Error>
    /// Whether it had begun.
    let hasBegun: Bool
}

extension PrefetchReport {
    /// Adds the result of a resource: whether it was loaded, or the error.
    fileprivate mutating func add(_ resource: Resource, _ result: Result<Bool, any Error>) {
        switch result {
        case .success(true): completed.append(resource)
        case .success(false): skipped.append(resource)
        case .failure(let error) where error.isCancellation: stopped.append(resource)
        case .failure(let error): failed.append(Failure(resource: resource, error: error))
        }
    }
}

/// The results of prefetching. Each resource is in one of the lists, once.
///
/// See `PrefetcherTests.reportListsEachResourceOnce()` and `PrefetcherTests.prefetchRevalidatesStaleEntries()`.
public struct PrefetchReport: Sendable {
    /// A resource that could not be prefetched.
    public struct Failure: Sendable {
        /// The resource.
        public let resource: Resource
        /// The error.
        public let error: any Error
    }

    /// The resources that were cached already.
    public internal(set) var skipped: [Resource] = []
    /// The resources that no source has.
    public internal(set) var failed: [Failure] = []
    /// The resources that are cached now.
    public internal(set) var completed: [Resource] = []
    /// The resources that were not started, or not done, when the prefetcher was stopped; empty before the end.
    public internal(set) var stopped: [Resource] = []

    /// The number of resources that have ended.
    public var count: Int { skipped.count + failed.count + completed.count + stopped.count }
}

/// How far a prefetcher is, after a resource has ended. Its size does not depend on the number of resources.
///
/// See `PrefetcherTests.reportListsEachResourceOnce()`.
public struct PrefetchProgress: Sendable {
    /// The resource that has ended.
    public let resource: Resource
    /// Why it could not be prefetched; `nil` if it is cached.
    public let error: (any Error)?
    /// The number of resources so far that were cached already.
    public let skipped: Int
    /// The number of resources so far that no source has.
    public let failed: Int
    /// The number of resources so far that were loaded.
    public let completed: Int
    /// The number of resources that have ended, also those that were stopped.
    public let count: Int
    /// The number of all resources.
    public let total: Int

    fileprivate init(
        _ resource: Resource, _ result: Result<Bool, any Error>, _ report: borrowing PrefetchReport, of total: Int
    ) {
        self.resource = resource
        if case .failure(let error) = result { self.error = error } else { error = nil }
        (skipped, failed, completed) = (report.skipped.count, report.failed.count, report.completed.count)
        (count, self.total) = (report.count, total)
    }
}

/// An image that was prefetched.
package struct Prefetched: Sendable {
    /// Its bytes in memory.
    package let cost: Int
    /// The loaded bytes, where the result has them; 0 for an image of a cached original or a provider.
    package let bytes: Int

    /// An image that was cached and loaded again; its size is not known.
    package static let renewed = Prefetched(cost: 0, bytes: 0, origin: .network)

    /// The place from which the image came.
    let origin: ImageOrigin

    init(cost: Int, bytes: Int, origin: ImageOrigin) { (self.cost, self.bytes, self.origin) = (cost, bytes, origin) }

    package init(_ result: ImageResult) {
        origin = ImageOrigin(result)
        cost = result.image.cacheCost
        bytes = result.isFromOriginal || result.source.url == nil ? 0 : result.originalData?.count ?? 0
    }
}

extension CallbackQueue {
    /// Executes a user's block that may block, on a thread that is not of the cooperative pool: `.untouch` and `.custom` begin on `queue`.
    fileprivate func offPool(on queue: DispatchQueue, _ block: @escaping @Sendable () -> Void) {
        switch self {
        case .untouch, .custom: queue.async { execute(block) }
        case .mainCurrentOrAsync, .mainAsync, .dispatch: execute(block)
        }
    }
}
