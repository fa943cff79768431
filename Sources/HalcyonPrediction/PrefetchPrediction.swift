import HalcyonPrefetch

/// How a ``PredictivePrefetcher`` works: who predicts, how much may be fetched, and when.
public struct PrefetchPrediction: Sendable {
    // MARK: Who predicts

    /// The settings of the learned planner.
    public var planner = PlannerParameters()
    /// What the planner starts with, such as `replay train` makes of a log; `nil`: it learns from nothing. What it has learnt on
    /// this device since comes first.
    public var pretrained: PretrainedPlanner?
    /// Whether what the planner has learnt is kept beside the cache's files and serves from the first access when it is started
    /// again. It is written when the app goes to the background or is about to end, and when predicting is stopped.
    public var keepsModel = true
    /// Whether the latest 4,096 accesses are kept with it, so that what was asked for before a new start is known after it: what
    /// comes after what, what is popular, and where it comes from. They name keys, URLs, users and categories, in a file of at most
    /// 4 MB that stays on the device and goes when the cache's disk is cleared. Where this or ``keepsModel`` is off, a file of an
    /// earlier start is removed.
    public var keepsAccesses = true
    /// Makes another policy that predicts in place of the planner, such as one of the `PrefetchCatalogue`; called once.
    public var policy: (@Sendable (PrefetchContext) -> any PrefetchPolicy)?
    /// The seed of everything random in it.
    public var seed: UInt64 = 1

    // MARK: How much, and when

    /// How much may be fetched: by default two images a request and 50 MB a day. Bytes are those that come over the network; a
    /// fetch that brings no image counts as an object, with the bytes that came all the same. What was spent is kept beside the cache's files: a new start, of
    /// predicting or of the app, goes on with what is left of the minute, of the day and in total.
    public var budget = PrefetchBudget(perRequest: .init(objects: 2), perDay: .init(bytes: 50_000_000))
    /// How much may be fetched where the network is metered; by default one image a request and 5 MB a day. ``budget`` holds
    /// there, too, and what was fetched before on the same day counts.
    public var meteredBudget = PrefetchBudget(perRequest: .init(objects: 1), perDay: .init(bytes: 5_000_000))
    /// Nothing is fetched while any of these holds.
    public var pausing: PrefetchConditions = [.lowDataMode, .lowBattery]
    /// Whether what is fetched waits in memory, too, and not on disk alone.
    public var toMemory = true
    /// How many are fetched at a time.
    public var maxConcurrent = 2
    /// The pause in accesses after which the policy plans; by default 50 ms. A negative span counts as zero, and one of more
    /// than 30 years as 30 years.
    public var quiet: Duration = .milliseconds(50)
    /// The time after an access by which the policy plans although there was no pause; by default a second. The bounds are
    /// those of ``quiet``.
    public var patience: Duration = .seconds(1)

    /// Whether accesses are kept.
    var remembersAccesses: Bool { keepsModel && keepsAccesses }

    /// A prediction by the learned planner.
    public init() {}

    /// A prediction by a policy of one's own.
    public init(policy: @escaping @Sendable (PrefetchContext) -> any PrefetchPolicy) { self.policy = policy }
}
