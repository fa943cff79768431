import HalcyonEviction
import HalcyonSupport

/// What a model's predictions rest on: the importance of each group of features, the calibration of its probabilities, and
/// the reason for the choice of one victim.
public struct ModelExplanation: Sendable, Codable {
    private enum CodingKeys: String, CodingKey {
        case samples, positiveShare, loss, area, lookAhead, groups
        case bins = "calibration"
        case victim
    }

    /// A figure with its 95 % interval.
    public struct Estimate: Sendable, Codable, Equatable {
        /// The figure.
        public var value: Double
        /// The 2.5th percentile of its bootstrap.
        public var low: Double
        /// The 97.5th percentile of its bootstrap.
        public var high: Double
    }

    /// The importance of a group of features: the loss when its features are permuted among the samples of one block of
    /// time, all features of the group together (permutation importance: Breiman, Random forests, 2001). Each sample is
    /// scored by the network of its time.
    public struct Group: Sendable, Codable {
        /// The name of the group.
        public var name: String
        /// The increase of the logistic loss, in nats.
        public var lossIncrease: Estimate
        /// The decrease of the area under the ROC curve.
        public var areaDrop: Estimate
    }

    /// How well a network predicts the samples.
    public struct Score: Sendable, Codable, Equatable {
        /// The logistic loss, in nats.
        public var loss: Double
        /// The area under the ROC curve.
        public var area: Double
    }

    /// A bin in the report: the means are absent without samples.
    fileprivate struct Bin: Codable {
        var from: Double
        var to: Double
        var samples: Int
        var predicted: Double?
        var observed: Double?

        init(_ bin: CalibrationBin) {
            (from, to, samples) = (bin.from, bin.to, bin.count)
            if samples > 0 { (predicted, observed) = (bin.predicted, bin.observed) }
        }

        var bin: CalibrationBin {
            CalibrationBin(from: from, to: to, count: samples, predicted: predicted ?? 0, observed: observed ?? 0)
        }
    }

    /// The number of samples that were kept to evaluate the network on, since it was ready to decide.
    public var samples: Int
    /// The ratio of them that were requested again within the label window.
    public var positiveShare: Double
    /// The prequential logistic loss, in nats: each sample is predicted by the network as it was when the sample's label
    /// became known, before it learned from the sample. This is what the policy could know.
    public var loss: Double
    /// The area under the ROC curve of the same predictions.
    public var area: Double
    /// The predictions of the final network on the same samples. They look ahead: the final network has learned from
    /// these samples and from those that came later.
    public var lookAhead: Score
    /// The groups that the model uses, in their order.
    public var groups: [Group]
    /// The probabilities that the network gave when the label became known, before it learned from it, in ten bins.
    public var calibration: [CalibrationBin] { bins.map(\.bin) }
    fileprivate var bins: [Bin]
    /// The reason for the choice of one victim; `nil` unless requested, or if there were fewer evictions.
    public var victim: VictimExplanation?

    /// The names of the features of each group, in their order.
    public static var featuresByGroup: [(group: String, features: [String])] {
        FeatureGroups.named.map { ($0.name, $0.features.map(\.name)) }
    }

    /// Returns predicted probabilities compared with outcomes, in ten bins. O(n).
    static func calibration(_ predictions: [(probability: Double, isPositive: Bool)]) -> [CalibrationBin] {
        let bins = 10
        var (counts, sums, positives) = (
            [Int](repeating: 0, count: bins), [Double](repeating: 0, count: bins), [Int](repeating: 0, count: bins)
        )
        for (probability, isPositive) in predictions {
            let bin = min(Int(probability * Double(bins)), bins - 1)
            counts[bin] += 1
            sums[bin] += probability
            if isPositive { positives[bin] += 1 }
        }
        return (0..<bins).map { bin in
            let count = Double(max(counts[bin], 1))
            return CalibrationBin(
                from: Double(bin) / Double(bins), to: Double(bin + 1) / Double(bins), count: counts[bin],
                predicted: sums[bin] / count, observed: Double(positives[bin]) / count)
        }
    }
}

extension LearnedModel {
    /// Prepares to be explained. Must be called before the model's first cache is made, and changes no decision.
    ///
    /// - Parameters:
    ///   - every: evaluates the network on every n-th labelled sample.
    ///   - bound: the most samples to keep of them, drawn at random.
    ///   - victim: the number of the eviction to explain, from 1; 0 for none.
    ///   - seed: the seed of the draw.
    public func observe(every: Int = 10, bound: Int = 8_192, victim: Int = 0, seed: UInt64) {
        learner.pointee.trainer.observer = ObservedSamples(every: every, bound: bound, seed: seed)
        if victim > 0 { watch = VictimWatch(number: victim) }
    }

    /// Explains the model's predictions over time; `nil` if it has learned too little or no sample was kept.
    ///
    /// O(samples × weights × groups).
    ///
    /// - Parameters:
    ///   - parameters: the parameters that the model was made with.
    ///   - victim: the number given to ``observe(every:bound:victim:seed:)``.
    ///   - seed: the seed of permutations and bootstrap.
    public func explanation(_ parameters: LearnedParameters, victim: Int = 0, seed: UInt64) -> ModelExplanation? {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        let kept = learner.pointee.trainer.observer?.inOrder() ?? []
        guard learner.pointee.trainer.isReady, !kept.isEmpty else { return nil }
        let inputs = learner.pointee.trainer.network.inputs
        let weights = learner.pointee.trainer.network.weights
        var evaluator = NetworkEvaluator(
            weights: weights, inputs: inputs, hidden: parameters.hidden, blas: parameters.blas)
        var rows: [[Float]] = []
        for sample in kept { rows.append(evaluator.inputs(sample.row)) }
        let labels = kept.map { $0.row[SampleRow.label] == 1 }
        let final = ModelExplanation.score(evaluator.logits(rows), labels: labels)
        let own = ModelExplanation.score(kept.map(\.logit), labels: labels)
        let importance = PermutationImportance(
            rows: rows, labels: labels, networks: kept.map(\.network), seed: seed)
        let groups = importance.groups(
            FeatureGroups.named.filter { parameters.groups.contains($0.group) }, by: &evaluator)
        return ModelExplanation(
            samples: rows.count, positiveShare: Double(labels.count { $0 }) / Double(rows.count), loss: own.loss,
            area: own.area, lookAhead: final, groups: groups,
            bins: ModelExplanation.calibration(
                zip(kept, labels).map { (NetworkEvaluator.probability($0.logit), $1) }
            ).map { ModelExplanation.Bin($0) },
            victim: watch?.record.map { record in
                // The means are those of the samples whose labels were known at the eviction.
                let known = max(kept.prefix { $0.order <= record.labels }.count, 1)
                let means = (0..<inputs).map { place in
                    rows.prefix(known).reduce(0) { $0 + $1[place] } / Float(known)
                }
                return VictimExplanation(record, number: victim, inputs: inputs, means: means, parameters: parameters)
            })
    }
}

extension ModelExplanation {
    /// Returns the loss and the area of predictions. O(n log n).
    static func score(_ logits: [Float], labels: [Bool]) -> Score {
        let losses = zip(logits, labels).map { NetworkEvaluator.loss(logit: $0, isPositive: $1) }
        return Score(
            loss: losses.reduce(0, +) / Double(max(losses.count, 1)),
            area: RankedScores(logits, labels: labels).area(weight: losses.map { _ in 1 }))
    }
}
