import Synchronization

/// Counts the bytes that come of a load, whatever becomes of it: those of each attempt, without what it goes on from; and breaks the
/// load off where they are more than may come.
final class ReceivedBytes: Sendable {
    private struct State {
        /// How many there were last, with what the attempt went on from.
        var held: Int
        var total = 0
        var load: Task<Void, Never>?
    }

    private let state: Mutex<State>

    private let most: Int

    /// - Parameters:
    ///   - held: how many an earlier load has left, from which this one goes on if it can.
    ///   - most: how many may come.
    init(after held: Int, atMost most: Int = .max) {
        state = Mutex(State(held: held))
        self.most = most
    }

    /// Says which load it is that more bytes than may come break off.
    func breaksOff(_ load: Task<Void, Never>) {
        let isOver = state.withLock {
            $0.load = load
            return $0.total > most
        }
        if isOver { load.cancel() }
    }

    /// There are so many now; fewer than before when an attempt begins at the start.
    func note(_ count: Int) {
        let excess = state.withLock {
            $0.total += count < $0.held ? count : count - $0.held
            $0.held = count
            return $0.total > most ? $0.load : nil
        }
        excess?.cancel()
    }

    /// How many have come.
    var total: Int { state.withLock { $0.total } }
    /// How many there are for a later load to go on from.
    var held: Int { state.withLock { $0.held } }
}
