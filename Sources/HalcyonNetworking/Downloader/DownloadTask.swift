import Foundation
import HalcyonSupport
import Synchronization

/// The handle of a load. Releasing it does not end the load.
public final class DownloadTask: Sendable {
    private struct State {
        /// Passes a priority on to what the load waits for.
        var onPriority: (@Sendable (TransferPriority) -> Void)?
        var onCancel: (@Sendable () -> Void)?
        var isCancelled = false
        var priority: TransferPriority?
    }

    private let state = Mutex(State())

    package init() {}

    /// Ends this load with ``NetworkError/cancelled``; other loads of the same request continue. It calls no completion itself: that
    /// is done on the queue of the load.
    ///
    /// Nothing else is done for the load after this call, wherever it waits, whichever threads code of users blocks. See
    /// `CancellationPointTests.cancelledLoadDoesNothingMore()` and `BlockedThreadTests.cancellationNeedsNoThreadOfUsers()`.
    ///
    /// The connection of a transfer without any load is closed at once. See
    /// `DownloaderTests.cancellingLastLoadClosesConnection()` and `HostileTests.cancellingClosesConnection()`.
    public func cancel() {
        let onCancel = state.withLock { state in
            state.isCancelled = true
            return state.onCancel
        }
        onCancel?()
    }

    /// Whether it was cancelled.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Changes the priority of the load, whether it waits for a transfer, for a file or for its turn to be decoded and processed.
    ///
    /// See `PriorityTests.prioritiesMoveQueuedProcessing()`.
    public func setPriority(_ priority: TransferPriority) {
        let onPriority = state.withLock { state in
            state.priority = priority
            return state.onPriority
        }
        onPriority?(priority)
    }

    /// Sets what ends the load, and calls it at once if the task was cancelled before.
    package func whenCancelled(_ onCancel: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.onCancel = onCancel
            return state.isCancelled
        }
        if isCancelled { onCancel() }
    }

    /// Passes changes of the priority on to what the load waits for now, at once if it was changed before.
    package func follow(_ onPriority: @escaping @Sendable (TransferPriority) -> Void) {
        let priority = state.withLock { state in
            state.onPriority = onPriority
            return state.priority
        }
        if let priority { onPriority(priority) }
    }

    /// Makes this the handle of a waiter.
    ///
    /// - Parameter leaves: whether cancelling the task removes the waiter, at once if it was cancelled before; otherwise something else does.
    func follow(_ merger: DownloadMerger, _ token: DownloadMerger.State.Token, leaves: Bool) {
        follow { merger.setPriority(token, $0) }
        if leaves { whenCancelled { merger.leave(token) } }
    }
}

// The callback layer of the async API, with a completion that is called exactly once on the queue of the options.
extension ImageDownloader {
    /// Loads a URL, and makes a value of its data. Without a modifier and a retry strategy the load has joined its transfer when
    /// this returns.
    ///
    /// With `CallbackQueue.untouch` callbacks are called on threads of the package, each load's by itself: one that blocks, or that
    /// waits for another load, delays no other, unless 64 of the process block at once.
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
