import Synchronization

/// Gives turns to the work of processors, the most urgent first.
package protocol WorkTurns: Sendable {
    /// Hands `work` to `lane`, once, when it has a turn; the turn ends with the work. Until then the work moves as its priority changes
    /// (``WorkPriority/observe(_:)``).
    ///
    /// It is called in the loop of a ``LoadMerger``, so that it must return at once, and run no code of a user.
    func enqueue(_ work: @escaping @Sendable () -> Void, on lane: CallbackLane, _ priority: WorkPriority)
}

/// The priority of work that waits for its turn: the highest of the loads that wait for its result.
package final class WorkPriority: Sendable {
    private struct State {
        var value: TransferPriority
        var receive: (@Sendable (TransferPriority) -> Void)?
    }

    private let state: Mutex<State>

    package init(_ value: TransferPriority) { state = Mutex(State(value: value)) }

    /// The present priority.
    package var value: TransferPriority { state.withLock { $0.value } }

    /// Sets what receives each change, one after another, on any thread and outside of locks of the merger.
    ///
    /// - Returns: the priority before the first change that is received.
    @discardableResult
    package func observe(_ receive: @escaping @Sendable (TransferPriority) -> Void) -> TransferPriority {
        state.withLock { state in
            state.receive = receive
            return state.value
        }
    }

    /// Changes the priority.
    package func set(_ value: TransferPriority) {
        let receive = state.withLock { state -> (@Sendable (TransferPriority) -> Void)? in
            guard state.value != value else { return nil }
            state.value = value
            return state.receive
        }
        receive?(value)
    }
}
