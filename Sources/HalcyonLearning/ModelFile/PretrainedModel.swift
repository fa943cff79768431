import Foundation

/// A trained model: the weights of its network and the parameters that they need.
///
/// The statistics of single objects, categories and users are not part of it, because their numbers mean nothing in another
/// trace.
///
/// ```swift
/// let model = try PretrainedModel(contentsOf: "model.safetensors")
/// let catalogue = PolicyCatalogue.standard.serving(model, mode: .frozen)
/// ```
///
/// A file has the arrays `hidden.weight` (features × hidden units), `output.weight` (hidden units) and `output.bias` (1).
/// The probability that an object is requested again within the label window is
///
///     sigmoid(leakyReLU(x · hidden.weight) · output.weight + output.bias)
///
/// with the slope 0.1 below zero, for the features x in the order of the metadata's `features`.
public struct PretrainedModel: Sendable, Equatable {
    /// Whether a cache that starts with a model keeps training it.
    public enum Mode: String, CaseIterable, Sendable {
        /// The weights do not change.
        case frozen
        /// The weights are trained further.
        case continuing
    }

    /// The version of the files that this release writes, and the latest one that it reads.
    public static let formatVersion = 1

    /// W₁ row by row, w₂, b₂; see ``Perceptron``.
    let weights: [Float]
    /// The number of the network's inputs: the first of ``Feature/names``.
    let inputs: Int
    /// The hidden units of the network.
    public let hidden: Int
    let groups: FeatureGroups
    let objective: Objective
    /// The prices of a miss and of a byte under ``Objective/cost``.
    let perMiss: Double
    let perByte: Double
    /// The base window of the labels in cache turnovers: the parameter `horizon` of ``LearnedPolicy``.
    public let baseWindow: Double
    /// The window multiplier at the end of training; see ``LabelWindow``.
    let windowMultiplier: Int
    /// The training steps of the weights.
    public let trainingSteps: Int
    /// The labelled samples so far.
    public let trainingSamples: Int
    /// The matrix routines that the model was trained with.
    public let kernels: Kernels
    /// The version of Halcyon that trained the model.
    public let producer: String

    /// The names of the groups of features that the model was trained with.
    public var featureGroups: [String] { groups.names }

    init(
        weights: [Float], inputs: Int, hidden: Int, groups: FeatureGroups, objective: Objective,
        perMiss: Double = 1, perByte: Double = 0, baseWindow: Double, windowMultiplier: Int = 1, trainingSteps: Int,
        trainingSamples: Int, kernels: Kernels = .portable, producer: String
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
        self.kernels = kernels
        self.producer = producer
    }

    /// Reads a file. O(bytes).
    ///
    /// - Throws: ``ModelFileError`` if there is no such file, or it is not a model that this release supports.
    public init(contentsOf path: String) throws(ModelFileError) {
        let data = try ModelFile.read(path)
        do { try self.init(parsing: data) } catch { throw error.named(path) }
    }

    /// Writes a file that appears under its name only when it is complete. O(weights).
    ///
    /// - Throws: ``ModelFileError`` if that fails. An existing file is then unchanged.
    public func write(to path: String) throws(ModelFileError) {
        try ModelFile.write(try data(), to: path)
    }
}

extension PretrainedModel {
    private static let format = "halcyon.model"
    private static let normalisation = "(byte - 64) / 64"
    private static let mostHidden = 256

    /// Returns the bytes of the model's file; equal models have equal bytes. O(weights).
    ///
    /// - Throws: ``ModelFileError`` if the header cannot be written.
    public func data() throws(ModelFileError) -> Data {
        var file = SafeTensors(
            network: weights, inputs: inputs, hidden: hidden, trainingSteps: trainingSteps,
            format: PretrainedModel.format, version: PretrainedModel.formatVersion, producer: producer)
        file.metadata["features"] = Feature.names(of: groups)[..<inputs].joined(separator: ",")
        file.metadata["feature_groups"] = groups.names.joined(separator: ",")
        file.metadata["normalisation"] = PretrainedModel.normalisation
        file.metadata["horizon"] = "\(baseWindow)"
        file.metadata["horizon_stretch"] = "\(windowMultiplier)"
        file.metadata["objective"] = objective.rawValue
        file.metadata["training_samples"] = "\(trainingSamples)"
        file.metadata["kernels"] = kernels.rawValue
        if objective == .cost {
            file.metadata["per_miss"] = "\(perMiss)"
            file.metadata["per_byte"] = "\(perByte)"
        }
        return try file.data()
    }

    /// Reads the bytes of a file. O(bytes).
    ///
    /// - Throws: ``ModelFileError`` if they are not a model that this release supports.
    public init(parsing data: Data) throws(ModelFileError) {
        let file = try SafeTensors(parsing: data)
        let texts = try file.texts(format: PretrainedModel.format, versions: 1...PretrainedModel.formatVersion)
        let features = try texts.text("features").split(separator: ",").map(String.init)
        let inputs = features.count
        let groupNames = try texts.text("feature_groups").split(separator: ",").map(String.init)
        guard let groups = FeatureGroups(names: groupNames) else {
            throw ModelFileError(reason: .inconsistent("The feature_groups include an unknown name"))
        }
        guard features == Feature.names(of: groups),
            try texts.text("normalisation") == PretrainedModel.normalisation
        else {
            throw ModelFileError(
                reason: .inconsistent("The features of the model are not those of this release: train it again"))
        }
        guard let objective = Objective(rawValue: try texts.text("objective")) else {
            throw ModelFileError(reason: .inconsistent("The objective is not one of objects, bytes, cost"))
        }
        // Files of earlier builds do not name them.
        guard let kernels = Kernels(rawValue: file.metadata["kernels"] ?? Kernels.portable.rawValue) else {
            throw ModelFileError(reason: .inconsistent("The kernels are not one of portable, system"))
        }
        var prices = (perMiss: 1.0, perByte: 0.0)
        if objective == .cost { prices = (try texts.price("per_miss"), try texts.price("per_byte")) }
        guard prices.perMiss > 0 || prices.perByte > 0 else {
            throw ModelFileError(reason: .inconsistent("One of per_miss and per_byte must be more than 0"))
        }
        guard let baseWindow = Double(try texts.text("horizon")), LabelWindow.range.contains(baseWindow) else {
            throw ModelFileError(reason: .inconsistent("The horizon is not a number from 0.05 to 16"))
        }
        let multiplier = try texts.number("horizon_stretch", in: 1...LabelWindow.largestMultiplier)
        guard multiplier.nonzeroBitCount == 1 else {
            throw ModelFileError(reason: .inconsistent("The horizon_stretch is not one of 1, 2, 4, 8, 16"))
        }
        let hidden = try texts.number("hidden", in: 4...PretrainedModel.mostHidden)
        self.init(
            weights: try file.network(inputs: inputs, hidden: hidden), inputs: inputs, hidden: hidden, groups: groups,
            objective: objective,
            perMiss: prices.perMiss, perByte: prices.perByte, baseWindow: baseWindow, windowMultiplier: multiplier,
            trainingSteps: try texts.count("training_steps"),
            trainingSamples: try texts.count("training_samples"), kernels: kernels,
            producer: try texts.text("halcyon_version"))
    }
}
