import HalcyonSupport
import Synchronization

/// Calls a closure periodically, at an interval that may change, until the sweeper is released.
///
/// It needs no run loop. It does not retain the object that it works for: `work` returns `false` once that object no
/// longer exists.
final class Sweeper: Sendable {
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Starts the calls, and ends those of an earlier start. The first call is after one interval.
    ///
    /// - Parameters:
    ///   - interval: returns the microseconds until the next call; `nil` ends the calls. Less than one millisecond
    ///     counts as one millisecond.
    ///   - work: returns whether to continue.
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

    /// Ends the calls.
    func stop() {
        task.withLock { old in
            old?.cancel()
            old = nil
        }
    }

    deinit { stop() }
}
