import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// What is fetched ahead of need in a replay, by whom, and within which limits.
public struct PrefetchOptions: Sendable, Equatable {
    /// The prefetch policy as it was asked for, with the parameters set by hand.
    public let policy: PolicySpec
    /// The planner's parameters, where the policy is the planner.
    public var planner: PlannerParameters
    /// What the planner starts with; it goes on learning.
    public var pretrained: PretrainedPlanner?
    /// What each cache may fetch ahead.
    public var budget: PrefetchBudget
    /// How long a fetch takes, in microseconds of the trace's time.
    public var fetchLatency: Int64

    package static let plannerName = "planner"

    /// Prefetching as one asks for it; fetches take no time unless said otherwise.
    ///
    /// - Parameter policy: the name of a policy of ``HalcyonModel/PrefetchCatalogue``; the planner may be given parameters:
    ///   `planner(price=0.05)`.
    /// - Throws: ``ReplayError/usage(_:)`` for a policy that does not exist, ``HalcyonEviction/PolicyError`` for a parameter that
    ///   it has not.
    public init(policy text: String, budget: PrefetchBudget, fetchLatency: Int64 = 0) throws {
        let spec = try PolicySpec(parsing: text)
        guard PrefetchCatalogue.entry(named: spec.name) != nil else {
            let names = PrefetchCatalogue.entries.map(\.name).joined(separator: ", ")
            throw ReplayError.usage("There is no prefetch policy '\(spec.name)': give one of \(names), or none.")
        }
        if spec.name == Self.plannerName {
            planner = try PlannerParameters().applying(spec.settings, policy: spec.name)
        } else {
            planner = PlannerParameters()
            _ = try NoParameters().applying(spec.settings, policy: spec.name)
        }
        policy = spec
        self.budget = budget
        self.fetchLatency = max(0, fetchLatency)
    }

    /// Refuses a budget in bytes where objects are counted.
    package func verify(unit: SizeUnit) throws(ReplayError) {
        if unit == .objects && budget.countsBytes {
            throw .usage(
                "The budget \(budget) is in bytes, and objects are counted here: give it in objects, such as 2/request."
            )
        }
    }

    /// Whether the policy is the planner.
    public var isPlanner: Bool { policy.name == Self.plannerName }

    /// Whether the policy needs the keys of the trace.
    public var needsKeys: Bool { policy.name == "next-key" }

    /// An instance that has seen nothing yet.
    func makePolicy(_ context: PrefetchContext) -> any PrefetchPolicy {
        if !isPlanner, let entry = PrefetchCatalogue.entry(named: policy.name) {
            return entry.make(context)
        }
        if let pretrained { return PrefetchPlanner(pretrained, parameters: planner, context: context) }
        return PrefetchPlanner(planner, context: context)
    }
}
