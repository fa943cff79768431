import ArgumentParser
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation

extension PretrainedModel.Mode: ExpressibleByArgument {}

/// The options for a pretrained model.
struct ModelArguments: ParsableArguments {
    @Option(help: "A model of 'replay train', which 'learned' uses from the first request on.")
    var model: String?

    @Option(help: "With --model: keep it unchanged (frozen) or train it further (continuing). (default: continuing)")
    var modelMode: PretrainedModel.Mode?

    /// Returns the policy catalogue, in which `learned` starts with the model if there is one.
    ///
    /// - Throws: ``HalcyonLearning/ModelFileError`` if the model cannot be used.
    func catalogue() throws -> PolicyCatalogue {
        guard let model else {
            if modelMode != nil { throw ReplayError.usage("--model-mode needs --model: name the file of a model.") }
            return Program.catalogue
        }
        return Program.catalogue.serving(try PretrainedModel(contentsOf: model), mode: mode)
    }

    /// Refuses a model that no policy starts with.
    func requireUse(by policies: [ConfiguredPolicy]) throws(ReplayError) {
        guard model != nil else { return }
        let isUsed = policies.contains { $0.parameters.contains { $0.name == "model" && $0.value != "none" } }
        if !isUsed { throw .usage("--model needs a policy that starts with it: add --policy learned.") }
    }

    /// The notes for a report.
    var notes: [String] {
        guard let model else { return [] }
        return ["learned starts with the model \(model), \(mode.rawValue)."]
    }

    private var mode: PretrainedModel.Mode { modelMode ?? .continuing }
}
