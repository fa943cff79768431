import Foundation
import HalcyonEviction
import HalcyonSupport
import Synchronization

/// The disk of an ``ImageCache``: opened when it can be, and tried again from time to time when it cannot.
package final class DiskTier: Sendable {
    private struct State {
        var result: Result<DiskStorage<Data>, any Error>
        var lastTry: Int64
    }

    /// The microseconds between two attempts to open it.
    package static let patience: Int64 = 10_000_000

    private let state: Mutex<State>
    private let open: @Sendable () throws -> DiskStorage<Data>
    private let clock: any CacheClock

    package init(clock: any CacheClock, open: @escaping @Sendable () throws -> DiskStorage<Data>) {
        self.open = open
        self.clock = clock
        state = Mutex(State(result: Result(catching: open), lastTry: clock.now))
    }

    /// The storage, if there is one; never tries.
    package var storage: DiskStorage<Data>? { state.withLock { try? $0.result.get() } }

    /// The storage, which is opened now if it could not be before.
    ///
    /// - Throws: ``CacheError/diskUnavailable(underlying:)``.
    package func get() throws -> DiskStorage<Data> {
        let now = clock.now
        let result = state.withLock { state in
            if case .failure = state.result, now - state.lastTry >= Self.patience || now < state.lastTry {
                state.result = Result(catching: open)
                state.lastTry = now
            }
            return state.result
        }
        do { return try result.get() } catch { throw CacheError.diskUnavailable(underlying: error) }
    }
}
