import HalcyonEviction

/// The model of a ``LearnedPolicy``: the network and its training, and the features of categories and users.
///
/// A model is apart from the cache that it serves, so that several caches can share it. Only one of them may use it at a
/// time.
public final class LearnedModel {
    /// The state, behind a pointer so that the policy reaches it without exclusivity checks.
    let learner: UnsafeMutablePointer<Learner>
    /// Whether one cache alone learns from and decides by the model.
    let servesOneCache: Bool
    /// Waits for the eviction to be explained, if any.
    var watch: VictimWatch?

    /// A model for several caches to share. It has learned nothing yet, or starts with the trained model of its
    /// parameters.
    public convenience init(_ parameters: LearnedParameters, seed: UInt64) {
        self.init(parameters, seed: seed, isCautious: false, servesOneCache: false)
    }

    /// The model that a cache makes for itself, for a caller that needs it afterwards.
    ///
    /// A cache with a model of its own learns from the objects that it accesses, too, and may follow simulated
    /// policies. With variable sizes, features of users and categories count for less until they have proved useful.
    ///
    /// - Parameter context: the context of the cache.
    public convenience init(ofOneCache parameters: LearnedParameters, context: PolicyContext) {
        // With variable sizes, categories can cost hits in a cache that learns alone; with uniform sizes they were not
        // seen to.
        let parameters = parameters.resolved(for: context)
        self.init(parameters, seed: context.seed, isCautious: !context.usesUniformSizes, servesOneCache: true)
    }

    /// A model that caches of one user each train in turn, to be shipped.
    ///
    /// Each cache calls ``beginDevice()`` first. They sample residents alone: the network ranks residents better if it has
    /// seen nothing else.
    ///
    /// - Parameter steps: the training steps.
    package convenience init(training parameters: LearnedParameters, steps: Int, seed: UInt64) {
        self.init(parameters, seed: seed, isCautious: false, servesOneCache: true)
        learner.pointee.trainer.offline = OfflineTraining(steps: steps)
    }

    /// Forgets what only the cache of the last user knows: the statistics of its categories and its label window.
    package func beginDevice() { learner.pointee.beginDevice() }

    /// Whether it is trained to be shipped.
    var isOffline: Bool { learner.pointee.trainer.offline != nil }

    /// The training steps before a network may decide.
    package static let fewestSteps = OnlineTrainer.fewestSteps

    /// The training steps so far.
    package var trainingSteps: Int { learner.pointee.trainer.steps }

    private init(_ parameters: LearnedParameters, seed: UInt64, isCautious: Bool, servesOneCache: Bool) {
        self.servesOneCache = servesOneCache
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        learner = .allocate(capacity: 1)
        learner.initialize(to: Learner(parameters, seed: seed, isCautious: isCautious))
    }

    deinit {
        learner.deinitialize(count: 1)
        learner.deallocate()
    }

    /// Returns an empty cache that learns from and decides by this model.
    public func makeCache(_ parameters: LearnedParameters, context: PolicyContext) -> AnyCache {
        ConfiguredPolicy(LearnedPolicy.self, parameters: parameters).makeCache(context, model: self)
    }

    /// Returns the model as trained so far; `nil` before the network has learned enough to decide. O(weights).
    ///
    /// - Parameters:
    ///   - parameters: the parameters that the model was made with.
    ///   - producer: the version of Halcyon, which the file will name.
    public func snapshot(_ parameters: LearnedParameters, producer: String) -> PretrainedModel? {
        guard learner.pointee.trainer.isReady else { return nil }
        return PretrainedModel(
            weights: learner.pointee.trainer.offline?.mean ?? learner.pointee.trainer.network.weights,
            inputs: learner.pointee.trainer.network.inputs,
            hidden: parameters.hidden, groups: parameters.groups, objective: parameters.objective,
            perMiss: parameters.perMiss, perByte: parameters.perByte,
            baseWindow: parameters.baseWindow, windowMultiplier: learner.pointee.labelWindow.multiplier,
            trainingSteps: learner.pointee.trainer.steps,
            trainingSamples: learner.pointee.trainer.samples, kernels: parameters.kernels, producer: producer)
    }
}

/// The state of a ``LearnedModel``.
struct Learner: ~Copyable {
    /// The most labelled samples kept for training.
    static let bufferBound = 1 << 16

    private let groups: FeatureGroups
    private let vectors: VectorKernels
    var features: FeatureAssembler
    var trainer: OnlineTrainer
    var labelWindow: LabelWindow
    /// The residents that are scored together, and their scores.
    var drawn: HeapArray<UInt32>
    var scores: HeapArray<Float>
    /// Whether a cache counts the bytes of this model as its own.
    var isCounted = false

    init(_ parameters: LearnedParameters, seed: UInt64, isCautious: Bool) {
        (groups, vectors) = (parameters.groups, parameters.blas.vectors)
        features = FeatureAssembler(groups: groups, vectors: vectors)
        trainer = OnlineTrainer(
            hidden: parameters.hidden, bufferBound: Learner.bufferBound,
            rate: Float(parameters.rate), patience: 1_000, isCautious: isCautious, blas: parameters.blas, seed: seed)
        labelWindow = LabelWindow(base: parameters.baseWindow, multiplier: parameters.start?.windowMultiplier ?? 1)
        drawn = HeapArray(repeating: ObjectRecord.none, count: parameters.candidates)
        scores = HeapArray(repeating: 0, count: parameters.candidates)
        if let pretrained = parameters.start {
            trainer.adopt(
                pretrained.weights, steps: pretrained.trainingSteps, isFrozen: parameters.model == .frozen)
        }
    }

    mutating func beginDevice() {
        features = FeatureAssembler(groups: groups, vectors: vectors)
        labelWindow = LabelWindow(base: labelWindow.base)
    }

    var byteCount: Int { features.byteCount + trainer.byteCount + drawn.byteCount + scores.byteCount }
}
