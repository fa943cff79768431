import Foundation
import HalcyonEviction

// The model with which a later process starts; see `CacheCalls`.
extension LearnedPolicy {
    /// The bytes of the model's file; `nil` before the network has learned enough to decide, and for a model that
    /// does not change or that several caches share.
    public var trainedModel: [UInt8]? {
        guard ownsModel, parameters.model != .frozen,
            let trained = model.snapshot(parameters, producer: Halcyon.version)
        else { return nil }
        // A header that cannot be written leaves nothing to start with.
        return (try? trained.data()).map { Array($0) }
    }

    public mutating func adopt(trainedModel: [UInt8]) {
        // The policy has started with it, so that it can be read.
        guard ownsModel, let trained = try? PretrainedModel(parsing: Data(trainedModel)) else { return }
        let learner = model.learner
        learner.pointee.trainer.adopt(trained.weights, steps: trained.trainingSteps, isFrozen: false)
    }

    public static func parameters(
        _ parameters: LearnedParameters, startingWith model: [UInt8]
    ) throws(PolicyError) -> LearnedParameters {
        var started = parameters
        do { try started.start(with: PretrainedModel(parsing: Data(model))) } catch {
            throw .conflict(error.description)
        }
        if let conflict = started.conflict { throw .conflict(conflict) }
        return started
    }
}
