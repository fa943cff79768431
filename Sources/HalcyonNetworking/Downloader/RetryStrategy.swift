import Foundation
import HalcyonSupport

/// An error that another attempt cannot mend.
package protocol PermanentFailure: Error {}

/// What a strategy knows when it decides.
public struct RetryContext: Sendable {
    /// What is loaded: a URL as it is written, or the key of an `ImageDataProvider`.
    public let key: String
    /// Why it failed this time: a ``NetworkError``, or what the provider threw.
    public let error: any Error
    /// How often it was tried again so far.
    public let retriedCount: Int
    /// What the strategy said last time; `nil` at the first.
    public let userInfo: (any Sendable)?

    /// A context.
    public init(key: String, error: any Error, retriedCount: Int, userInfo: (any Sendable)? = nil) {
        self.key = key
        self.error = error
        self.retriedCount = retriedCount
        self.userInfo = userInfo
    }
}

/// What is done after a failure.
public enum RetryDecision: Sendable {
    /// Try again after so long, remembering something for the next decision.
    case retry(after: Duration, userInfo: (any Sendable)? = nil)
    /// Fail.
    case stop
}

/// Decides whether a load that failed is tried again. Nobody asks it about a load that was cancelled.
public protocol RetryStrategy: Sendable {
    /// What is done now.
    func decision(for context: RetryContext) async -> RetryDecision
}

/// Tries again after a time, up to so often, what may be better next time: of a network as ``NetworkError/isWorthRetrying`` says, of a
/// provider whatever it throws itself. A file that cannot be read is not tried again.
public struct DelayRetryStrategy: RetryStrategy {
    /// How long to wait.
    public enum Interval: Sendable {
        /// Always so long.
        case seconds(TimeInterval)
        /// So long, then twice, then three times as long.
        case accumulated(TimeInterval)
        /// As the closure says, given how often it was tried again so far.
        case custom(@Sendable (_ retriedCount: Int) -> TimeInterval)

        func duration(retriedCount: Int) -> Duration {
            switch self {
            case .seconds(let interval): .seconds(interval)
            case .accumulated(let interval): .seconds(interval * Double(retriedCount + 1))
            case .custom(let interval): .seconds(interval(retriedCount))
            }
        }
    }

    /// How often it is tried again at most.
    public let maxRetryCount: Int
    /// How long to wait before.
    public let retryInterval: Interval

    /// A strategy.
    public init(maxRetryCount: Int, retryInterval: Interval = .seconds(3)) {
        self.maxRetryCount = maxRetryCount
        self.retryInterval = retryInterval
    }

    public func decision(for context: RetryContext) async -> RetryDecision {
        guard context.retriedCount < maxRetryCount, context.isWorthRetrying else { return .stop }
        return .retry(after: retryInterval.duration(retriedCount: context.retriedCount))
    }
}

extension RetryContext {
    fileprivate var isWorthRetrying: Bool {
        switch error {
        case let error as NetworkError: error.isWorthRetrying
        case is any PermanentFailure: false
        default: true
        }
    }
}

extension NetworkError {
    /// Whether the same request may succeed another time: the connection failed, time ran out, or the server said that it
    /// could not just now (408, 425, 429, 500, 502, 503, 504).
    public var isWorthRetrying: Bool {
        switch self {
        case .truncatedBody, .timedOut, .cannotFindHost, .cannotConnect, .connectionLost, .transport: true
        case .invalidStatusCode(let status, _): [408, 425, 429, 500, 502, 503, 504].contains(status)
        default: false
        }
    }
}

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
