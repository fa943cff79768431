import HalcyonSupport

/// Tries something again as a strategy says.
package struct Attempts: Sendable {
    /// `nil` tries once.
    package let strategy: (any RetryStrategy)?
    /// What pauses are counted by.
    package let clock: any CacheClock

    /// Creates the attempts of one load.
    package init(strategy: (any RetryStrategy)?, clock: any CacheClock) {
        self.strategy = strategy
        self.clock = clock
    }

    /// What some work gives in the end.
    ///
    /// - Parameters:
    ///   - key: what is loaded: a URL, or the key of a provider.
    ///   - isFailure: whether an error is one that the strategy is asked about; one that says that somebody gave up never is.
    /// - Throws: what the work throws; `CancellationError` if the task is cancelled in a pause.
    package func of<Value>(
        _ key: String, _ work: () async throws -> Value, isFailure: (any Error) -> Bool
    ) async throws -> Value {
        var (retries, info) = (0, nil as (any Sendable)?)
        while true {
            do {
                return try await work()
            } catch {
                guard let strategy, !error.isCancellation, isFailure(error) else { throw error }
                let context = RetryContext(key: key, error: error, retriedCount: retries, userInfo: info)
                guard case .retry(let pause, let remembered) = await strategy.decision(for: context) else {
                    throw error
                }
                try await clock.sleep(microseconds: pause.microseconds)
                (retries, info) = (retries + 1, remembered)
            }
        }
    }
}
