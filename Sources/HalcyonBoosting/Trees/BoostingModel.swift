import HalcyonEviction
import HalcyonSupport

/// The model of a learned baseline: the last trees trained, and the labelled samples that will train the next ones.
///
/// An added sample is O(features), a prediction O(trees × depth). Bytes: those of the batch, which is a ``TrainingSet``.
struct BoostingModel: ~Copyable {
    private let trainer: any TreeTrainer
    private let treeParameters: TreeParameters
    private let batchSize: Int
    private var batch: TrainingSet
    private var trees: BoostedTrees?
    private var trainings = 0
    private let sample: FeatureRow
    private let candidates: FeatureRow
    private let predictions = FeatureRow(count: 1)

    /// A model without trees. Ends the process if LightGBM is to train it and cannot be loaded.
    ///
    /// - Parameter features: the number of features of a row.
    init(_ parameters: BoostingParameters, features: Int) {
        if let given = parameters.trainer {
            trainer = given
        } else {
            do { trainer = try LightGBM.shared.get() } catch { fatalError("\(error)") }
        }
        treeParameters = TreeParameters(trees: parameters.trees, leaves: parameters.leaves)
        batchSize = parameters.batch
        batch = TrainingSet(features: features)
        sample = FeatureRow(count: features)
        candidates = FeatureRow(count: features)
    }

    /// Whether there are trees.
    var isTrained: Bool { trees != nil }
    /// The heap bytes of the batch.
    var byteCount: Int { batch.byteCount }
    var metrics: [PolicyMetric] { [PolicyMetric("trainings", Double(trainings))] }

    // MARK: - Training

    /// Whether the batch has enough samples to train.
    var isBatchFull: Bool { batch.count >= batchSize }

    /// The features of the sample that ``addSample(distance:)`` adds.
    var sampleRow: UnsafeMutablePointer<Double> { sample.values }

    /// Adds the sample of ``sampleRow`` to the batch. Its label is the logarithm of the distance.
    ///
    /// - Parameter distance: the requests from the sample to the next request of its object.
    mutating func addSample(distance: Double) {
        batch.append(sample.values, label: Float(PortableMath.log1p(distance)))
    }

    /// Replaces the trees by those that the batch trains, and empties it.
    mutating func train() {
        trees = trainer.train(batch, treeParameters)
        batch.removeAll()
        trainings += 1
    }

    // MARK: - Prediction

    /// Returns the address for the features of `count` candidates, one row after the other.
    func candidateRows(_ count: Int) -> UnsafeMutablePointer<Double> {
        candidates.reserve(count * batch.features)
        return candidates.values
    }

    /// Predicts the logarithms of the distances of the first `count` candidates in ``candidateRows(_:)``. There must be trees.
    func predict(_ count: Int) -> UnsafePointer<Double> {
        predictions.reserve(count)
        trees?.predict(
            candidates.values, count: count, features: batch.features, into: predictions.values)
        return UnsafePointer(predictions.values)
    }
}
