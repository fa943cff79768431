import ArgumentParser
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation

extension PretrainedModel.Mode: ExpressibleByArgument {}
extension ModelSharing: ExpressibleByArgument {}

/// A trained model, and what becomes of it.
struct ModelArguments: ParsableArguments {
    @Option(help: "A model of 'replay train', by which 'learned' decides from the first request.")
    var model: String?

    @Option(help: "With --model: whether it stays as it is (frozen) or is learnt on (continuing).")
    var modelMode: PretrainedModel.Mode?

    /// The policies, among which `learned` starts with the model if there is one.
    ///
    /// - Throws: ``HalcyonLearning/ModelFileError`` if the model cannot be used.
    func catalogue() throws -> PolicyCatalogue {
        guard let model else {
            if modelMode != nil { throw ReplayError.usage("--model-mode needs --model: name the file of a model.") }
            return .standard
        }
        return PolicyCatalogue.standard.serving(try PretrainedModel(contentsOf: model), mode: mode)
    }

    /// Refuses a model that none of the policies starts with.
    func requireUse(by policies: [ConfiguredPolicy]) throws(ReplayError) {
        guard model != nil else { return }
        let isUsed = policies.contains { $0.parameters.contains { $0.name == "model" && $0.value != "none" } }
        if !isUsed { throw .usage("--model needs a policy that starts with it: add --policy learned.") }
    }

    /// What the reader of a report should know.
    var notes: [String] {
        guard let model else { return [] }
        return ["learned starts with the model \(model), \(mode.rawValue)."]
    }

    private var mode: PretrainedModel.Mode { modelMode ?? .continuing }
}
