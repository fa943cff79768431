import HalcyonEviction
import HalcyonModel

/// The learner in the two forms that are compared, and what stands beside them.
public struct HypothesisLearner: Sendable {
    /// The learner that sees the categories.
    public var withCategories: ConfiguredPolicy
    /// The same learner, but for what it makes of the categories.
    public var withoutCategories: ConfiguredPolicy
    /// The policies beside them; `lru` and one that knows the future give the gap that is closed.
    public var baselines: [ConfiguredPolicy]

    /// The feature groups of the learned policy that are made of categories.
    public static let categoryGroups = ["category", "user", "session"]
    /// The baselines unless others are named.
    public static let standardBaselines = ["lru", "lfu", "kingfisher-memory", "s3-fifo", "gdsf", "belady"]

    /// A learner in two forms.
    public init(
        withCategories: ConfiguredPolicy, withoutCategories: ConfiguredPolicy, baselines: [ConfiguredPolicy]
    ) {
        self.withCategories = withCategories
        self.withoutCategories = withoutCategories
        self.baselines = baselines
    }

    /// The learner that `text` names, such as `learned(horizon=1)`; its other form has the category groups switched
    /// off.
    ///
    /// - Throws: ``HalcyonEviction/PolicyError`` if there is no such policy, or it has no category groups to switch
    ///   off.
    public init(
        _ text: String = "learned", baselines: [String] = HypothesisLearner.standardBaselines,
        catalogue: PolicyCatalogue = .standard
    ) throws(PolicyError) {
        let spec = try PolicySpec(parsing: text)
        var without = spec
        without.settings.removeAll { Self.categoryGroups.contains($0.name) }
        without.settings += Self.categoryGroups.map { PolicySpec.Setting($0, "off") }
        withCategories = try catalogue.policy(spec.description)
        withoutCategories = try catalogue.policy(without.description)
        var policies: [ConfiguredPolicy] = []
        for name in baselines { policies.append(try catalogue.policy(name)) }
        self.baselines = policies
    }
}
