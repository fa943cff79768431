import HalcyonModel

/// What is fetched ahead of need in a replay, by whom, and within which limits.
public struct PrefetchOptions: Sendable, Equatable {
    /// The name of a policy of ``HalcyonModel/PrefetchCatalogue``.
    public var policy: String
    /// What each cache may fetch ahead.
    public var budget: PrefetchBudget
    /// How long a fetch takes, in microseconds of the trace's time.
    public var fetchLatency: Int64
    /// Whether the policy looks at categories.
    public var usesCategories: Bool

    /// Prefetching as one asks for it; fetches take no time unless said otherwise.
    ///
    /// - Throws: ``ReplayError/usage(_:)`` for a policy that does not exist.
    public init(
        policy: String, budget: PrefetchBudget, fetchLatency: Int64 = 0, usesCategories: Bool = true
    ) throws(ReplayError) {
        guard PrefetchCatalogue.entry(named: policy) != nil else {
            let names = PrefetchCatalogue.entries.map(\.name).joined(separator: ", ")
            throw .usage("There is no prefetch policy '\(policy)': give one of \(names), or none.")
        }
        self.policy = policy
        self.budget = budget
        self.fetchLatency = max(0, fetchLatency)
        self.usesCategories = usesCategories
    }
}
