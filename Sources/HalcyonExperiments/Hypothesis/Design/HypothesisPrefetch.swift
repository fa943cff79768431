import HalcyonPrefetch
import HalcyonSimulation

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
            throw .usage("A planner blind to categories gains nothing from them: leave out categories=off.")
        }
        guard options.pretrained == nil else {
            throw .usage("Every form of the planner begins with nothing here: leave out --prefetch-model.")
        }
        withCategories = options
        var without = options
        without.planner.categories = .off
        withoutCategories = without
    }
}
