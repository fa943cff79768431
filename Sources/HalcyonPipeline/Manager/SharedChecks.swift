import Synchronization

/// Checks of entries, each made once for all loads that need it at the same time. A check holds from the first load that asks until
/// the last one that has asked ends its work.
final class SharedChecks: Sendable {
    /// An entry and the digest that its bytes should have.
    struct Key: Hashable, Sendable {
        let entry: CacheEntry
        let digest: [UInt8]
    }

    private struct Check {
        let result: Task<Bool, Never>
        var users = 0
    }

    private struct State {
        var checks: [Key: Check] = [:]
        var made = 0
    }

    private let state = Mutex(State())

    /// The number of checks that have been made.
    var madeCount: Int { state.withLock { $0.made } }

    /// The number of checks that are in use.
    var count: Int { state.withLock { $0.checks.count } }

    /// Calls a closure with the result of a check. The check is made in a task of its own, and goes on if this load is cancelled: others may
    /// need it.
    ///
    /// - Throws: what the closure throws; `CancellationError` if the task is cancelled before that.
    func with<Value>(
        _ key: Key, _ check: @escaping @Sendable () async -> Bool, _ work: (Bool) async throws -> Value
    ) async throws -> Value {
        let result = state.withLock { state in
            if state.checks[key] == nil {
                state.checks[key] = Check(result: Task { await check() })
                state.made += 1
            }
            state.checks[key]?.users += 1
            return state.checks[key]?.result
        }
        defer {
            state.withLock { state in
                state.checks[key]?.users -= 1
                if state.checks[key]?.users == 0 { state.checks[key] = nil }
            }
        }
        let isRight = await result?.value ?? false
        try Task.checkCancellation()
        return try await work(isRight)
    }
}
