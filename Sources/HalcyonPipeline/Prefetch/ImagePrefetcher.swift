import Foundation
import Synchronization

/// Brings images into the cache before anybody looks at them.
///
/// ```swift
/// let prefetcher = ImagePrefetcher(resources: nextPage, maxConcurrent: 4)
/// let report = await prefetcher.run()
/// print(report.completed.count, report.skipped.count, report.failed.count)
/// ```
///
/// At most so many are loaded at a time, in the order given, at a priority below that of what somebody waits for
/// (``ImageOptions/priority``, here `TransferPriority.low` unless said otherwise). Whoever wants one of them meanwhile joins
/// its transfer and raises it. Retries and alternative sources are as for any load. It is no access: policies and the log
/// hear of a prefetched image when it is looked at.
public final class ImagePrefetcher: Sendable {
    private struct State {
        var work: Task<PrefetchReport, Never>?
        var isStopped = false
    }

    private let manager: HalcyonManager
    private let resources: [Resource]
    private let options: ImageOptions
    private let maxConcurrent: Int
    private let toMemory: Bool
    private let onProgress: (@Sendable (PrefetchReport) -> Void)?
    private let state = Mutex(State())

    /// A prefetcher of some resources.
    ///
    /// - Parameters:
    ///   - options: by default those of the manager, with a low priority.
    ///   - maxConcurrent: how many are loaded at a time at most; at least 1.
    ///   - toMemory: whether they are taken into memory, too, also those that are on disk already.
    ///   - onProgress: is told after each resource what came of all so far, in order, on the options' queue.
    public init(
        resources: [Resource], manager: HalcyonManager = .shared, options: ImageOptions? = nil, maxConcurrent: Int = 5,
        toMemory: Bool = false, onProgress: (@Sendable (PrefetchReport) -> Void)? = nil
    ) {
        var low = manager.defaultOptions
        low.priority = .low
        self.manager = manager
        self.resources = resources
        self.options = options ?? low
        self.maxConcurrent = max(maxConcurrent, 1)
        self.toMemory = toMemory
        self.onProgress = onProgress
    }

    /// Prefetches, and says what came of it. Called again, it waits for the same. Cancelling the task that waits stops it.
    public func run() async -> PrefetchReport {
        let work = begin()
        return await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            stop()
        }
    }

    /// The same with a completion, which is called once on the options' queue.
    public func start(completionHandler: (@Sendable (PrefetchReport) -> Void)? = nil) {
        let work = begin()
        Task.detached { [options] in
            let report = await work.value
            if let completionHandler { options.callbackQueue.execute { completionHandler(report) } }
        }
    }

    /// Ends what is under way, unless somebody else waits for it, too, and begins nothing more.
    public func stop() {
        let work = state.withLock { state in
            state.isStopped = true
            return state.work
        }
        work?.cancel()
    }

    // MARK: - Inside

    private func begin() -> Task<PrefetchReport, Never> {
        state.withLock { state in
            if let work = state.work { return work }
            // Not this instance, so that letting go of it does not wait for the loads.
            let work = Task.detached { [manager, resources, options, maxConcurrent, toMemory, onProgress] in
                var queue = PrefetchQueue(count: resources.count, limit: maxConcurrent)
                var report = PrefetchReport()
                await withTaskGroup(of: (Int, Result<Bool, any Error>).self) { group in
                    func start(_ numbers: [Int]) {
                        for number in numbers {
                            group.addTask {
                                (number, await Self.load(resources[number], manager, options, toMemory))
                            }
                        }
                    }
                    start(queue.begin())
                    while let (number, result) = await group.next() {
                        report.add(resources[number], result)
                        start(queue.ended(isStopped: Task.isCancelled))
                        if let onProgress {
                            options.callbackQueue.execute { [report] in onProgress(report) }
                        }
                    }
                }
                report.stopped += resources[queue.next...]
                return report
            }
            state.work = work
            if state.isStopped { work.cancel() }
            return work
        }
    }

    private static func load(
        _ resource: Resource, _ manager: HalcyonManager, _ options: ImageOptions, _ toMemory: Bool
    ) async -> Result<Bool, any Error> {
        do {
            return .success(try await manager.prefetch(resource, options, toMemory: toMemory) != nil)
        } catch {
            return .failure(error)
        }
    }
}

extension PrefetchReport {
    /// Takes in what came of a resource: whether it was loaded, or why not.
    fileprivate mutating func add(_ resource: Resource, _ result: Result<Bool, any Error>) {
        switch result {
        case .success(true): completed.append(resource)
        case .success(false): skipped.append(resource)
        case .failure(let error) where error.isCancellation: stopped.append(resource)
        case .failure(let error): failed.append(Failure(resource: resource, error: error))
        }
    }
}
