import HalcyonEviction
import HalcyonLearning

/// The parameters of ``PrefetchPlanner``.
public struct PlannerParameters: PolicyParameters, Equatable {
    /// On or off.
    public enum Switch: String, CaseIterable, Sendable {
        case on, off
    }

    /// Whose openings by category are known on lists.
    public enum Profile: String, CaseIterable, Sendable {
        /// Those of the user.
        case personal
        /// Those of all users: of those that the planner serves, or of those that a server announced.
        case pooled
        /// Both.
        case both
    }

    /// What a planner on lists begins with.
    public enum Model: String, CaseIterable, Sendable {
        /// The model that the package ships where it serves one user, and nothing elsewhere.
        case auto
        /// Nothing.
        case none
    }

    static let maxLabelWindow = 1_000
    static let maxHidden = 64

    /// The label window, in requests of the user: a candidate is a positive sample if the user requests it within so
    /// many. Default: 11.
    public var labelWindow = 11
    /// The hits that a fetch after a request must gain on average, of an object of mean size; a larger one must gain more in proportion.
    /// Default: 0.03.
    ///
    /// A fetch of lower probability is not made. If an entry must be evicted, the eviction cost is added.
    public var price = 0.03
    /// The hidden units of the network. Default: 16.
    public var hidden = 16
    /// The number of negative samples for each expected positive one; at least 2 % of the negative candidates are
    /// samples. Default: 3.
    public var controls = 3.0
    /// The maximum mean number of samples a request. Default: 1.5.
    public var sampling = 1.5
    /// The step size of the optimizer. Default: 0.003.
    public var rate = 0.003
    /// Whether categories are used. Default: on.
    public var categories = Switch.on
    /// Whether it plans after requests. Default: on.
    public var requests = Switch.on
    /// Whether it plans between visits, too, in caches of one user each. Default: off.
    public var visits = Switch.off
    /// The hits that a fetch between visits must gain on average. Default: 0.01.
    ///
    /// A higher price fetches less, and more of it is used. From 0.03 on, hits can be lost: what left during a visit is then not
    /// always fetched again.
    public var visitPrice = 0.01
    /// Whether it plans on lists that are shown, too. Default: off.
    public var lists = Switch.off
    /// The hits that a fetch from a list must gain on average. Default: 0, so that the budget alone decides how many are fetched, and the
    /// eviction cost in a full cache.
    public var listPrice = 0.0
    /// Whose openings by category are known on lists. Default: both.
    public var profile = Profile.both
    /// What it begins with on lists, unless it is given what another has learned. Default: auto.
    public var model = Model.auto
    /// The matrix routines of the network. Default: portable.
    public var kernels = Kernels.portable
    /// The instruction set of the portable kernels, which no text can set; `nil` for the one in force.
    var kernelLevel: String?

    var blas: BLAS { BLAS(kernels, level: kernelLevel) }

    /// The names of the parameters that decide plans: without those of moments at which nothing is planned.
    package var decisive: [String] {
        var idle: [String] = []
        if lists == .off { idle += ["lists", "list-price", "profile"] }
        // The standard is not stated, so that results of planners that are given a model keep their identity.
        if lists == .off || model == .auto { idle.append("model") }
        if requests == .on {
            idle.append("requests")
        } else {
            idle += ["horizon", "price", "hidden", "controls", "sampling", "rate", "kernels"]
            if visits == .off { idle += ["visits", "visit-price"] }
        }
        return Self.table.map(\.name).filter { !idle.contains($0) }
    }

    /// Creates the default parameters.
    public init() {}

    /// The parameters of a planner that plans on lists alone.
    public static let listsOnly: PlannerParameters = {
        var parameters = PlannerParameters()
        (parameters.requests, parameters.lists) = (.off, .on)
        return parameters
    }()

    /// The name, range and meaning of each parameter.
    public static let table: [Parameter<PlannerParameters>] = [
        .integer("horizon", \.labelWindow, in: 1...maxLabelWindow, "the label window, in requests of the user"),
        .real("price", \.price, in: 0...1, "the hits that a fetch after a request must gain on average"),
        .integer("hidden", \.hidden, in: 1...maxHidden, "the hidden units of the network"),
        .real(
            "controls", \.controls, in: 0...1_000,
            "the number of negative samples for each expected positive one"),
        .real("sampling", \.sampling, in: 0.01...100, "the maximum mean number of samples a request"),
        .real("rate", \.rate, in: 0.00001...0.1, "the step size of the optimizer"),
        .choice("categories", \.categories, "whether categories are used"),
        .choice("visits", \.visits, "whether it plans between visits, too, in caches of one user each"),
        .real("visit-price", \.visitPrice, in: 0...1, "the hits that a fetch between visits must gain on average"),
        .choice("requests", \.requests, "whether it plans after requests"),
        .choice("lists", \.lists, "whether it plans on lists that are shown, too"),
        .real("list-price", \.listPrice, in: 0...1, "the hits that a fetch from a list must gain on average"),
        .choice("profile", \.profile, "whose openings by category are known on lists"),
        .choice("model", \.model, "what it begins with on lists: auto, the shipped model for one user; or none"),
        .choice(
            "kernels", \.kernels,
            "the matrix routines: portable gives the same bits on every processor, system is the machine's BLAS"),
    ]
}
