/// What a learner has learnt, apart from the cache that it learnt in: the weights of its network and what is needed to
/// use them.
///
/// What was known of single objects, categories and users is not part of it, because their numbers mean nothing in another
/// trace.
///
/// ```swift
/// let model = try PretrainedModel(contentsOf: "model.safetensors")
/// let catalogue = PolicyCatalogue.standard.serving(model, mode: .frozen)
/// ```
///
/// A file has the arrays `hidden.weight` (features × hidden units), `output.weight` (hidden units) and `output.bias` (1):
/// the chance that an object is asked for again within the horizon is sigmoid(leakyReLU(x · hidden.weight) ·
/// output.weight + output.bias), with the slope 0.1 below zero, for the features x in the order of the metadata's
/// `features`.
public struct PretrainedModel: Sendable, Equatable {
    /// Whether a cache that starts with a model goes on learning.
    public enum Mode: String, CaseIterable, Sendable {
        /// The weights stay as they are.
        case frozen
        /// The weights are learnt on.
        case continuing
    }

    /// The version of the files that this release writes, and the latest one that it reads.
    public static let formatVersion = 1

    /// W₁ row by row, w₂, b₂; see ``Perceptron``.
    let weights: [Float]
    /// The features that the network looks at, of ``Feature/names``.
    let inputs: Int
    /// The hidden units of the network.
    public let hidden: Int
    let groups: FeatureGroups
    let objective: Objective
    /// What every miss and each byte of it cost under ``Objective/cost``.
    let perMiss: Double
    let perByte: Double
    /// The label's horizon in turnovers of the cache; see the parameter `horizon` of ``LearnedPolicy``.
    public let baseWindow: Double
    /// How many times that far the labels looked ahead at last, because too little came back within it; see ``Horizon``.
    let windowMultiplier: Int
    /// The steps of training that the weights have behind them.
    public let trainingSteps: Int
    /// The labelled samples that were seen.
    public let trainingSamples: Int
    /// The version of Halcyon that made it.
    public let producer: String

    /// The names of the groups of features that it was trained with.
    public var featureGroups: [String] { groups.names }

    init(
        weights: [Float], inputs: Int, hidden: Int, groups: FeatureGroups, objective: Objective,
        perMiss: Double = 1, perByte: Double = 0, baseWindow: Double, windowMultiplier: Int = 1, trainingSteps: Int,
        trainingSamples: Int,
        producer: String
    ) {
        self.weights = weights
        self.inputs = inputs
        self.hidden = hidden
        self.groups = groups
        self.objective = objective
        self.perMiss = perMiss
        self.perByte = perByte
        self.baseWindow = baseWindow
        self.windowMultiplier = windowMultiplier
        self.trainingSteps = trainingSteps
        self.trainingSamples = trainingSamples
        self.producer = producer
    }

    /// Reads a file. O(bytes).
    ///
    /// - Throws: ``ModelFileError`` if there is no such file or it is no model that this release can use.
    public init(contentsOf path: String) throws(ModelFileError) {
        let data = try ModelFile.read(path)
        do { try self.init(parsing: data) } catch { throw error.named(path) }
    }

    /// Writes a file that appears under its name only when it is whole. O(weights).
    ///
    /// - Throws: ``ModelFileError`` if that fails; what was there before is then still there.
    public func write(to path: String) throws(ModelFileError) {
        try ModelFile.write(try data(), to: path)
    }
}
