import Synchronization

/// A clock that moves only by ``advance(by:)``.
final class ManualClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [(until: Instant, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }
    /// The number of sleepers.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        await withCheckedContinuation { continuation in
            let isPast = state.withLock { state in
                if state.now >= deadline { return true }
                state.sleepers.append((deadline, continuation))
                return false
            }
            if isPast { continuation.resume() }
        }
    }

    /// Advances the clock and wakes the sleepers that are due.
    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let due = state.sleepers.filter { $0.until <= now }.map(\.1)
            state.sleepers.removeAll { $0.until <= now }
            return due
        }
        for continuation in due { continuation.resume() }
    }
}
