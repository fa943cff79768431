import HalcyonEviction

extension PolicyCatalogue {
    /// All policies: the classical ones and the learned one.
    public static let standard: PolicyCatalogue = {
        var catalogue = PolicyCatalogue.classical
        catalogue.add(PolicyEntry(LearnedPolicy.self))
        return catalogue
    }()

    /// Returns this catalogue with a ``LearnedPolicy`` that starts with a trained model and decides by it from the first
    /// request.
    ///
    /// `learned(model=none)` is then the same policy without the model.
    public func serving(_ model: PretrainedModel, mode: PretrainedModel.Mode) -> PolicyCatalogue {
        var catalogue = self
        catalogue.add(
            PolicyEntry(LearnedPolicy.self, defaults: LearnedParameters(serving: model, mode: mode)))
        return catalogue
    }
}
