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
