import HalcyonEviction

extension LearnedParameters {
    /// The values that go with a trained model: what it was trained with, and the defaults for all else.
    init(serving pretrained: PretrainedModel, mode: PretrainedModel.Mode) {
        self.init()
        self.pretrained = pretrained
        model = mode == .frozen ? .frozen : .continuing
        objective = pretrained.objective
        perMiss = pretrained.perMiss
        perByte = pretrained.perByte
        baseWindow = pretrained.baseWindow
        hidden = pretrained.hidden
        groups = pretrained.groups
    }

    /// The model to start with, if any.
    var start: PretrainedModel? { model == .none ? nil : pretrained }

    /// A model's prices stay behind where another objective is asked for, which has its own.
    public mutating func giveWay(to given: Set<String>) {
        guard given.contains("objective"), objective != .cost else { return }
        let defaults = LearnedParameters()
        if !given.contains("per-miss") { perMiss = defaults.perMiss }
        if !given.contains("per-byte") { perByte = defaults.perByte }
    }

    /// Prices go with the objective that asks for them, and weights serve only the network and the features that they
    /// were learnt for.
    public var conflict: String? {
        if objective != .cost, perMiss != 1 || perByte != 0 {
            return
                "learned(objective=\(objective.rawValue)) has its own prices: per-miss and per-byte need objective=cost."
        }
        if perMiss == 0, perByte == 0 {
            return "With per-miss=0 and per-byte=0 a miss costs nothing: give one of them more than 0."
        }
        guard model != .none else { return nil }
        guard let pretrained else {
            return "learned(model=\(model.rawValue)) needs a trained model, which no text can give: name its file."
        }
        if model == .frozen, pretrained.trainingSteps < OnlineTrainer.fewestSteps {
            return "The model has \(pretrained.trainingSteps) steps of training behind it, decides only after "
                + "\(OnlineTrainer.fewestSteps), and frozen would never get there: let it learn on (continuing)."
        }
        if hidden != pretrained.hidden {
            return "The model has \(pretrained.hidden) hidden units, and learned(hidden=\(hidden)) asks for others."
        }
        if groups != pretrained.groups {
            return "The model was trained with the feature groups \(pretrained.groups.names.joined(separator: ", ")), "
                + "and learned is asked for \(groups.names.joined(separator: ", ")): train one without the others."
        }
        return nil
    }
}

extension PolicyCatalogue {
    /// This catalogue, in which ``LearnedPolicy`` starts with a trained model and decides by it from the first request.
    ///
    /// `learned(model=none)` is then the same policy without the model.
    public func serving(_ model: PretrainedModel, mode: PretrainedModel.Mode) -> PolicyCatalogue {
        var catalogue = self
        catalogue.add(
            PolicyEntry(LearnedPolicy.self, defaults: LearnedParameters(serving: model, mode: mode)))
        return catalogue
    }
}
