import HalcyonEviction

extension LearnedModel {
    /// A model that has learnt nothing yet, or what its parameters give it to start with.
    ///
    /// - Parameter forFleet: whether many caches will share it.
    public static func make(_ parameters: LearnedParameters, context: PolicyContext, forFleet: Bool) -> LearnedModel {
        forFleet
            ? LearnedPolicy.makeModel(parameters, context: context)
            : LearnedModel(parameters, seed: context.seed)
    }

    /// An empty cache that learns from and decides by this model; compiled for its policy.
    public func makeCache(_ parameters: LearnedParameters, context: PolicyContext) -> CacheRun {
        LearnedPolicy.makeCache(
            LearnedPolicy(parameters, context: context, model: self), context: context, times: nil)
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
