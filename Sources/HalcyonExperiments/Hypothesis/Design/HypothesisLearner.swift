import HalcyonBoosting
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonTrace

/// The learner with and without categories, and the baselines.
package struct HypothesisLearner: Sendable {
    /// The learner that uses the categories.
    package var withCategories: ConfiguredPolicy
    /// The learner that is run without labels: on a trace with one category for all objects. For the learned policy, it
    /// is the same policy. Its features of a user's activity and reuse do not depend on labels, and are the same then.
    package var withoutCategories: ConfiguredPolicy
    /// The baselines. `lru` and an offline policy define the gap.
    package var baselines: [ConfiguredPolicy]
    /// The prefetch policy of the learner, with and without categories. Nil by default. Baselines run without
    /// prefetching.
    package var prefetch: HypothesisPrefetch?
    /// What the models of devices are trained on, with the labels of each arm, for per-user caches with device knowledge. Nil by
    /// default: no such models.
    package var pretraining: Pretraining?
    /// The other traces of ``pretraining``, by their names.
    package var others: [String: Trace] = [:]

    /// The feature groups of the learned policy that depend on categories.
    package static let categoryGroups = ["category", "user"]
    /// The default baselines.
    package static let standardBaselines = [
        "lru", "lfu", "kingfisher-disk", "s3-fifo", "gdsf", "belady", "belady(bypass=on)",
    ]

    /// Returns the index of the baseline that is the upper end of the gap: an offline policy. For a learner that may
    /// refuse objects, in a small cache, it is one that may refuse them, too, if there is one.
    func optimum(inSmallCache isSmall: Bool) -> Int? {
        let offline = baselines.indices.filter { baselines[$0].info.traits.contains(.needsFuture) }
        let mayRefuse = isSmall && withCategories.info.traits.contains(.hasAdmission)
        return offline.first { index in
            baselines[index].parameters.contains { $0.name == "bypass" && $0.value == "on" } == mayRefuse
        } ?? offline.first
    }

    /// Creates a learner from its two forms.
    package init(
        withCategories: ConfiguredPolicy, withoutCategories: ConfiguredPolicy, baselines: [ConfiguredPolicy],
        prefetch: HypothesisPrefetch? = nil
    ) {
        self.withCategories = withCategories
        self.withoutCategories = withoutCategories
        self.baselines = baselines
        self.prefetch = prefetch
    }

    /// Creates the learner that `text` names, such as `learned(horizon=1)`.
    ///
    /// - Parameter prefetch: the prefetch policy of both forms. The learner without prefetching is then the first
    ///   baseline, and may be any policy: `lru` tests prefetching alone.
    /// - Throws: `PolicyError` if there is no such policy, or it has no category feature groups and there is no prefetching.
    package init(
        _ text: String = "learned", baselines: [String] = HypothesisLearner.standardBaselines,
        prefetch: HypothesisPrefetch? = nil, catalogue: PolicyCatalogue = .laboratory
    ) throws(PolicyError) {
        let spec = try PolicySpec(parsing: text)
        withCategories = try catalogue.policy(spec.description)
        withoutCategories = withCategories
        // A policy without these groups is refused in the words of the catalogue.
        let groups = Set(Self.categoryGroups)
        if prefetch == nil, !groups.isSubset(of: withCategories.parameters.map(\.name)) {
            var spec = spec
            spec.settings = Self.categoryGroups.map { PolicySpec.Setting($0, "on") }
            _ = try catalogue.policy(spec.description)
        }
        var policies = prefetch == nil ? [] : [withCategories]
        for name in baselines where prefetch == nil || name != withCategories.label {
            policies.append(try catalogue.policy(name))
        }
        self.baselines = policies
        self.prefetch = prefetch
    }
}

/// The prefetch planner with and without categories.
package struct HypothesisPrefetch: Sendable {
    /// The planner that uses the categories.
    package let withCategories: PrefetchOptions
    /// The same planner without category features.
    package let withoutCategories: PrefetchOptions
    /// The announcements to the devices of per-user caches with device knowledge. Nil by default: none.
    package var announcements: AnnouncementOptions?

    /// Creates the two forms of the planner.
    ///
    /// - Throws: `ReplayError.usage(_:)` for a policy without a form that ignores categories, and
    ///   for a pretrained planner: its model may depend on categories that the controls lack.
    package init(_ options: PrefetchOptions) throws(ReplayError) {
        guard options.isPlanner else {
            throw .usage(
                "'\(options.policy.name)' has no form without categories to compare with: give --prefetch "
                    + "\(PrefetchOptions.plannerName) or \(PrefetchOptions.listsName).")
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
