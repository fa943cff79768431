import Synchronization

/// A load under way, as whoever asked for it holds it. Letting go of it does not end the load.
public final class DownloadTask: Sendable {
    private struct State {
        var onCancel: (@Sendable () -> Void)?
        var isCancelled = false
        var priority: TransferPriority?
        var setPriority: (@Sendable (TransferPriority) -> Void)?
    }

    private let state = Mutex(State())

    init() {}

    /// Ends this load with ``NetworkError/cancelled``; others of the same request go on.
    public func cancel() {
        let onCancel = state.withLock { state in
            state.isCancelled = true
            return state.onCancel
        }
        onCancel?()
    }

    /// Whether it was cancelled.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Makes it more or less urgent.
    public func setPriority(_ priority: TransferPriority) {
        let set = state.withLock { state in
            state.priority = priority
            return state.setPriority
        }
        set?(priority)
    }

    /// Sets what ends it; at once, if that was asked for already.
    func whenCancelled(_ onCancel: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.onCancel = onCancel
            return state.isCancelled
        }
        if isCancelled { onCancel() }
    }

    /// The priority that was set last.
    var priority: TransferPriority? { state.withLock { $0.priority } }

    /// Sets who is told of its priority.
    func attach(_ setPriority: @escaping @Sendable (TransferPriority) -> Void) {
        state.withLock { $0.setPriority = setPriority }
    }
}
