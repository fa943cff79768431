import Foundation
import HalcyonLearning

/// What a ``PrefetchPlanner`` has learned of lists over all users: a part of ``PretrainedPlanner``.
///
/// In the file it has three arrays:
///
/// - `lists.network` and `lists.gradients`: the weights, and the root of the sum of each weight's squared gradients;
/// - `lists.outcomes`, 2 × bins of probability: the predictions, and those that came true.
struct PretrainedLists: Sendable, Equatable {
    private static let prefix = "lists."

    let weights: [Float]
    let gradients: [Float]
    let outcomes: [Float]
    /// The number of items that the network has learned from.
    let examples: Int

    init(_ planner: OnLists) {
        (weights, gradients) = (planner.model.weights, planner.model.squares.map { $0.squareRoot() })
        (outcomes, examples) = (planner.outcomes.list, planner.model.examples)
    }

    /// The weight of what the shipped model has learned from. A device takes steps, and counts outcomes, as if that had been a thousandth
    /// of the examples. So it adapts to its user and app.
    static let weight: Float = 0.001

    /// The model that the package ships for a planner that serves one user. It was trained on synthetic users alone
    /// (`Experiments/shipped_model.py`).
    static let shipped: PretrainedLists = {
        // The file is part of the module. A test reads it, so this cannot fail in a release.
        guard let lists = try? PretrainedPlanner(parsing: Data(PackageResources.lists_safetensors)).lists else {
            preconditionFailure("the shipped planner")
        }
        return lists
    }()

    /// Reads the part of a file; `nil` if the file has none.
    ///
    /// - Throws: `ModelFileError` if this release cannot use it.
    init?(_ file: SafeTensors, _ texts: ModelTexts) throws(ModelFileError) {
        guard file.tensors.keys.contains(where: { $0.hasPrefix(Self.prefix) }) else { return nil }
        let count = OnlineNetwork.weightCount(inputs: ListInputs.count)
        weights = try file.values(Self.prefix + "network", shape: [count])
        gradients = try file.values(Self.prefix + "gradients", shape: [count])
        outcomes = try file.values(Self.prefix + "outcomes", shape: [2, OutcomesByProbability.bins])
        guard gradients.allSatisfy({ $0 > 0 }), outcomes.allSatisfy({ $0 >= 0 }) else {
            throw ModelFileError(reason: .inconsistent("An array of 'lists' has a number that is no count"))
        }
        examples = try texts.count("list_examples")
    }

    /// Writes the part into a file.
    func write(into file: inout SafeTensors) {
        file.tensors[Self.prefix + "network"] = SafeTensors.Tensor(shape: [weights.count], values: weights)
        file.tensors[Self.prefix + "gradients"] = SafeTensors.Tensor(shape: [gradients.count], values: gradients)
        file.tensors[Self.prefix + "outcomes"] = SafeTensors.Tensor(
            shape: [2, OutcomesByProbability.bins], values: outcomes)
        file.metadata["list_examples"] = "\(examples)"
    }
}

extension OnLists {
    /// Replaces what was learned over all users. What was learned of single users and objects stays.
    ///
    /// - Parameter weight: the weight of the squared gradients and of the outcomes: a lower one makes larger steps.
    func adopt(_ learned: PretrainedLists, weight: Float = 1) {
        model.adopt(
            weights: learned.weights, squares: learned.gradients.map { max($0 * $0 * weight, 1) },
            examples: learned.examples)
        outcomes.list = weight == 1 ? learned.outcomes : learned.outcomes.map { $0 * weight }
        isAsShipped = false
    }
}
