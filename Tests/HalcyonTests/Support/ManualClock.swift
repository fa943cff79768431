import Halcyon
import HalcyonTestSupport
import Synchronization

/// A clock that a test sets and advances.
final class ManualClock: CacheClock {
    private struct Sleeper {
        let id: Int
        let wakes: Int64
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Int64
        var sleepers: [Sleeper] = []
        var sleeps = 0
    }

    private let state: Mutex<State>
    /// Called when the time is read, before it is; `nil` for nothing.
    let whenRead = Mutex<(@Sendable () -> Void)?>(nil)

    /// Creates a clock at a time in seconds since 1970.
    init(seconds: Double = 1_000_000) { state = Mutex(State(now: Int64(seconds * 1e6))) }

    var now: Int64 {
        whenRead.withLock { $0 }?()
        return state.withLock { $0.now }
    }

    func sleep(microseconds: Int64) async throws { try await sleep { $0 + microseconds } }

    func sleep(until time: Int64) async throws { try await sleep(skipsPast: true) { _ in time } }

    /// Sleeps until a time that is computed from the present, with no advance between the two.
    private func sleep(skipsPast: Bool = false, until wakes: @Sendable (_ now: Int64) -> Int64) async throws {
        let id = state.withLock { state in
            state.sleeps += 1
            return state.sleeps
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    let time = wakes(state.now)
                    if skipsPast, time <= state.now { return .success(()) }
                    state.sleepers.append(Sleeper(id: id, wakes: time, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.sleepers.firstIndex { $0.id == id }.map { state.sleepers.remove(at: $0) }
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Sets the time in microseconds and wakes the sleepers that are due.
    func set(_ time: Int64) {
        let due = state.withLock { state in
            state.now = time
            let due = state.sleepers.filter { $0.wakes <= time }
            state.sleepers.removeAll { $0.wakes <= time }
            return due
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Advances the clock by seconds.
    func advance(by seconds: Double) { set(now + Int64(seconds * 1e6)) }

    /// The number of sleepers.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Waits until there is a sleeper that wakes within `microseconds`.
    func waitForSleeper(within microseconds: Int64) async {
        await waitUntil {
            state.withLock { state in state.sleepers.contains { $0.wakes <= state.now + microseconds } }
        }
    }

    /// Waits until there are `count` sleepers.
    func waitForSleepers(_ count: Int) async {
        await waitUntil { sleeperCount >= count }
    }
}
