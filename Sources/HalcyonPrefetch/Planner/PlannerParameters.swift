import HalcyonEviction
import HalcyonLearning

/// The settable values of ``PrefetchPlanner``.
public struct PlannerParameters: PolicyParameters, Equatable {
    /// On or off.
    public enum Switch: String, CaseIterable, Sendable {
        case on, off
    }

    static let maxHorizon = 1_000
    static let maxHidden = 64

    /// The label: asked for by the user within so many of the user's requests.
    public var horizon = 11
    /// The least and the most that fetching an object of mean size costs, as a share of what a hit is worth, beside what an
    /// entry is worth that must leave for it; between, it follows what the best candidates promise, and is less where little of
    /// what is fetched is wasted (``PrefetchThreshold``).
    public var price = 0.006
    public var mostPrice = 0.036
    /// Hidden units of the network.
    public var hidden = 16
    /// How many candidates that nobody asks for are learnt from for each that somebody is expected to ask for; at least two
    /// in a hundred of them.
    public var controls = 3.0
    /// The most samples a request, on average.
    public var sampling = 1.5
    /// Step size of the optimizer.
    public var rate = 0.003
    /// Whether categories are looked at.
    public var categories = Switch.on
    /// The matrix routines of the network.
    public var kernels = Kernels.portable
    /// The instruction set of the portable kernels, which no text can give; `nil` for the one in force.
    var kernelLevel: String?

    var blas: BLAS { BLAS(kernels, level: kernelLevel) }

    /// The defaults.
    public init() {}

    /// The name, range and meaning of each value.
    public static let table: [Parameter<PlannerParameters>] = [
        .integer("horizon", \.horizon, in: 1...maxHorizon, "the label: asked for within so many requests of the user"),
        .real("price", \.price, in: 0...1, "the least that a fetch costs, as a share of a hit's worth"),
        .real("most-price", \.mostPrice, in: 0...1, "the most that it costs; between, what the best promise"),
        .integer("hidden", \.hidden, in: 1...maxHidden, "hidden units of the network"),
        .real(
            "controls", \.controls, in: 0...1_000,
            "candidates that nobody asks for which it learns from, for each that somebody is expected to"),
        .real("sampling", \.sampling, in: 0.01...100, "the most samples a request that it learns from"),
        .real("rate", \.rate, in: 0.00001...0.1, "step size of the optimizer"),
        .choice("categories", \.categories, "whether categories are looked at"),
        .choice(
            "kernels", \.kernels,
            "matrix routines: portable gives the same bits on every processor, system is the machine's BLAS"),
    ]
}
