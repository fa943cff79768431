import Synchronization

/// Counts the received bytes of a load over all attempts, without those that an attempt resumes from. Cancels the load beyond a limit.
final class ReceivedBytes: Sendable {
    private struct State {
        /// The bytes of the present attempt, with those that it resumed from.
        var held: Int
        var total = 0
        var load: Task<Void, Never>?
    }

    private let state: Mutex<State>

    private let most: Int

    /// - Parameters:
    ///   - held: the bytes of an earlier load, from which this one resumes if it can.
    ///   - most: the limit.
    init(after held: Int, atMost most: Int = .max) {
        state = Mutex(State(held: held))
        self.most = most
    }

    /// Sets the task to cancel once the limit is exceeded.
    func cancelBeyondLimit(_ load: Task<Void, Never>) {
        let isOver = state.withLock {
            $0.load = load
            return $0.total > most
        }
        if isOver { load.cancel() }
    }

    /// Sets the bytes of the present attempt. They are fewer than before if a new attempt begins at the start.
    func note(_ count: Int) {
        let excess = state.withLock {
            $0.total += count < $0.held ? count : count - $0.held
            $0.held = count
            return $0.total > most ? $0.load : nil
        }
        excess?.cancel()
    }

    /// The received bytes.
    var total: Int { state.withLock { $0.total } }
    /// The bytes that a later load can resume from.
    var held: Int { state.withLock { $0.held } }
}
