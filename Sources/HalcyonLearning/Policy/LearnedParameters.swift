import HalcyonEviction

/// The parameters of ``LearnedPolicy``.
public struct LearnedParameters: PolicyParameters {
    /// What decides once the network is ready: the network unless another policy is ahead, always the network, or never.
    enum Decider: String, CaseIterable, Sendable {
        case contest, network, heuristic
    }

    /// The use of a trained model.
    enum Start: String, CaseIterable, Sendable {
        case auto, none, frozen, continuing, shipped
    }

    enum Switch: String, CaseIterable, Sendable {
        case on, off
    }

    /// The use of what lists showed.
    enum Showings: String, CaseIterable, Sendable {
        case auto, on, off
    }

    var objective = Objective.objects
    var perMiss = 1.0
    var perByte = 0.0
    var baseWindow = 0.2
    var hidden = 16
    var candidates = 64
    var evictions = 4
    var sampling = 2.5
    var rate = 0.005
    var history = 1.5
    var decider = Decider.contest
    var shadows = Switch.on
    var recency = Switch.on
    var frequency = Switch.on
    var size = Switch.on
    var category = Switch.on
    var user = Switch.on
    var time = Switch.on
    var activity = Switch.on
    var workload = Switch.off
    var shown = Showings.auto
    var kernels = Kernels.portable

    /// The model with which the policy starts.
    var model = Start.auto
    /// A trained model. It has no text form.
    var pretrained: PretrainedModel?
    /// The instruction set of the portable kernels; `nil` for the one in force. It has no text form.
    var kernelLevel: String?

    /// The defaults.
    public init() {}

    /// The name, range and meaning of each parameter.
    public static let table: [Parameter<LearnedParameters>] = [
        .choice("objective", \.objective, "the objective: to save requests, bytes, or the cost of misses"),
        .real("per-miss", \.perMiss, in: 0...1_000_000_000, "with objective=cost: the price of a miss"),
        .real(
            "per-byte", \.perByte, in: 0...1_000_000_000,
            "with objective=cost: the additional price of each byte of a missed object"
        ),
        .real(
            "horizon", \.baseWindow, in: LabelWindow.range,
            "base label window, in cache turnovers (capacity over miss ratio); multiplied by up to 16 if almost no object returns within it"
        ),
        .integer("hidden", \.hidden, in: 4...256, "hidden units of the network"),
        .integer("candidates", \.candidates, in: 8...128, "residents scored together"),
        .integer(
            "evictions", \.evictions, in: 1...32, "evictions served by one scoring, half as many with variable sizes"),
        .real("sampling", \.sampling, in: 0...4, "samples per request before the network has settled"),
        .real("rate", \.rate, in: 0.00001...0.1, "step size of the optimizer"),
        .real("history", \.history, in: 0...64, "objects remembered after their eviction, per resident"),
        .choice(
            "decider", \.decider,
            "what decides once the network is ready: the network unless another policy is ahead, always the network, or gdsf"
        ),
        .choice(
            "shadows", \.shadows,
            "with decider=contest: follow another policy while its simulation saves more (uniform sizes: s3-fifo, w-tinylfu or lirs; variable sizes: lru, where it began with a trained model); not in caches that share a model, nor with uniform sizes in caches that prefetch"
        ),
        .choice(
            "model", \.model,
            "trained model: none, one that is given (frozen, or continuing to learn), or shipped: the package's own, which continues to learn; auto is shipped in a cache of one user, unless its network is given other features, units, horizon or kernels, and otherwise none"
        ),
        .choice("recency", \.recency, "feature group: age and gaps"),
        .choice("frequency", \.frequency, "feature group: counts at several time scales"),
        .choice("size", \.size, "feature group: size"),
        .choice("category", \.category, "feature group: use of the categories by all users"),
        .choice("user", \.user, "feature group: use of the categories by the user"),
        .choice("time", \.time, "feature group: wall time, time of day and of the week"),
        .choice("activity", \.activity, "feature group: activity of the user"),
        .choice(
            "workload", \.workload,
            "feature group: how the cache is used, for a model that other caches trained (with shares of hits and returns)"
        ),
        .choice(
            "shown", \.shown,
            "feature group: when and how often lists showed the object; auto is on where the cache receives lists and starts with no trained model, unless workload is on"
        ),
        .choice(
            "kernels", \.kernels,
            "matrix routines: portable has the same results on every processor, system is the machine's BLAS"),
    ]

    /// Whether a network is trained: not without any feature, which leaves it nothing to decide by.
    public var learns: Bool { decider != .heuristic && !groups.isEmpty }

    /// The matrix routines of the network.
    var blas: BLAS { BLAS(kernels, level: kernelLevel) }

    /// The cost of a miss under the objective.
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
            (.recency, \.recency), (.frequency, \.frequency), (.size, \.size),
            (.category, \.category), (.user, \.user), (.time, \.time), (.activity, \.activity), (.workload, \.workload),
        ]

    private static let groupNames = Set(FeatureGroups.named.map(\.name))

    /// The groups of features that are switched on.
    var groups: FeatureGroups {
        get {
            let groups = FeatureGroups(Self.switches.filter { self[keyPath: $0.state] == .on }.map(\.group))
            return shown == .on ? groups.union(.shown) : groups
        }
        set {
            for (group, state) in Self.switches { self[keyPath: state] = newValue.contains(group) ? .on : .off }
            shown = newValue.contains(.shown) ? .on : .off
        }
    }

    // MARK: A trained model

    /// Creates the parameters for a trained model: those that it was trained with, and otherwise the defaults.
    init(serving pretrained: PretrainedModel, mode: PretrainedModel.Mode) {
        self.init()
        self.pretrained = pretrained
        model = mode == .frozen ? .frozen : .continuing
        objective = pretrained.objective
        perMiss = pretrained.perMiss
        perByte = pretrained.perByte
        baseWindow = pretrained.baseWindow
        hidden = pretrained.hidden
        groups = pretrained.groups
    }

    /// Starts with a model that a cache with these parameters trained further. With `auto`, the network is that of the model, unless
    /// another was given.
    mutating func start(with pretrained: PretrainedModel) {
        if model == .auto, !hasOwnNetwork {
            (hidden, baseWindow, groups) = (pretrained.hidden, pretrained.baseWindow, pretrained.groups)
        }
        (self.pretrained, model) = (pretrained, .continuing)
    }

    /// The trained model that the policy starts with, if any.
    var start: PretrainedModel? {
        switch model {
        case .auto, .none: nil
        case .frozen, .continuing: pretrained
        case .shipped: PretrainedModel.shipped
        }
    }

    /// Whether a parameter of the network was given.
    private var hasOwnNetwork: Bool {
        let defaults = LearnedParameters()
        return hidden != defaults.hidden || baseWindow != defaults.baseWindow || groups != defaults.groups
            || kernels != defaults.kernels || !learns
    }

    /// Starts with no trained model where none was named.
    package mutating func startWithNothing() { if model == .auto { model = .none } }

    /// Returns these parameters with a model and features for the cache of the context in place of `auto`.
    ///
    /// A cache of one user starts with the shipped model, unless a parameter of that model's network has been given.
    package func resolved(for context: PolicyContext) -> LearnedParameters {
        var resolved = self
        if model == .auto {
            resolved.model = context.servesOneUser && !hasOwnNetwork ? .shipped : .none
            resolved.giveWay(to: [])
        }
        if resolved.shown == .auto {
            let learnsOfLists = context.showsLists && resolved.model == .none && workload == .off
            resolved.shown = learnsOfLists ? .on : .off
        }
        return resolved
    }

    /// Resets the prices of a trained model if another objective is given, which has prices of its own. The shipped model has
    /// its own network and features.
    public mutating func giveWay(to given: Set<String>) {
        if model == .shipped {
            let shipped = PretrainedModel.shipped
            if !given.contains("hidden") { hidden = shipped.hidden }
            if !given.contains("horizon") { baseWindow = shipped.baseWindow }
            if given.isDisjoint(with: Self.groupNames) { groups = shipped.groups }
        }
        guard given.contains("objective"), objective != .cost else { return }
        let defaults = LearnedParameters()
        if !given.contains("per-miss") { perMiss = defaults.perMiss }
        if !given.contains("per-byte") { perByte = defaults.perByte }
    }

    /// The conflict between parameters, in one sentence: prices need `objective=cost`, and the weights of a model fit only the
    /// network, the features and the kernels that they were trained with.
    public var conflict: String? {
        if objective != .cost, perMiss != 1 || perByte != 0 {
            return
                "learned(objective=\(objective.rawValue)) has its own prices: per-miss and per-byte need objective=cost."
        }
        if perMiss == 0, perByte == 0 {
            return "With per-miss=0 and per-byte=0 a miss costs nothing: one of them must be more than 0."
        }
        if shown == .on, workload == .on {
            return "shown=on and workload=on take the same inputs of the network: leave out one of them."
        }
        guard model != .none, model != .auto else { return nil }
        guard let pretrained = start else {
            return "learned(model=\(model.rawValue)) needs a trained model: name its file."
        }
        if model == .frozen, pretrained.trainingSteps < OnlineTrainer.fewestSteps {
            return "The model has \(pretrained.trainingSteps) training steps, and a frozen model needs "
                + "\(OnlineTrainer.fewestSteps) to decide: train it further (continuing)."
        }
        if kernels != pretrained.kernels {
            return "The model was trained with kernels=\(pretrained.kernels.rawValue), and learned computes with "
                + "kernels=\(kernels.rawValue): set learned(kernels=\(pretrained.kernels.rawValue)), or train the model again."
        }
        if hidden != pretrained.hidden {
            return "The model has \(pretrained.hidden) hidden units, not \(hidden): leave out hidden=\(hidden)."
        }
        if groups != pretrained.groups {
            return "The model was trained with the feature groups \(pretrained.groups.names.joined(separator: ", ")), "
                + "not with \(groups.names.joined(separator: ", ")): train a model with these groups."
        }
        return nil
    }
}
