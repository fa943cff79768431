import HalcyonPrefetch

/// The configuration of a ``PredictivePrefetcher``: its policy, its budget, and the times of its plans.
public struct PrefetchPrediction: Sendable {
    // MARK: Policy

    /// The parameters of the learned planner.
    public var planner = PlannerParameters()
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
    /// Makes another policy that predicts in place of the planner, such as one of the `PrefetchCatalogue`; called once.
    public var policy: (@Sendable (PrefetchContext) -> any PrefetchPolicy)?
    /// The seed of everything random in it.
    public var seed: UInt64 = 1

    // MARK: Budget and times

    /// The budget; by default two images a request and 50 MB a day. Bytes are those that come over the network. A failed fetch
    /// counts as an object with the bytes that came. The spending is kept in the cache's folder, and the next start continues with
    /// what is left.
    public var budget = PrefetchBudget(perRequest: .init(objects: 2), perDay: .init(bytes: 50_000_000))
    /// The additional budget on a metered network; by default one image a request and 5 MB a day. Earlier fetches of the same day
    /// count.
    public var meteredBudget = PrefetchBudget(perRequest: .init(objects: 1), perDay: .init(bytes: 5_000_000))
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

    /// Creates a prediction by the learned planner.
    public init() {}

    /// Creates a prediction by another policy.
    public init(policy: @escaping @Sendable (PrefetchContext) -> any PrefetchPolicy) { self.policy = policy }
}
