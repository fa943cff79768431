import Foundation
import HalcyonSupport
import Synchronization

/// The handle of a load. Releasing it does not end the load.
public final class DownloadTask: Sendable {
    /// The waiter of the load.
    private struct Waiter {
        let merger: DownloadMerger
        let token: DownloadMerger.State.Token
        /// Whether cancelling the task removes the waiter; otherwise `onCancel` does.
        let leaves: Bool
    }

    private struct State {
        var waiter: Waiter?
        var onCancel: (@Sendable () -> Void)?
        var isCancelled = false
        var priority: TransferPriority?
    }

    private let state = Mutex(State())

    package init() {}

    /// Ends this load with ``NetworkError/cancelled``; other loads of the same request continue. It calls no completion itself: that
    /// is done on the queue of the load.
    ///
    /// The connection of a transfer without any load is closed at once. See
    /// `DownloaderTests.cancellingLastLoadClosesConnection()` and `HostileTests.cancellingClosesConnection()`.
    public func cancel() {
        let (waiter, onCancel) = state.withLock { state in
            state.isCancelled = true
            return (state.waiter, state.onCancel)
        }
        if let waiter, waiter.leaves { waiter.merger.leave(waiter.token) }
        onCancel?()
    }

    /// Whether it was cancelled.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Changes the priority of the load.
    public func setPriority(_ priority: TransferPriority) {
        let waiter = state.withLock { state in
            state.priority = priority
            return state.waiter
        }
        if let waiter { waiter.merger.setPriority(waiter.token, priority) }
    }

    /// Sets what ends the load, and calls it at once if the task was cancelled before.
    package func whenCancelled(_ onCancel: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.onCancel = onCancel
            return state.isCancelled
        }
        if isCancelled { onCancel() }
    }

    /// Makes this the handle of a waiter, which gets the priority and the cancellation that were set before.
    ///
    /// - Parameter leaves: whether cancelling the task removes the waiter.
    func follow(_ merger: DownloadMerger, _ token: DownloadMerger.State.Token, leaves: Bool) {
        let (priority, isCancelled) = state.withLock { state in
            state.waiter = Waiter(merger: merger, token: token, leaves: leaves)
            return (state.priority, state.isCancelled)
        }
        if let priority { merger.setPriority(token, priority) }
        if leaves, isCancelled { merger.leave(token) }
    }
}

// The callback layer of the async API, with a completion that is called exactly once on the queue of the options.
extension ImageDownloader {
    /// Loads a URL, and makes a value of its data. Without a modifier and a retry strategy the load has joined its transfer when
    /// this returns.
    ///
    /// With `CallbackQueue.untouch` callbacks are called on threads of the downloader, each load's by itself: one that blocks, or that
    /// waits for another load, delays no other.
    ///
    /// The completion follows all progress. See `DownloaderTests.completionAndProgressRunOnCallbackQueue()`.
    ///
    /// - Parameter completionHandler: called once; `nil` ignores the result, as to fill a cache on the way.
    /// - Returns: the handle to cancel the load and to change its priority.
    @discardableResult
    public func download<Value>(
        _ url: URL, processor: DownloadProcessor<Value>, options: DownloadOptions = DownloadOptions(),
        completionHandler: (@Sendable (Result<DownloadResult<Value>, any Error>) -> Void)? = nil
    ) -> DownloadTask {
        let task = DownloadTask()
        let complete = completionHandler ?? { _ in }
        do {
            if options.joinsAtOnce {
                let request = try request(for: url, options)
                let token = merger.newToken()
                let lane = CallbackLane(options.callbackQueue, isOrdered: options.onProgress != nil)
                let callbacks = DownloadMerger.Callbacks(lane, onProgress: options.onProgress) { complete($0.result()) }
                merger.load(token, request, for: url, options.priority, processor, options, callbacks, by: loader)
                task.follow(merger, token, leaves: true)
            } else {
                load(url, processor, options, task, complete)
            }
        } catch {
            options.callbackQueue.execute { complete(.failure(error)) }
        }
        return task
    }

    /// Loads in a task of its own, which can wait before and after a transfer.
    private func load<Value>(
        _ url: URL, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions, _ task: DownloadTask,
        _ complete: @escaping @Sendable (Result<DownloadResult<Value>, any Error>) -> Void
    ) {
        let work = Task.detached { [self] in
            let result: Result<DownloadResult<Value>, any Error>
            do {
                result = .success(try await download(url, processor, options, task))
            } catch {
                result = .failure(error)
            }
            // Not here: a callback that blocks would hold a thread of the cooperative pool.
            CallbackLane(options.callbackQueue, isOrdered: false).execute { complete(result) }
        }
        task.whenCancelled { work.cancel() }
    }

    /// Loads the data of a URL.
    ///
    /// - Parameter completionHandler: called once; `nil` ignores the result.
    /// - Returns: the handle to cancel the load and to change its priority.
    @discardableResult
    public func download(
        _ url: URL, options: DownloadOptions = DownloadOptions(),
        completionHandler: (@Sendable (Result<DownloadResult<Data>, any Error>) -> Void)? = nil
    ) -> DownloadTask {
        download(url, processor: .data, options: options, completionHandler: completionHandler)
    }
}
