import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonSimulation

/// The learner in the two forms that are compared, and what stands beside them.
public struct HypothesisLearner: Sendable {
    /// The learner that sees the categories.
    public var withCategories: ConfiguredPolicy
    /// The same learner, but for what it makes of the categories.
    public var withoutCategories: ConfiguredPolicy
    /// The policies beside them; `lru` and one that knows the future give the gap that is closed.
    public var baselines: [ConfiguredPolicy]
    /// What fetches ahead for both forms, with and without categories as they are; `nil` for nothing. Nothing is fetched
    /// ahead for the baselines.
    public var prefetch: HypothesisPrefetch?

    /// The feature groups of the learned policy that are made of categories.
    public static let categoryGroups = ["category", "user", "session"]
    /// The baselines unless others are named.
    public static let standardBaselines = ["lru", "lfu", "kingfisher-memory", "s3-fifo", "gdsf", "belady"]

    /// A learner in two forms.
    public init(
        withCategories: ConfiguredPolicy, withoutCategories: ConfiguredPolicy, baselines: [ConfiguredPolicy],
        prefetch: HypothesisPrefetch? = nil
    ) {
        self.withCategories = withCategories
        self.withoutCategories = withoutCategories
        self.baselines = baselines
        self.prefetch = prefetch
    }

    /// The learner that `text` names, such as `learned(horizon=1)`; its other form has the category groups switched
    /// off.
    ///
    /// - Parameter prefetch: what fetches ahead for both; the learner without it then stands first among the baselines.
    /// - Throws: ``HalcyonEviction/PolicyError`` if there is no such policy, or it has no category groups to switch
    ///   off.
    public init(
        _ text: String = "learned", baselines: [String] = HypothesisLearner.standardBaselines,
        prefetch: HypothesisPrefetch? = nil, catalogue: PolicyCatalogue = .standard
    ) throws(PolicyError) {
        let spec = try PolicySpec(parsing: text)
        var without = spec
        without.settings.removeAll { Self.categoryGroups.contains($0.name) }
        without.settings += Self.categoryGroups.map { PolicySpec.Setting($0, "off") }
        withCategories = try catalogue.policy(spec.description)
        withoutCategories = try catalogue.policy(without.description)
        var policies = prefetch == nil ? [] : [withCategories]
        for name in baselines { policies.append(try catalogue.policy(name)) }
        self.baselines = policies
        self.prefetch = prefetch
    }
}

/// The prefetch planner in the two forms that are compared.
public struct HypothesisPrefetch: Sendable {
    /// The planner that sees the categories.
    public let withCategories: PrefetchOptions
    /// The same planner, but for what it makes of the categories.
    public let withoutCategories: PrefetchOptions

    /// The planner in two forms.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError/usage(_:)`` for a policy that has no form without categories, and for a planner that starts with
    ///   what it learnt elsewhere: it would know of the categories what no control knows.
    public init(_ options: PrefetchOptions) throws(ReplayError) {
        guard options.policy.name == PrefetchOptions.plannerName else {
            throw .usage(
                "'\(options.policy.name)' has no form without categories to compare with: give --prefetch "
                    + "\(PrefetchOptions.plannerName).")
        }
        guard options.planner.categories == .on else {
            throw .usage("The planner must use categories in this test: leave out categories=off.")
        }
        guard options.pretrained == nil else {
            throw .usage("The planner must start untrained in this test: leave out --prefetch-model.")
        }
        withCategories = options
        var without = options
        without.planner.categories = .off
        withoutCategories = without
    }
}
