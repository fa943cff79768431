import HalcyonEviction

extension LearnedModel {
    /// An empty cache that learns from and decides by this model.
    public func makeCache(_ parameters: LearnedParameters, context: PolicyContext) -> any AnyCache {
        ConfiguredPolicy(LearnedPolicy.self, parameters: parameters).makeCache(context, model: self)
    }

    /// What has been learnt so far; `nil` before the network has learnt enough to decide. O(weights).
    ///
    /// - Parameters:
    ///   - parameters: those that the model was made with.
    ///   - producer: the version of Halcyon, which the file will name.
    public func snapshot(_ parameters: LearnedParameters, producer: String) -> PretrainedModel? {
        guard learner.pointee.trainer.isReady else { return nil }
        return PretrainedModel(
            weights: learner.pointee.trainer.network.weights, inputs: learner.pointee.trainer.network.inputs,
            hidden: parameters.hidden, groups: parameters.groups, objective: parameters.objective,
            perMiss: parameters.perMiss, perByte: parameters.perByte,
            horizon: parameters.horizon, stretch: learner.pointee.horizon.stretch,
            trainingSteps: learner.pointee.trainer.steps,
            trainingSamples: learner.pointee.trainer.samples, producer: producer)
    }
}
