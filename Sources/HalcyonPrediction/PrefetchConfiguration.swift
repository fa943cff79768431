import HalcyonPrefetch

/// The configuration of a ``LivePrefetcher``: its policy, its budget, and the times of its plans.
public struct PrefetchConfiguration: Sendable {
    // MARK: Policy

    /// The parameters of the learned planner; by default, it plans between visits and on lists, too.
    public var planner: PlannerParameters = {
        var parameters = PlannerParameters()
        (parameters.visits, parameters.lists) = (.on, .on)
        return parameters
    }()
    /// The model with which the planner starts, such as `replay train` makes of a log; by default `nil`, an untrained one. A model
    /// that was kept (``keepsModel``) takes precedence.
    public var pretrained: PretrainedPlanner?
    /// Whether the planner's model is kept in the cache's folder and used from the first access of the next start; by default
    /// `true`. It is written when the app goes to the background or is about to end, and when predicting is stopped.
    public var keepsModel = true
    /// Whether the latest 4,096 accesses are kept with the model, from which the next start knows successors and popular objects; by
    /// default `true`. They are in a file of at most 4 MB that stays local and is removed with the cache's disk. If this or
    /// ``keepsModel`` is off, the file of an earlier start is removed.
    public var keepsAccesses = true
    /// Whether the kept accesses have URLs, keys, users and categories in clear; by default `false`.
    ///
    /// By default, they have no URLs, and only keyed hashes of the other names. After a restart, an object is fetched once a
    /// request or an announcement has named it. With clear names, it is fetched at once. A file of the other kind is removed when
    /// predicting starts.
    public var keepsURLs = false
    /// Whether the cache serves one user at a time, as that of a phone does; by default `true`. Then the planner also plans between
    /// visits.
    ///
    /// Set it to `false` for a cache that users share, such as a server's. Then nothing is planned between requests.
    public var servesOneUser = true
    /// The idle time after which a visit has ended; by default 30 minutes. A negative span counts as zero, and one of more than a
    /// century as a century.
    public var idleTime: Duration = .seconds(1_800)
    /// The expected time from a plan until an image is fetched; by default 150 ms, as in a replay. An image that is requested sooner
    /// gains nothing from a prefetch.
    public var fetchLatency: Duration = .milliseconds(150)
    /// Makes another policy that predicts in place of the planner, such as one of the `PrefetchCatalogue`; called once.
    public var policy: (@Sendable (PrefetchContext) -> any PrefetchPolicy)?
    /// The seed of everything random in it.
    public var seed: UInt64 = 1

    // MARK: Budget and times

    /// The budget; by default two images a request, four a list, 20 a visit and 50 MB a day. What the requests of a visit did not use is left for
    /// its end and for other moments between requests. Bytes are those that come over the network. A failed fetch counts as an object
    /// with the bytes that came. The spending is kept in the cache's folder, and the next start continues with what is left.
    public var budget = PrefetchBudget(
        perRequest: .init(objects: 2), perList: .init(objects: 4), perVisit: .init(objects: 20),
        perDay: .init(bytes: 50_000_000))
    /// The additional budget on a metered network; by default one image a request or list and 5 MB a day. Earlier fetches of the same
    /// day count.
    public var meteredBudget = PrefetchBudget(
        perRequest: .init(objects: 1), perList: .init(objects: 1), perDay: .init(bytes: 5_000_000))
    /// The conditions that pause prefetching; by default Low Data Mode and a low battery.
    public var pausing: PrefetchConditions = [.lowDataMode, .lowBattery]
    /// Whether prefetched images are kept in memory, too, and not on disk alone; by default `true`.
    public var toMemory = true
    /// The maximum number of concurrent fetches; by default 2.
    public var maxConcurrent = 2
    /// The pause in accesses after which the policy plans; by default 50 ms. A negative span counts as zero, and one of more
    /// than 30 years as 30 years.
    public var quiet: Duration = .milliseconds(50)
    /// The time after an access by which the policy plans although there was no pause; by default a second. The bounds are
    /// those of ``quiet``.
    public var patience: Duration = .seconds(1)

    /// Whether accesses are kept.
    var remembersAccesses: Bool { keepsModel && keepsAccesses }

    /// The environment of the policy.
    var context: PrefetchContext {
        PrefetchContext(
            seed: seed, fetchLatency: fetchLatency.microseconds, idleTime: idleTime.microseconds,
            cachesPerUser: servesOneUser, servesOneUser: servesOneUser)
    }

    /// Creates a prediction by the learned planner.
    public init() {}

    /// Creates a prediction by another policy.
    public init(policy: @escaping @Sendable (PrefetchContext) -> any PrefetchPolicy) { self.policy = policy }
}

/// The conditions of network and battery that predictive prefetching observes. An app sets them as its platform reports them.
public struct PrefetchConditions: OptionSet, Sendable, Hashable {
    /// The set as bits.
    public let rawValue: UInt8

    /// A set from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Low Data Mode is on.
    public static let lowDataMode = PrefetchConditions(rawValue: 1 << 0)
    /// The battery is low, or in a mode that saves it.
    public static let lowBattery = PrefetchConditions(rawValue: 1 << 1)
    /// The network is paid for by the byte.
    public static let meteredNetwork = PrefetchConditions(rawValue: 1 << 2)
}

/// The counts of a ``LivePrefetcher`` since its start.
public struct PrefetchStatistics: Sendable, Equatable {
    /// The observed accesses.
    public var accesses = 0
    /// The accesses that were left out because they came faster than they were processed.
    public var lostAccesses = 0
    /// The accesses that were left out because too many other images are known: 65,536 without a known source, or 1,048,576 in all.
    public var unknownAccesses = 0
    /// The announcements that were left out because 1,048,576 other images are known, or behind the first 10,000 of a list.
    public var unknownAnnouncements = 0
    /// The removals from the cache that were left out because they came faster than they were processed.
    public var lostRemovals = 0
    /// The counts of lists that were shown.
    public var lists = ListStatistics()
    /// The plans: after accesses, between them and on lists.
    public var plans = 0
    /// The plans at moments between accesses, by the occasion of the moment. Occasions without a plan are absent.
    public var plansByOccasion: [PlanningMoment.Occasion: Int] = [:]
    /// The plans for which nothing was proposed, by the reason. Reasons without a plan are absent.
    public var emptyPlans: [EmptyPlanReason: Int] = [:]
    /// The images that the policy proposed.
    public var proposed = 0
    /// The fetches that were started.
    public var begun = 0
    /// The images that were fetched.
    public var fetched = 0
    /// The prefetched images that were requested and cached.
    public var used = 0
    /// The images that were requested while their fetch was in flight.
    public var usedLate = 0
    /// The fetched images that the cache refused or evicted before their first request.
    public var dropped = 0
    /// The fetches that failed.
    public var failed = 0
    /// The fetches that were cancelled.
    public var cancelled = 0
    /// The bytes that were fetched over the network.
    public var bytes = 0
    /// The fetched bytes of dropped images.
    public var droppedBytes = 0
    /// The decompressed bytes of failed and cancelled fetches. They count for the budget, too.
    public var partialBytes = 0
    /// The faults of the kept files; see ``LivePrefetcher/modelFault``.
    public var modelFaults = 0

    /// Creates counts of 0.
    public init() {}

    /// The share of requested images among those that were requested or dropped; `nil` if there are none yet.
    public var precision: Double? {
        let known = used + usedLate + dropped
        return known == 0 ? nil : Double(used + usedLate) / Double(known)
    }
}

/// The counts of the lists that a ``LivePrefetcher`` received; see `HalcyonManager.show(list:in:options:)`.
public struct ListStatistics: Sendable, Equatable {
    /// The lists that were shown; an appended page is a list.
    public var lists = 0
    /// The lists that were left out because they came faster than they were processed.
    public var lost = 0
    /// The shown images, each as often as it was shown.
    public var shown = 0
    /// The shown images that were left out: those behind the first 1,000 of a list, and those for which too many images are known.
    public var ignored = 0
    /// The shown images that were requested while they were shown, the first time each.
    public var opened = 0
    /// The images that were fetched because a list showed them.
    public var prefetched = 0
    /// Of ``prefetched``, those that were requested.
    public var used = 0
    /// Of ``prefetched``, those that the cache refused or evicted before their first request. The others may still be used.
    public var wasted = 0

    /// Creates counts of 0.
    public init() {}
}

/// The reason why a plan proposed nothing to fetch. If several hold, the first of this list counts.
public enum EmptyPlanReason: String, Sendable, Codable, CaseIterable {
    /// A condition of ``PrefetchConfiguration/pausing`` was set.
    case paused
    /// Nothing was left of the budget.
    case noBudget
    /// The policy has not learned enough yet.
    case learning
    /// There was no pause: accesses went on until ``PrefetchConfiguration/patience`` ran out, or a moment was noticed
    /// only with the user's next access, when it was too late to fetch.
    case neverIdle
    /// No object that can be fetched was likely enough.
    case nothingLikely
}
