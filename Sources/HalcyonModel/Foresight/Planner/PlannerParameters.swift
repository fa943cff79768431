/// The settable values of ``PrefetchPlanner``.
public struct PlannerParameters: Sendable, Equatable {
    /// The label: asked for by the user within so many of the user's requests.
    public var horizon = 30
    /// What fetching an object of mean size costs where there is room for it, as a share of what a hit is worth.
    public var price = 0.03
    /// The same where an entry must leave, beside what that entry is worth.
    public var priceWhenFull = 0.08
    /// Hidden units of the network.
    public var hidden = 16
    /// The share of the candidates that become samples to learn from.
    public var sampling = 0.1
    /// Step size of the optimizer.
    public var rate = 0.001
    /// Whether categories are looked at.
    public var usesCategories = true

    /// The defaults.
    public init() {}
}
