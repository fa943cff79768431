import Foundation
import Synchronization

/// Prefetches images into the cache.
///
/// ```swift
/// let prefetcher = ImagePrefetcher(resources: nextPage, maxConcurrent: 4)
/// let report = await prefetcher.run()
/// print(report.completed.count, report.skipped.count, report.failed.count)
/// ```
///
/// A limited number of images is loaded concurrently, in the given order, with a low priority by default
/// (``ImageOptions/priority``). A load of one of these images joins its transfer and raises the priority. Retries and
/// alternative sources work as for any load. Prefetching is no access: policies and the log record one when the image is
/// requested.
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

    /// Creates a prefetcher of some resources.
    ///
    /// - Parameters:
    ///   - options: the options of the loads; by default those of the manager, with a low priority.
    ///   - maxConcurrent: the maximum number of concurrent loads, at least 1.
    ///   - toMemory: whether images are also stored in memory, including those that are already on disk.
    ///   - onProgress: receives a report of all resources so far after each resource, in order, on the options' queue.
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

    /// Prefetches the resources and returns a report. A second call waits for the same report. Cancelling the waiting task stops
    /// prefetching.
    public func run() async -> PrefetchReport {
        let work = begin()
        return await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            stop()
        }
    }

    /// Prefetches the resources, and calls a completion once on the options' queue.
    public func start(completionHandler: (@Sendable (PrefetchReport) -> Void)? = nil) {
        let work = begin()
        Task.detached { [options] in
            let report = await work.value
            if let completionHandler { options.callbackQueue.execute { completionHandler(report) } }
        }
    }

    /// Cancels the loads in flight, except those with other waiters, and starts no more.
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
            // The task does not capture this instance, so that its deallocation does not wait for the loads.
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
