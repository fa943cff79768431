import HalcyonEviction

/// What a ``LearnedPolicy`` learns, apart from the cache that it serves, so that the caches of a fleet can share it: the
/// network and its training, and what is known of categories and users.
///
/// It is used by one cache at a time.
public final class LearnedModel {
    /// Kept behind a pointer, so that the policy reaches it without exclusivity checks.
    let learner: UnsafeMutablePointer<Learner>

    /// A model that has learned nothing yet, or what its parameters give it to start with.
    public init(_ parameters: LearnedParameters, seed: UInt64) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        learner = .allocate(capacity: 1)
        learner.initialize(to: Learner(parameters, seed: seed))
    }

    deinit {
        learner.deinitialize(count: 1)
        learner.deallocate()
    }
}

/// The state of a ``LearnedModel``.
struct Learner: ~Copyable {
    /// Labelled samples kept for training at most.
    static let bufferBound = 1 << 16

    var features: FeatureAssembler
    var trainer: OnlineTrainer
    var horizon: Horizon
    /// Residents that are scored together, and what they are given.
    var drawn: HeapArray<UInt32>
    var scores: HeapArray<Float>
    /// Whether a cache counts the bytes of this model among its own.
    var isCounted = false
    /// Records one eviction, to be explained; none unless asked for.
    var watch = VictimWatch()

    init(_ parameters: LearnedParameters, seed: UInt64) {
        features = FeatureAssembler(groups: parameters.groups)
        trainer = OnlineTrainer(
            hidden: parameters.hidden, bufferBound: Learner.bufferBound, missCost: parameters.missCost,
            rate: Float(parameters.rate), patience: 1_000,
            blas: parameters.blas, seed: seed)
        horizon = Horizon(reach: parameters.horizon, stretch: parameters.start?.stretch ?? 1)
        drawn = HeapArray(repeating: ObjectRecord.none, count: parameters.candidates)
        scores = HeapArray(repeating: 0, count: parameters.candidates)
        if let pretrained = parameters.start {
            trainer.adopt(
                pretrained.weights, steps: pretrained.trainingSteps, isFrozen: parameters.model == .frozen)
        }
    }

    var byteCount: Int { features.byteCount + trainer.byteCount + drawn.byteCount + scores.byteCount }
}
