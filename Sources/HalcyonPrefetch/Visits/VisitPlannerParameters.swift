import HalcyonEviction

/// The parameters of a ``PrefetchPlanner`` that also plans between visits.
public struct VisitPlannerParameters: PolicyParameters, Equatable {
    /// The hits that a fetch between visits must gain on average. Default: 0.01.
    ///
    /// A higher price fetches less, and more of it is used. From 0.03 on, hits can be lost: what left during a visit is then not
    /// always fetched again.
    public var price = 0.01

    /// Creates the default parameters.
    public init() {}

    /// The name, range and meaning of each parameter.
    public static let table: [Parameter<VisitPlannerParameters>] = [
        .real("price", \.price, in: 0...1, "the hits that a fetch between visits must gain on average")
    ]
}
