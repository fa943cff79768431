/// What a model's judgement rests on: the worth of each group of features, whether its chances are borne out, and why one
/// victim was chosen.
public struct ModelExplanation: Sendable, Codable {
    /// A figure with its 95 % interval.
    public struct Estimate: Sendable, Codable, Equatable {
        /// The figure.
        public var value: Double
        /// The 2.5th percentile of its bootstrap.
        public var low: Double
        /// The 97.5th percentile of its bootstrap.
        public var high: Double
    }

    /// What a group is worth: what is lost when its features are dealt out anew among the samples, all of a group together
    /// (permutation importance: Breiman, Random forests, 2001).
    public struct Group: Sendable, Codable {
        /// The group.
        public var name: String
        /// By how much the logistic loss grows, in nats.
        public var lossIncrease: Estimate
        /// By how much the area under the ROC curve shrinks.
        public var areaDrop: Estimate
    }

    /// The samples to which the model gave chances within a tenth.
    public struct Bin: Sendable, Codable, Equatable {
        /// The least chance of the bin.
        public var from: Double
        /// Where the next bin begins.
        public var to: Double
        /// The samples in it.
        public var samples: Int
        /// Their mean chance; `nil` for none.
        public var predicted: Double?
        /// The share of them that was asked for again within the horizon; `nil` for none.
        public var observed: Double?
    }

    /// The samples that were held back from training and kept.
    public var samples: Int
    /// The share of them that was asked for again within the horizon.
    public var positiveShare: Double
    /// The logistic loss of the final network on them, in nats.
    public var loss: Double
    /// The area under the ROC curve of the final network on them.
    public var area: Double
    /// The groups that the model uses, in their order.
    public var groups: [Group]
    /// The chances that the network gave when the label became known, before it could learn anything later.
    public var calibration: [Bin]
    /// Why one victim was chosen; `nil` unless asked for, or if there were fewer evictions.
    public var victim: VictimExplanation?
}

extension ModelExplanation {
    /// The names of the features of each group, in their order.
    public static var featuresByGroup: [(group: String, features: [String])] {
        FeatureGroups.named.map { ($0.name, $0.features.map(\.name)) }
    }
}
