import HalcyonCache
import HalcyonNetworking
import HalcyonSupport
import Synchronization

/// Work that takes a turn of a ``DecodeLimiter``, for one load or for several that share it.
///
/// Its priority is the highest of the loads that want it now: one that joins, leaves or changes its priority moves the work while it
/// waits. It is done on the queue of the most urgent load. A queue that has not begun it when a more urgent load joins is not waited
/// for: the work is queued again, and whichever queue begins first does it.
///
/// See `CancelledLoadTests.priorityMovesWorkThatWaits()` and `VariantTests.urgentLoadDoesNotWaitForPrefetchQueue()`.
final class LimitedWork: Sendable {
    private struct Load {
        let number: Int
        var priority: TransferPriority
        let queue: CallbackQueue
    }

    private struct State {
        var loads: [Load]
        var lastNumber = LimitedWork.firstLoad
        /// The queue of the most urgent load; that of the last one when none is left.
        var queue: CallbackQueue
        /// The blocks that have not begun.
        var blocks: [@Sendable () -> Void] = []
    }

    /// The number of the load that the work is made for.
    static let firstLoad = 1

    private let limiter: DecodeLimiter
    private let state: Mutex<State>
    /// The raw value of ``priority``, which the limiter reads in its lock.
    private let highest: Atomic<Int>

    /// Creates the work of a load.
    init(_ limiter: DecodeLimiter, _ priority: TransferPriority, _ queue: CallbackQueue) {
        self.limiter = limiter
        state = Mutex(
            State(loads: [Load(number: Self.firstLoad, priority: priority, queue: queue)], queue: queue))
        highest = Atomic(priority.rawValue)
    }

    /// The highest priority of the loads that want it; that of the last one when none is left.
    var priority: TransferPriority { TransferPriority(rawValue: highest.load(ordering: .relaxed)) ?? .normal }

    /// The queue of the most urgent load.
    var base: CallbackQueue { state.withLock { $0.queue } }

    /// A queue that executes blocks when the work has a turn.
    var queue: CallbackQueue { .custom { [self] block in limiter.execute(self, block) } }

    /// Adds a load.
    ///
    /// - Returns: its number, for ``setPriority(_:of:)`` and ``leave(_:)``.
    func join(_ priority: TransferPriority, _ queue: CallbackQueue) -> Int {
        let (number, isUrgent) = state.withLock { state in
            let isUrgent = state.loads.allSatisfy { $0.priority < priority } && !state.blocks.isEmpty
            state.lastNumber += 1
            state.loads.append(Load(number: state.lastNumber, priority: priority, queue: queue))
            update(&state)
            return (state.lastNumber, isUrgent)
        }
        if isUrgent { enqueue() }
        limiter.giveTurns()
        return number
    }

    /// Changes the priority of a load.
    func setPriority(_ priority: TransferPriority, of load: Int) {
        state.withLock { state in
            guard let index = state.loads.firstIndex(where: { $0.number == load }) else { return }
            state.loads[index].priority = priority
            update(&state)
        }
        limiter.giveTurns()
    }

    /// Removes a load that is cancelled.
    func leave(_ load: Int) {
        state.withLock { state in
            state.loads.removeAll { $0.number == load }
            update(&state)
        }
    }

    /// Returns the result of a block, executed when it has a turn.
    ///
    /// - Throws: the error of the block; `CancellationError` if the task is cancelled before the block begins, which is then not executed.
    func result<Value: Sendable>(_ block: @escaping @Sendable () throws -> Value) async throws -> Value {
        let cancellation = LoadCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { state in
                    state.blocks.append {
                        continuation.resume(
                            with: Result {
                                try cancellation.check()
                                return try block()
                            })
                    }
                }
                enqueue()
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    private func update(_ state: inout State) {
        // The first of those with the highest priority.
        guard let best = state.loads.max(by: { $0.priority < $1.priority }) else { return }
        state.queue = best.queue
        highest.store(best.priority.rawValue, ordering: .relaxed)
    }

    private func enqueue() {
        limiter.execute(self) { [self] in
            let blocks = state.withLock { state in
                defer { state.blocks = [] }
                return state.blocks
            }
            for block in blocks { block() }
        }
    }
}
