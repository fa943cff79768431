import HalcyonEviction

/// The settable values of ``LearnedPolicy``.
public struct LearnedParameters: PolicyParameters {
    enum Decider: String, CaseIterable, Sendable {
        case expertSelection = "contest"
        case network, heuristic
    }

    enum Start: String, CaseIterable, Sendable {
        case none, frozen, continuing
    }

    enum Switch: String, CaseIterable, Sendable {
        case on, off
    }

    var objective = Objective.objects
    var perMiss = 1.0
    var perByte = 0.0
    var baseWindow = 0.2
    var hidden = 32
    var candidates = 64
    var evictions = 4
    var sampling = 2.5
    var rate = 0.005
    var history = 1.5
    var decider = Decider.expertSelection
    var recency = Switch.on
    var frequency = Switch.on
    var size = Switch.on
    var popularity = Switch.on
    var category = Switch.on
    var user = Switch.on
    var session = Switch.on
    var time = Switch.on
    var activity = Switch.on
    var fleet = Switch.off
    var kernels = Kernels.portable

    /// Whether it starts with ``pretrained``.
    var model = Start.none
    /// A trained model, which no text can give.
    var pretrained: PretrainedModel?
    /// The instruction set of the portable kernels, which no text can give; `nil` for the one in force.
    var kernelLevel: String?

    /// The defaults.
    public init() {}

    /// The name, range and meaning of each value.
    public static let table: [Parameter<LearnedParameters>] = [
        .choice("objective", \.objective, "what to save: requests, bytes, or what misses cost"),
        .real("per-miss", \.perMiss, in: 0...1_000_000_000, "with objective=cost: what every miss costs"),
        .real(
            "per-byte", \.perByte, in: 0...1_000_000_000,
            "with objective=cost: what each byte of a missed object costs besides"),
        .real(
            "horizon", \.baseWindow, in: LabelWindow.range,
            "the label: asked for again within so many turnovers of the cache (capacity over miss ratio), or up to 16 times as many while next to nothing is"
        ),
        .integer("hidden", \.hidden, in: 4...256, "hidden units of the network"),
        .integer("candidates", \.candidates, in: 8...128, "residents scored together"),
        .integer(
            "evictions", \.evictions, in: 1...32, "evictions served from one scoring, half as many where costs differ"),
        .real("sampling", \.sampling, in: 0...4, "samples a request before the network has settled"),
        .real("rate", \.rate, in: 0.00001...0.1, "step size of the optimizer"),
        .real("history", \.history, in: 0...64, "objects remembered after they left, for each resident"),
        .choice("decider", \.decider, "who decides once the network is ready: whoever is better, or one of them"),
        .choice("model", \.model, "the trained model that it starts with: not used, left as it is, or learnt on"),
        .choice("recency", \.recency, "feature group: age and gaps"),
        .choice("frequency", \.frequency, "feature group: counts at several time scales"),
        .choice("size", \.size, "feature group: cost"),
        .choice("popularity", \.popularity, "feature group: over how many users"),
        .choice("category", \.category, "feature group: the categories over all users"),
        .choice("user", \.user, "feature group: the user's history with the categories"),
        .choice("session", \.session, "feature group: the categories in use now"),
        .choice("time", \.time, "feature group: wall time, time of day and of the week"),
        .choice("activity", \.activity, "feature group: how much the user does"),
        .choice(
            "fleet", \.fleet, "feature group: how often the users of all caches that share the model ask for the object"
        ),
        .choice(
            "kernels", \.kernels,
            "matrix routines: portable gives the same bits on every processor, system is the machine's BLAS"),
    ]

    /// Whether a network is trained at all.
    public var learns: Bool { decider != .heuristic }

    /// The matrix routines of its network.
    var blas: BLAS { BLAS(kernels, level: kernelLevel) }

    /// What a miss costs under the objective.
    var missCost: MissCost {
        switch objective {
        case .objects: MissCost(perMiss: 1, perByte: 0)
        case .bytes: MissCost(perMiss: 0, perByte: 1)
        case .cost: MissCost(perMiss: perMiss, perByte: perByte)
        }
    }

    /// The switch of each group of features.
    private static let switches:
        [(group: FeatureGroups, state: WritableKeyPath<LearnedParameters, Switch> & Sendable)] = [
            (.recency, \.recency), (.frequency, \.frequency), (.size, \.size), (.popularity, \.popularity),
            (.category, \.category), (.user, \.user), (.session, \.session), (.time, \.time), (.activity, \.activity),
            (.fleet, \.fleet),
        ]

    /// The groups of features that are switched on.
    var groups: FeatureGroups {
        get { FeatureGroups(Self.switches.filter { self[keyPath: $0.state] == .on }.map(\.group)) }
        set { for (group, state) in Self.switches { self[keyPath: state] = newValue.contains(group) ? .on : .off } }
    }
}
