import HalcyonSupport
import Synchronization

/// Calls something again and again, at an interval that may change, until it goes.
///
/// It needs no run loop and keeps nobody alive: `work` returns `false` when there is nobody left to work for.
final class Sweeper: Sendable {
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Starts calling; what was started before ends. The work is first done after one interval.
    ///
    /// - Parameters:
    ///   - interval: the microseconds between two calls, asked for before each; at least one millisecond.
    ///   - work: returns whether to go on.
    func start(
        clock: any CacheClock, interval: @escaping @Sendable () -> Int64?, work: @escaping @Sendable () async -> Bool
    ) {
        let next = Task.detached(priority: .utility) {
            while let span = interval() {
                do { try await clock.sleep(microseconds: max(span, 1_000)) } catch { return }
                guard !Task.isCancelled, await work() else { return }
            }
        }
        task.withLock { old in
            old?.cancel()
            old = next
        }
    }

    /// Ends it.
    func stop() {
        task.withLock { old in
            old?.cancel()
            old = nil
        }
    }

    deinit { stop() }
}
