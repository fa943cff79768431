import Foundation
import HalcyonSupport
import Synchronization

/// A load under way, as whoever asked for it holds it. Letting go of it does not end the load.
public final class DownloadTask: Sendable {
    /// The waiter that it stands for.
    private struct Waiter {
        let merger: DownloadMerger
        let token: DownloadMerger.State.Token
        /// Whether the waiter leaves when the task is cancelled, or somebody else sees to that.
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

    /// Ends this load with ``NetworkError/cancelled``; others of the same request go on.
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

    /// Makes it more or less urgent.
    public func setPriority(_ priority: TransferPriority) {
        let waiter = state.withLock { state in
            state.priority = priority
            return state.waiter
        }
        if let waiter { waiter.merger.setPriority(waiter.token, priority) }
    }

    /// Sets what ends it; at once, if that was asked for already.
    package func whenCancelled(_ onCancel: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.onCancel = onCancel
            return state.isCancelled
        }
        if isCancelled { onCancel() }
    }

    /// From now on it stands for this waiter, which is told at once what was said before.
    ///
    /// - Parameter leaves: whether the waiter leaves when the task is cancelled.
    func follow(_ merger: DownloadMerger, _ token: DownloadMerger.State.Token, leaves: Bool) {
        let (priority, isCancelled) = state.withLock { state in
            state.waiter = Waiter(merger: merger, token: token, leaves: leaves)
            return (state.priority, state.isCancelled)
        }
        if let priority { merger.setPriority(token, priority) }
        if leaves, isCancelled { merger.leave(token) }
    }
}

// The callback layer: what the async API does, with a completion that is called exactly once on the queue asked for.
extension ImageDownloader {
    /// Loads, and turns what came into a value. Without a modifier and a retry strategy the load has joined its transfer when
    /// this returns.
    ///
    /// - Returns: what cancels the load and changes its priority.
    @discardableResult
    public func download<Value>(
        _ url: URL, processor: DownloadProcessor<Value>, options: DownloadOptions = DownloadOptions(),
        completionHandler: @escaping @Sendable (Result<DownloadResult<Value>, any Error>) -> Void
    ) -> DownloadTask {
        let task = DownloadTask()
        do {
            let request = try request(for: url, options)
            if options.joinsAtOnce {
                let token = merger.newToken()
                merger.load(token, request, options.priority, processor, options, by: loader) {
                    [queue = options.callbackQueue] in queue.complete($0.result(), completionHandler)
                }
                task.follow(merger, token, leaves: true)
            } else {
                load(request, processor, options, task, completionHandler)
            }
        } catch {
            options.callbackQueue.complete(.failure(error), completionHandler)
        }
        return task
    }

    /// Loads in a task of its own, as what has to be waited for in between does.
    private func load<Value>(
        _ request: TransportRequest, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions,
        _ task: DownloadTask, _ complete: @escaping @Sendable (Result<DownloadResult<Value>, any Error>) -> Void
    ) {
        let work = Task.detached { [self] in
            let result: Result<DownloadResult<Value>, any Error>
            do {
                result = .success(try await download(request, processor, options, task))
            } catch {
                result = .failure(error)
            }
            options.callbackQueue.complete(result, complete)
        }
        task.whenCancelled { work.cancel() }
    }

    /// Loads the bytes.
    @discardableResult
    public func download(
        _ url: URL, options: DownloadOptions = DownloadOptions(),
        completionHandler: @escaping @Sendable (Result<DownloadResult<Data>, any Error>) -> Void
    ) -> DownloadTask {
        download(url, processor: .data, options: options, completionHandler: completionHandler)
    }
}

extension CallbackQueue {
    /// Calls a completion there, at once where that is anywhere.
    fileprivate func complete<Outcome: Sendable>(
        _ outcome: Outcome, _ completion: @escaping @Sendable (Outcome) -> Void
    ) {
        if case .untouch = self { completion(outcome) } else { execute { completion(outcome) } }
    }
}
