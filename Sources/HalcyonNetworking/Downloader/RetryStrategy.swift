import Foundation
import HalcyonSupport
import Synchronization

/// An error that another attempt cannot mend.
package protocol PermanentFailure: Error {}

/// The facts for the decision of a strategy.
public struct RetryContext: Sendable {
    /// The key of the load: a URL as it is written, or the key of an `ImageDataProvider`.
    public let key: String
    /// The error of the last attempt: a ``NetworkError``, or what the provider threw.
    public let error: any Error
    /// The number of retries so far.
    public let retriedCount: Int
    /// What the strategy returned with the last decision; `nil` at the first.
    public let userInfo: (any Sendable)?
    /// The pause that the server asked for by `Retry-After`; `nil` if it did not.
    public let retryAfter: Duration?

    /// Creates a context.
    public init(
        key: String, error: any Error, retriedCount: Int, userInfo: (any Sendable)? = nil, retryAfter: Duration? = nil
    ) {
        self.key = key
        self.error = error
        self.retriedCount = retriedCount
        self.userInfo = userInfo
        self.retryAfter = retryAfter
    }
}

/// The decision after a failure.
public enum RetryDecision: Sendable {
    /// Retry after a pause, and pass `userInfo` to the next decision.
    case retry(after: Duration, userInfo: (any Sendable)? = nil)
    /// Fail.
    case stop
}

/// Decides whether a load that failed is retried. It is not called for a load that was cancelled. The strategies of this module answer
/// ``RetryDecision/stop`` to an error that is a cancellation (`Error.isCancellation`), in managers, downloaders and by themselves.
///
/// See `RetryTests.noStrategyRetriesCancellation()`.
public protocol RetryStrategy: Sendable {
    /// The decision about one failure.
    func decision(for context: RetryContext) async -> RetryDecision
}

/// Retries after a pause, up to a number of times, what another attempt may mend: errors of the network as
/// ``NetworkError/isWorthRetrying`` says, and all errors that a provider throws itself. A file that cannot be read is not read again.
///
/// See `DownloaderOptionTests.retryIntervalIsFixedGrowingOrCustom()` and `RetryTests.loadWaitsForRetryAfter()`.
public struct DelayRetryStrategy: RetryStrategy {
    /// The pause before a retry. A negative one is none. One that is infinite or not a number never ends: the load is not retried.
    ///
    /// See `RetryTests.endlessPauseStops()`.
    public enum Interval: Sendable {
        /// The same pause each time.
        case seconds(TimeInterval)
        /// This pause, then twice, then three times as long.
        case accumulated(TimeInterval)
        /// The pause that the closure returns for the number of retries so far.
        case custom(@Sendable (_ retriedCount: Int) -> TimeInterval)

        /// The pause before a retry, at most a century; `nil` if it never ends.
        func duration(retriedCount: Int) -> Duration? {
            let seconds =
                switch self {
                case .seconds(let interval): interval
                case .accumulated(let interval): interval * (Double(retriedCount) + 1)
                case .custom(let interval): interval(retriedCount)
                }
            return seconds.isFinite ? .seconds(min(max(seconds, 0), 3_155_760_000)) : nil
        }
    }

    /// The highest number of retries.
    public let maxRetryCount: Int
    /// The pause before a retry. It is longer if the server asks for that by `Retry-After`.
    public let retryInterval: Interval
    /// The longest `Retry-After` that is waited for. A load fails if the server asks for more, and never asks it sooner.
    public let maximumRetryAfter: Duration

    /// Creates a strategy.
    public init(
        maxRetryCount: Int, retryInterval: Interval = .seconds(3), maximumRetryAfter: Duration = .seconds(120)
    ) {
        self.maxRetryCount = maxRetryCount
        self.retryInterval = retryInterval
        self.maximumRetryAfter = maximumRetryAfter
    }

    public func decision(for context: RetryContext) async -> RetryDecision {
        let asked = context.retryAfter ?? .zero
        guard context.retriedCount < maxRetryCount, context.isWorthRetrying, asked <= maximumRetryAfter,
            let pause = retryInterval.duration(retriedCount: context.retriedCount)
        else { return .stop }
        return .retry(after: max(asked, pause))
    }
}

/// Retries after pauses that grow exponentially and are random, so that clients that failed together do not return together.
///
/// The pause before retry *n*, counted from 0, is uniform in 0 … min(``maximumPause``, ``base`` · 2ⁿ): "full jitter" (Brooker,
/// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). If the server asks for a pause by `Retry-After`, the random one is
/// added to that. It retries the same errors as ``DelayRetryStrategy``.
public struct ExponentialBackoffRetryStrategy: RetryStrategy {
    /// Random numbers for loads on any thread.
    private final class Source: Sendable {
        private let generator: Mutex<any RandomNumberGenerator & Sendable>

        init(_ generator: any RandomNumberGenerator & Sendable) { self.generator = Mutex(generator) }

        /// A number from 0 up to, not including, 1.
        func unit() -> Double { Double(generator.withLock { $0.next() } >> 11) * 0x1p-53 }
    }

    /// The highest number of retries.
    public let maxRetryCount: Int
    /// The highest pause before the first retry.
    public let base: Duration
    /// The highest pause before any retry, without `Retry-After`.
    public let maximumPause: Duration
    /// The longest `Retry-After` that is waited for. A load fails if the server asks for more, and never asks it sooner.
    public let maximumRetryAfter: Duration
    private let source: Source

    /// Creates a strategy.
    ///
    /// - Parameter random: the source of random numbers; a seeded one gives the same pauses in each run.
    public init(
        maxRetryCount: Int, base: Duration = .seconds(1), maximumPause: Duration = .seconds(60),
        maximumRetryAfter: Duration = .seconds(120),
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.maxRetryCount = maxRetryCount
        self.base = base
        self.maximumPause = maximumPause
        self.maximumRetryAfter = maximumRetryAfter
        source = Source(random)
    }

    public func decision(for context: RetryContext) async -> RetryDecision {
        let asked = context.retryAfter ?? .zero
        guard context.retriedCount < maxRetryCount, context.isWorthRetrying, asked <= maximumRetryAfter else {
            return .stop
        }
        // A double holds 2ⁿ far beyond any pause.
        let highest = min(
            maximumPause / .seconds(1), base / .seconds(1) * exp2(Double(min(context.retriedCount, 1_000))))
        return .retry(after: asked + .seconds(source.unit() * highest))
    }
}

extension RetryContext {
    var isWorthRetrying: Bool {
        switch error {
        case let error as NetworkError: error.isWorthRetrying
        case is any PermanentFailure: false
        default: !error.isCancellation
        }
    }
}

extension NetworkError {
    /// Whether the same request may succeed at another time. That is so if the connection failed, a timeout passed, or the server
    /// answered that it is temporarily unable (408, 425, 429, 500, 502, 503, 504).
    public var isWorthRetrying: Bool {
        switch self {
        case .truncatedBody, .timedOut, .cannotFindHost, .cannotConnect, .connectionLost, .transport: true
        case .invalidStatusCode(let head): [408, 425, 429, 500, 502, 503, 504].contains(head.status)
        default: false
        }
    }

    /// Whether no server was reached, or the connection to it failed.
    var isConnectionFailure: Bool {
        switch self {
        case .truncatedBody, .timedOut, .cannotFindHost, .cannotConnect, .connectionLost, .transport: true
        default: false
        }
    }
}

extension ResponseHead {
    /// The pause that the server asks for by `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3); `nil` if there is none that is
    /// valid. A date in the past is no pause.
    ///
    /// - Parameter now: the time in seconds since 1970.
    public func retryAfter(now: Int64) -> Duration? {
        guard let text = headers["Retry-After"] else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(min(Int64(text) ?? .max, 2_147_483_648))
        }
        return HTTPDate.seconds(text, now: now).map { .seconds(max($0 - now, 0)) }
    }
}

/// Repeats work as a strategy says.
package struct Attempts: Sendable {
    /// `nil` runs the work once.
    package let strategy: (any RetryStrategy)?
    /// The clock of pauses and of `Retry-After`.
    package let clock: any CacheClock

    /// Creates the attempts of one load.
    package init(strategy: (any RetryStrategy)?, clock: any CacheClock) {
        self.strategy = strategy
        self.clock = clock
    }

    /// Runs work until it succeeds or the strategy stops.
    ///
    /// - Parameters:
    ///   - key: the URL, or the key of a provider.
    ///   - isFailure: whether the strategy decides about an error. It never does about a cancellation.
    /// - Throws: the last error of the work; `CancellationError` if the task is cancelled in a pause.
    package func of<Value>(
        _ key: String, _ work: () async throws -> Value, isFailure: (any Error) -> Bool
    ) async throws -> Value {
        var (retries, info) = (0, nil as (any Sendable)?)
        while true {
            do {
                return try await work()
            } catch {
                guard let strategy, !error.isCancellation, isFailure(error) else { throw error }
                let context = RetryContext(
                    key: key, error: error, retriedCount: retries, userInfo: info, retryAfter: retryAfter(error))
                guard case .retry(let pause, let remembered) = await strategy.decision(for: context) else {
                    throw error
                }
                try await clock.sleep(microseconds: pause.microseconds)
                (retries, info) = (retries + 1, remembered)
            }
        }
    }

    private func retryAfter(_ error: any Error) -> Duration? {
        guard case .invalidStatusCode(let head)? = error as? NetworkError else { return nil }
        return head.retryAfter(now: clock.now / 1_000_000)
    }
}
