import HalcyonCache
import HalcyonNetworking
import HalcyonSupport
import Synchronization

/// Work that takes a turn of a ``DecodeLimiter``, for one load or for several that share it.
///
/// Its priority is the highest of the loads that want it now: one that joins, leaves or changes its priority moves the work while it
/// waits. It is queued on the queue of its first load, and on that of each load that joins and is more urgent than all others;
/// whichever begins first does it.
///
/// See `CancelledLoadTests.priorityMovesWorkThatWaits()` and `VariantTests.urgentLoadDoesNotWaitForPrefetchQueue()`.
final class LimitedWork: Sendable {
    private struct State {
        /// The priority of each load; that of the last one stays when none is left.
        var loads: [(number: Int, priority: TransferPriority)]
        var lastNumber = LimitedWork.firstLoad
        /// The queue of the load that was the most urgent when it joined.
        var lane: CallbackLane
        /// The blocks that have not begun.
        var blocks: [@Sendable () -> Void] = []

        var priority: TransferPriority? { loads.map(\.priority).max() }
    }

    /// The number of the load that the work is made for.
    static let firstLoad = 1

    private let limiter: DecodeLimiter
    private let priority: WorkPriority
    private let state: Mutex<State>

    /// Creates the work of a load.
    init(_ limiter: DecodeLimiter, _ priority: TransferPriority, _ queue: CallbackQueue) {
        self.limiter = limiter
        self.priority = WorkPriority(priority)
        state = Mutex(
            State(loads: [(Self.firstLoad, priority)], lane: CallbackLane(queue, isOrdered: false)))
    }

    /// A queue that executes blocks when the work has a turn: in the call if there is one at once, for callers that may compute.
    var queue: CallbackQueue {
        .custom { [self] in limiter.execute($0, orOn: state.withLock { $0.lane }, priority) }
    }

    /// Adds a load.
    ///
    /// - Returns: its number, for ``setPriority(_:of:)`` and ``leave(_:)``.
    func join(_ priority: TransferPriority, _ queue: CallbackQueue) -> Int {
        let lane = CallbackLane(queue, isOrdered: false)
        let (number, isUrgent) = state.withLock { state in
            let isUrgent = state.priority.map { $0 < priority } ?? true
            if isUrgent { state.lane = lane }
            state.lastNumber += 1
            state.loads.append((state.lastNumber, priority))
            if isUrgent { self.priority.set(priority) }
            return (state.lastNumber, isUrgent && !state.blocks.isEmpty)
        }
        if isUrgent { limiter.enqueue(begin, on: lane, self.priority) }
        return number
    }

    /// Changes the priority of a load.
    func setPriority(_ priority: TransferPriority, of load: Int) {
        state.withLock { state in
            guard let index = state.loads.firstIndex(where: { $0.number == load }) else { return }
            state.loads[index].priority = priority
            if let highest = state.priority { self.priority.set(highest) }
        }
    }

    /// Removes a load that is cancelled.
    func leave(_ load: Int) {
        state.withLock { state in
            state.loads.removeAll { $0.number == load }
            if let highest = state.priority { priority.set(highest) }
        }
    }

    /// Returns the result of a block, executed when it has a turn.
    ///
    /// - Throws: the error of the block; `CancellationError` if the task is cancelled before the block begins, which is then not executed.
    func result<Value: Sendable>(_ block: @escaping @Sendable () throws -> Value) async throws -> Value {
        let cancellation = LoadCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enqueue {
                    continuation.resume(
                        with: Result {
                            try cancellation.check()
                            return try block()
                        })
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    /// Executes a block later, when it has a turn.
    func enqueue(_ block: @escaping @Sendable () -> Void) {
        let lane = state.withLock { state in
            state.blocks.append(block)
            return state.lane
        }
        limiter.enqueue(begin, on: lane, priority)
    }

    /// Executes the blocks that have not begun.
    private func begin() {
        let blocks = state.withLock { state in
            defer { state.blocks = [] }
            return state.blocks
        }
        for block in blocks { block() }
    }
}
