import Foundation
import HalcyonLearning

/// What a ``PrefetchPlanner`` has learned over all users: the network for plans after requests, the calibration of its
/// probabilities, and what it learned of visits if it plans between them.
///
/// Statistics of single objects, categories and users are not included, because their numbers mean nothing elsewhere.
///
/// A file is in the safetensors format. Its arrays are `hidden.weight` (features × hidden units), `output.weight`
/// (hidden units), `output.bias` (1) and `calibration` (2: scale and shift). The probability is sigmoid(scale · logit
/// + shift), the logit as in `PretrainedModel`. What was learned of visits has the arrays `visits.…`.
public struct PretrainedPlanner: Sendable, Equatable {
    /// The file version that this release writes, and the only one that it reads: the network had other inputs
    /// before, and visits a file of their own.
    public static let formatVersion = 5
    private static let format = "halcyon.planner"
    private static let inputs = PlannerInput.width

    /// W₁ row by row, w₂, b₂; see ``Perceptron``.
    let weights: [Float]
    let scale: Float
    let shift: Float
    /// The hidden units of the network.
    public let hidden: Int
    /// The label window, in requests of the user.
    public let labelWindow: Int
    /// The training steps of the weights.
    public let trainingSteps: Int
    /// What was learned of visits; `nil` if nothing was.
    let visits: PretrainedVisits?
    /// The version of Halcyon that wrote the file.
    public let producer: String

    init(
        weights: [Float], scale: Float, shift: Float, hidden: Int, labelWindow: Int, trainingSteps: Int,
        visits: PretrainedVisits?, producer: String
    ) {
        self.weights = weights
        self.scale = scale
        self.shift = shift
        self.hidden = hidden
        self.labelWindow = labelWindow
        self.trainingSteps = trainingSteps
        self.visits = visits
        self.producer = producer
    }

    /// Reads a file. O(bytes).
    ///
    /// - Throws: `ModelFileError` if the file does not exist or is not a planner that this release
    ///   can use.
    public init(contentsOf path: String) throws(ModelFileError) {
        let data = try ModelFile.read(path)
        do { try self.init(parsing: data) } catch { throw error.named(path) }
    }

    /// Writes a file, which replaces an older one only when it is complete. O(weights).
    ///
    /// - Throws: `ModelFileError` if that fails; an older file then remains.
    public func write(to path: String) throws(ModelFileError) { try ModelFile.write(try data(), to: path) }

    /// Returns the bytes of the file; the same for equal planners. O(weights).
    ///
    /// - Throws: `ModelFileError` if the header cannot be encoded.
    public func data() throws(ModelFileError) -> Data {
        var file = SafeTensors(
            network: weights, inputs: Self.inputs, hidden: hidden, trainingSteps: trainingSteps, format: Self.format,
            version: Self.formatVersion, producer: producer)
        file.tensors["calibration"] = SafeTensors.Tensor(shape: [2], values: [scale, shift])
        file.metadata["horizon"] = "\(labelWindow)"
        visits?.write(into: &file)
        return try file.data()
    }

    /// Parses the bytes of a file. O(bytes).
    ///
    /// - Throws: `ModelFileError` if they are not a planner that this release can use.
    public init(parsing data: Data) throws(ModelFileError) {
        let file = try SafeTensors(parsing: data)
        let texts = try file.texts(format: Self.format, versions: Self.formatVersion...Self.formatVersion)
        let hidden = try texts.number("hidden", in: 1...PlannerParameters.maxHidden)
        let calibration = try file.values("calibration", shape: [2])
        let weights = try file.network(inputs: Self.inputs, hidden: hidden)
        self.init(
            weights: weights, scale: calibration[0],
            shift: calibration[1], hidden: hidden,
            labelWindow: try texts.number("horizon", in: 1...PlannerParameters.maxLabelWindow),
            trainingSteps: try texts.count("training_steps"), visits: try PretrainedVisits(file, texts),
            producer: try texts.text("halcyon_version"))
    }
}
