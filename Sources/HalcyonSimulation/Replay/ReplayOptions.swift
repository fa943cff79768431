import Synchronization

/// The options of a replay, except for policy and capacity.
public struct ReplayOptions: Sendable, Equatable {
    /// The requests at the start that only warm the cache and are not counted. None by default.
    public var warmup: Warmup
    /// The seed of all random choices. The default is 1.
    public var seed: UInt64
    /// The number of windows of equal length for the series over time. The default is 10.
    public var windows: Int
    /// Whether hits are also counted by category.
    public var byCategory: Bool
    /// Whether hits are also counted by user.
    public var byUser: Bool
    /// Whether each access and eviction is timed, which slows the replay and does not change its results.
    public var timings: Bool
    /// The prefetching options. Nil by default.
    public var prefetch: PrefetchOptions?
    /// The lists of objects that a server sends to each device, for per-user caches with prefetching and device knowledge. Nil by
    /// default: none.
    public var announcements: AnnouncementOptions?
    /// The restarts of each device's app between visits, for per-user caches with device knowledge. Nil by default:
    /// none.
    public var restart: RestartOptions?

    /// Creates options. By default the whole trace counts, in ten windows, without tables, timings and prefetching.
    public init(
        warmup: Warmup = .none, seed: UInt64 = 1, windows: Int = 10, byCategory: Bool = false, byUser: Bool = false,
        timings: Bool = false, prefetch: PrefetchOptions? = nil, announcements: AnnouncementOptions? = nil,
        restart: RestartOptions? = nil
    ) {
        self.warmup = warmup
        self.seed = seed
        self.windows = windows
        self.byCategory = byCategory
        self.byUser = byUser
        self.timings = timings
        self.prefetch = prefetch
        self.announcements = announcements
        self.restart = restart
    }
}

/// The progress of a replay, readable from other threads while it runs.
public final class ReplayProgress: Sendable {
    private let served = Atomic<Int>(0)
    private let planned: Atomic<Int>

    /// Creates a progress of zero.
    public init(total: Int) { planned = Atomic(total) }

    /// The number of requests to serve in all runs together.
    public var total: Int { planned.load(ordering: .relaxed) }

    /// The number of requests served so far.
    public var completed: Int { served.load(ordering: .relaxed) }

    func advance(by count: Int) { served.add(count, ordering: .relaxed) }

    /// Adds requests of runs that are decided on later.
    package func expect(_ count: Int) { planned.add(count, ordering: .relaxed) }
}

/// An error of a replay, as one sentence that states what would be accepted.
public enum ReplayError: Error, Equatable, CustomStringConvertible {
    /// The options are invalid (exit code 64).
    case usage(String)
    /// The trace lacks required data (exit code 65).
    case data(String)

    /// The sentence.
    public var description: String {
        switch self {
        case .usage(let sentence), .data(let sentence): sentence
        }
    }
}
