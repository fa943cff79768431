import Foundation
import HalcyonLearning

/// What a ``PrefetchPlanner`` has learned over all users: the network for plans after requests, the calibration of its
/// probabilities, and what it learned of visits and of lists if it plans there. A planner on lists alone has only the last.
///
/// Statistics of single objects, categories and users are not included, because their numbers mean nothing elsewhere.
///
/// A file is in the safetensors format. Its arrays are `hidden.weight` (features × hidden units), `output.weight`
/// (hidden units), `output.bias` (1) and `calibration` (2: scale and shift). The probability is sigmoid(scale · logit
/// + shift), the logit as in `PretrainedModel`. What was learned of visits has the arrays `visits.…`, what was learned of lists `lists.…`.
public struct PretrainedPlanner: Sendable, Equatable {
    /// The file version that this release writes, and the only one that it reads: the network had other inputs
    /// before, and visits a file of their own.
    public static let formatVersion = 5
    private static let format = "halcyon.planner"

    /// What was learned of plans after requests; `nil` of a planner on lists alone.
    let requests: PretrainedRequests?
    /// What was learned of visits; `nil` if nothing was.
    let visits: PretrainedVisits?
    /// What was learned of lists; `nil` if nothing was.
    let lists: PretrainedLists?
    /// The version of Halcyon that wrote the file.
    public let producer: String

    /// The training steps of the network for requests; of a planner on lists alone, the examples of its network.
    public var trainingSteps: Int { requests?.trainingSteps ?? lists?.examples ?? 0 }

    /// Whether a planner that begins with it uses what it learned of requests or lists at once.
    package var isReady: Bool { requests != nil || lists.map { $0.examples >= OnLists.enough } ?? false }

    init(
        requests: PretrainedRequests?, visits: PretrainedVisits?, lists: PretrainedLists?, producer: String
    ) {
        (self.requests, self.visits, self.lists, self.producer) = (requests, visits, lists, producer)
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
        var file = SafeTensors(format: Self.format, version: Self.formatVersion, producer: producer)
        requests?.write(into: &file, format: Self.format, version: Self.formatVersion, producer: producer)
        visits?.write(into: &file)
        lists?.write(into: &file)
        return try file.data()
    }

    /// Parses the bytes of a file. O(bytes).
    ///
    /// - Throws: `ModelFileError` if they are not a planner that this release can use.
    public init(parsing data: Data) throws(ModelFileError) {
        let file = try SafeTensors(parsing: data)
        let texts = try file.texts(format: Self.format, versions: Self.formatVersion...Self.formatVersion)
        let lists = try PretrainedLists(file, texts)
        self.init(
            requests: try PretrainedRequests(file, texts, isOptional: lists != nil),
            visits: try PretrainedVisits(file, texts), lists: lists, producer: try texts.text("halcyon_version"))
    }
}

/// What a ``PrefetchPlanner`` has learned of plans after requests, over all users: a part of ``PretrainedPlanner``.
struct PretrainedRequests: Sendable, Equatable {
    /// W₁ row by row, w₂, b₂; see ``Perceptron``.
    let weights: [Float]
    let scale: Float
    let shift: Float
    /// The hidden units of the network.
    let hidden: Int
    /// The label window, in requests of the user.
    let labelWindow: Int
    /// The training steps of the weights.
    let trainingSteps: Int

    init(_ planner: borrowing WithinVisit) {
        (weights, trainingSteps) = (planner.trainer.weights, planner.trainer.steps)
        (scale, shift) = (planner.trainer.calibration.scale, planner.trainer.calibration.shift)
        (hidden, labelWindow) = (planner.parameters.hidden, planner.parameters.labelWindow)
    }

    /// Reads the part of a file; `nil` if the file has none and need not.
    ///
    /// - Throws: `ModelFileError` if this release cannot use it.
    init?(_ file: SafeTensors, _ texts: ModelTexts, isOptional: Bool) throws(ModelFileError) {
        if isOptional, file.metadata["hidden"] == nil { return nil }
        hidden = try texts.number("hidden", in: 1...PlannerParameters.maxHidden)
        let calibration = try file.values("calibration", shape: [2])
        weights = try file.network(inputs: PlannerInput.width, hidden: hidden)
        (scale, shift) = (calibration[0], calibration[1])
        labelWindow = try texts.number("horizon", in: 1...PlannerParameters.maxLabelWindow)
        trainingSteps = try texts.count("training_steps")
    }

    /// Writes the part into a file.
    func write(into file: inout SafeTensors, format: String, version: Int, producer: String) {
        file = SafeTensors(
            network: weights, inputs: PlannerInput.width, hidden: hidden, trainingSteps: trainingSteps, format: format,
            version: version, producer: producer)
        file.tensors["calibration"] = SafeTensors.Tensor(shape: [2], values: [scale, shift])
        file.metadata["horizon"] = "\(labelWindow)"
    }
}
