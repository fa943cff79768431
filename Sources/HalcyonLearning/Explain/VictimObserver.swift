import HalcyonEviction

/// Records why one cache chose one victim. It reads the policy and changes nothing there.
///
/// Only a cache whose model is to be explained has one; see ``LearnedModel/observe(every:bound:victim:seed:)``. One scoring
/// serves several evictions, so the observer keeps the features of every candidate as of its score.
final class VictimObserver {
    private let watch: VictimWatch
    /// The features of candidates and of the new object when they were scored, by the numbers of their records.
    private var kept: [UInt32: VictimRecord.Scored] = [:]

    init(_ watch: VictimWatch) { self.watch = watch }

    /// Keeps the features of an object that is scored now.
    func scored(_ slot: UInt32, by policy: borrowing LearnedPolicy) {
        if watch.isWaiting { kept[slot] = features(of: slot, in: policy) }
    }

    /// Keeps the features of the candidates that were just scored, and forgets those of objects that are no candidates.
    func scoredCandidates(by policy: borrowing LearnedPolicy) {
        guard watch.isWaiting else { return }
        var present: [UInt32: VictimRecord.Scored] = [:]
        for place in 0..<policy.sampler.candidates.count {
            let slot = policy.sampler.candidates.slots[place]
            let isNew = policy.sampler.candidates.age(at: place, scoring: policy.sampler.scoring) == 0
            present[slot] = isNew ? features(of: slot, in: policy) : kept[slot]
        }
        kept = present
    }

    /// Counts an eviction before anything changes, and records it if it is the one to be explained.
    ///
    /// - Parameters:
    ///   - victim: the resident that leaves, with its score, or if a shadow decided with its recency.
    ///   - decider: the name of the expert or shadow that decided.
    func chose(_ victim: ScoredResident, by decider: String, in policy: borrowing LearnedPolicy) {
        guard watch.countEviction() else { return }
        let isScored = decider == policy.expert.name
        let comparesAll = !isScored || policy.comparesAllResidents
        var runnerUp: ScoredResident
        if isScored {
            runnerUp = self.runnerUp(to: victim.slot, in: policy)
            if policy.newObject != ObjectRecord.none, let score = policy.newObjectScore, score < runnerUp.score {
                runnerUp = ScoredResident(slot: policy.newObject, score: score)
            }
        } else {
            runnerUp = policy.byRecency(policy.history.records[Int(victim.slot)].newer)
        }
        func observation(_ object: ScoredResident, in policy: borrowing LearnedPolicy) -> VictimRecord.Observation {
            let isNew = object.slot == policy.newObject
            let earlier = comparesAll && !isNew ? nil : kept[object.slot]
            return VictimRecord.Observation(
                object: policy.history.records[Int(object.slot)], isNewObject: isNew, score: object.score,
                scored: earlier ?? features(of: object.slot, in: policy))
        }
        watch.record = VictimRecord(
            request: policy.now, decider: decider, victim: observation(victim, in: policy),
            runnerUp: runnerUp.slot == ObjectRecord.none ? nil : observation(runnerUp, in: policy),
            candidates: comparesAll ? policy.history.count : policy.sampler.candidates.count,
            usesUniformSizes: policy.usesUniformSizes, labels: policy.model.learner.pointee.trainer.samples)
        kept = [:]
    }

    /// Returns the resident that would be evicted if `slot` were not. Older scores are updated as the policy does, but stay
    /// as they are; an updated score may be lower than the victim's.
    func runnerUp(to slot: UInt32, in policy: borrowing LearnedPolicy) -> ScoredResident {
        if policy.comparesAllResidents {
            let second = policy.greedyDual.secondLowest
            return ScoredResident(slot: second?.slot ?? ObjectRecord.none, score: second?.priority ?? .infinity)
        }
        let places = 0..<policy.sampler.candidates.count
        var runnerUp = ScoredResident(slot: ObjectRecord.none, score: .infinity)
        var scores = places.map { policy.sampler.candidates.scores[$0] }
        var isOld = places.map { policy.sampler.candidates.age(at: $0, scoring: policy.sampler.scoring) > 0 }
        let others = places.filter { policy.sampler.candidates.slots[$0] != slot }
        while let place = others.min(by: { scores[$0] < scores[$1] }) {
            runnerUp = ScoredResident(slot: policy.sampler.candidates.slots[place], score: scores[place])
            if !isOld[place] { break }
            isOld[place] = false
            kept[runnerUp.slot] = features(of: runnerUp.slot, in: policy)
            scores[place] = policy.sampler.score(
                policy.history.records.base + Int(runnerUp.slot), at: policy.instant)
        }
        return runnerUp
    }

    /// Returns the features of an object now, and the network's weights.
    private func features(of slot: UInt32, in policy: borrowing LearnedPolicy) -> VictimRecord.Scored {
        let (learner, record) = (policy.model.learner, policy.history.records.base + Int(slot))
        let row = HeapArray<UInt8>(repeating: 0, count: SampleRow.width)
        learner.pointee.features.write(record, at: policy.instant, into: row.base)
        let weights = watch.weights(after: learner.pointee.trainer.decidingSteps) {
            learner.pointee.trainer.decidingWeights
        }
        return VictimRecord.Scored(
            request: policy.now, row: (0..<row.count).map { row[$0] }, logSize: record.pointee.logSize,
            weights: weights)
    }
}

/// Waits for one eviction, counted from 1 over all caches that share a model.
final class VictimWatch {
    private var remaining: Int
    var record: VictimRecord?
    /// The network's weights after a number of training steps: one copy for all objects scored with them.
    private var weights: (steps: Int, values: [Float]) = (-1, [])

    /// A watch that waits for the eviction with this number.
    init(number: Int) { remaining = number }

    /// Whether the eviction is still to come.
    var isWaiting: Bool { remaining > 0 }

    /// Returns the weights after a number of training steps.
    func weights(after steps: Int, _ values: () -> [Float]) -> [Float] {
        if weights.steps != steps { weights = (steps, values()) }
        return weights.values
    }

    /// Counts an eviction and returns whether it is the awaited one.
    func countEviction() -> Bool {
        if remaining == 0 { return false }
        remaining -= 1
        return remaining == 0
    }
}

/// The choice of one victim.
struct VictimRecord {
    /// An object that was compared.
    struct Observation {
        /// Its record at the eviction.
        let object: ObjectRecord
        /// Whether it is the requested object, which might have been refused instead.
        let isNewObject: Bool
        /// The score by the expert that decided, or by recency if a shadow did; the lowest one is the victim.
        let score: Float
        /// The features as of that score.
        let scored: Scored
    }

    /// The features of an object when it was scored: one scoring of candidates serves several evictions.
    struct Scored {
        /// The requests that the cache had served.
        let request: Int
        /// The row of the ``SampleRow``.
        let row: [UInt8]
        /// The binary logarithm of the object's size, which the row has in eighths.
        let logSize: Float
        /// The network's weights.
        let weights: [Float]
    }

    /// The requests that the cache had served, this one included.
    let request: Int
    /// The name of the expert or shadow that decided.
    let decider: String
    let victim: Observation
    let runnerUp: Observation?
    /// The number of residents that were compared: all of them if it keeps all in order.
    let candidates: Int
    /// Whether all objects have the same size; see ``MissCost/score(logit:logSize:usesUniformSizes:)``.
    let usesUniformSizes: Bool
    /// The number of samples whose label was known.
    let labels: Int
}
