import Synchronization

/// Counts the bytes that come of a load, whatever becomes of it: those of each attempt, without what it goes on from.
final class ReceivedBytes: Sendable {
    private struct State {
        /// How many there were last, with what the attempt went on from.
        var held: Int
        var total = 0
    }

    private let state: Mutex<State>

    /// - Parameter held: how many an earlier load has left, from which this one goes on if it can.
    init(after held: Int) { state = Mutex(State(held: held)) }

    /// There are so many now; fewer than before when an attempt begins at the start.
    func note(_ count: Int) {
        state.withLock {
            $0.total += count < $0.held ? count : count - $0.held
            $0.held = count
        }
    }

    /// How many have come.
    var total: Int { state.withLock { $0.total } }
    /// How many there are for a later load to go on from.
    var held: Int { state.withLock { $0.held } }
}
