import Synchronization

/// What can be told to a load while one transfer after another serves it.
package final class TransferControl: Sendable {
    private struct State {
        var transfer: (any Transfer)?
        var priority: TransferPriority
        var isCancelled = false
    }

    private let state: Mutex<State>

    init(priority: TransferPriority) { state = Mutex(State(priority: priority)) }

    /// How urgent the load is now.
    var priority: TransferPriority { state.withLock { $0.priority } }

    /// From now on this transfer is told; it is told at once what was said before it was there.
    func attach(_ transfer: any Transfer, startedAt priority: TransferPriority) {
        let state = state.withLock { state in
            state.transfer = transfer
            return state
        }
        if state.isCancelled { transfer.cancel() }
        if state.priority != priority { transfer.setPriority(state.priority) }
    }

    /// Ends the transfer, and any that follows.
    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        transfer?.cancel()
    }

    /// Makes the transfer, and any that follows, more or less urgent.
    func setPriority(_ priority: TransferPriority) {
        let transfer = state.withLock { state in
            state.priority = priority
            return state.transfer
        }
        transfer?.setPriority(priority)
    }
}
