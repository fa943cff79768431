import HalcyonEviction

/// What the learned baselines minimise.
public enum BoostingObjective: String, CaseIterable, Sendable {
    /// The ratio of missed bytes: victims are chosen regardless of their sizes.
    case byteMissRatio = "byte-miss-ratio"
    /// The ratio of missed requests: larger entries are evicted earlier.
    case objectMissRatio = "object-miss-ratio"
}

/// The parameters that both learned baselines have.
public struct BoostingParameters: Sendable {
    /// The number of labelled samples that train a model.
    public var batch: Int
    /// The most residents whose next requests are predicted at once.
    public var sample: Int
    /// The ratio to minimise.
    public var objective = BoostingObjective.byteMissRatio
    /// The number of trees of a model.
    public var trees: Int
    /// The most leaves of a tree.
    public var leaves = 32
    /// What trains the models; `nil` for LightGBM.
    var trainer: (any TreeTrainer)?
    /// Whether the policy will run, and not only be named.
    var willRun = true

    /// The defaults of a policy.
    init(batch: Int, sample: Int, trees: Int) {
        self.batch = batch
        self.sample = sample
        self.trees = trees
    }

    /// Returns one sentence that says why a policy cannot train, or `nil` if it can or will not run.
    func obstacle(to policy: String) -> String? {
        guard willRun, trainer == nil, case .failure(let missing) = LightGBM.shared else { return nil }
        return "\(policy) needs LightGBM: \(missing.description)"
    }
}

/// The parameters of a policy that trains boosted trees.
protocol BoostedPolicyParameters: PolicyParameters {
    /// Those that every such policy has.
    var boosting: BoostingParameters { get set }
}

extension BoostedPolicyParameters {
    /// Returns the table of ``boosting``. The meaning and range of `sample` differ by policy.
    static func boostingTable(sample: Parameter<Self>) -> [Parameter<Self>] {
        [
            .integer("batch", \.boosting.batch, in: 1...16_777_216, "labelled samples that train a model"), sample,
            .choice("objective", \.boosting.objective, "the ratio to minimise"),
            .integer("trees", \.boosting.trees, in: 1...10_000, "trees of a model"),
            .integer("leaves", \.boosting.leaves, in: 2...65_536, "maximum number of leaves of a tree"),
        ]
    }
}
