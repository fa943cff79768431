import Synchronization

/// How a trace is replayed, beside policy and capacity.
public struct ReplayOptions: Sendable, Equatable {
    /// The share of the requests, 0…1, that is served first and left out of every count.
    public var warmup: Double
    /// The seed of everything random.
    public var seed: UInt64
    /// Into how many stretches of equal length the counted requests are divided for the series over time.
    public var windows: Int
    /// Whether hits are also counted by category.
    public var byCategory: Bool
    /// Whether hits are also counted by user.
    public var byUser: Bool
    /// Whether each access and eviction is timed, which slows the replay and changes nothing else.
    public var timings: Bool
    /// What is fetched ahead of need; nothing unless it is set.
    public var prefetch: PrefetchOptions?

    /// By default the whole trace counts, in ten windows, without tables by category and user, and nothing is timed.
    public init(
        warmup: Double = 0, seed: UInt64 = 1, windows: Int = 10, byCategory: Bool = false, byUser: Bool = false,
        timings: Bool = false, prefetch: PrefetchOptions? = nil
    ) {
        self.warmup = warmup
        self.seed = seed
        self.windows = windows
        self.byCategory = byCategory
        self.byUser = byUser
        self.timings = timings
        self.prefetch = prefetch
    }

    /// The number of requests, of `count`, that are left out of the counts.
    public func warmupRequests(of count: Int) -> Int {
        min(count, max(0, Int((warmup * Double(count)).rounded(.down))))
    }
}

/// How far a replay has come, for whoever wants to look while it runs.
public final class ReplayProgress: Sendable {
    private let served = Atomic<Int>(0)
    /// The requests to serve in all runs together.
    public let total: Int

    /// Nothing served yet.
    public init(total: Int) { self.total = total }

    /// The requests served so far.
    public var completed: Int { served.load(ordering: .relaxed) }

    func advance(by count: Int) { served.add(count, ordering: .relaxed) }
}

/// What is wrong with a replay that was asked for: one sentence that says what would be accepted.
public enum ReplayError: Error, Equatable, CustomStringConvertible {
    /// The question cannot be asked like this (exit code 64).
    case usage(String)
    /// The trace does not hold what the question needs (exit code 65).
    case data(String)

    /// The sentence.
    public var description: String {
        switch self {
        case .usage(let sentence), .data(let sentence): sentence
        }
    }
}
