import HalcyonEviction

/// Records why one cache chose one victim. Until the ``VictimWatch`` waits for an eviction it does nothing.
///
/// One scoring serves several evictions, so the explainer keeps the features of every candidate as of its score.
struct VictimExplainer {
    private let learner: UnsafeMutablePointer<Learner>
    private let usesUniformSizes: Bool
    /// The features of candidates and of the new object when they were scored, by the numbers of their records.
    private var kept: [UInt32: VictimRecord.Scored] = [:]

    init(learner: UnsafeMutablePointer<Learner>, usesUniformSizes: Bool) {
        self.learner = learner
        self.usesUniformSizes = usesUniformSizes
    }

    /// Whether the eviction to be explained is still to come.
    @inline(__always)
    var isWaiting: Bool { learner.pointee.watch.isWaiting }

    /// Counts an eviction and returns whether it is the one to be explained.
    @inline(__always)
    func countEviction() -> Bool {
        let learner = learner
        return learner.pointee.watch.countEviction()
    }

    /// Keeps the features of an object that is being scored.
    @inline(never)
    mutating func keep(_ slot: UInt32, _ record: ObjectRecord, at instant: FeatureInstant) {
        kept[slot] = scored(record, at: instant)
    }

    /// Keeps the features of the candidates that were just scored, and forgets those of objects that are no candidates.
    @inline(never)
    mutating func keepCandidates(
        _ candidates: borrowing CandidateSet, scoring: Int, of records: UnsafePointer<ObjectRecord>,
        at instant: FeatureInstant
    ) {
        var present: [UInt32: VictimRecord.Scored] = [:]
        for place in 0..<candidates.count {
            let slot = candidates.slots[place]
            let isNew = candidates.age(at: place, scoring: scoring) == 0
            present[slot] = isNew ? scored(records[Int(slot)], at: instant) : kept[slot]
        }
        kept = present
    }

    /// Returns the candidate that would be evicted if `slot` were not. Older scores are updated as the sampler does, but
    /// stay as they are; an updated score may be lower than the victim's.
    mutating func runnerUp(
        to slot: UInt32, among candidates: borrowing CandidateSet, scoring: Int,
        of records: UnsafePointer<ObjectRecord>,
        scorer: NetworkScorer, at instant: FeatureInstant
    ) -> ScoredResident {
        var runnerUp = ScoredResident(slot: ObjectRecord.none, score: .infinity)
        var scores = (0..<candidates.count).map { candidates.scores[$0] }
        var isOld = (0..<candidates.count).map { candidates.age(at: $0, scoring: scoring) > 0 }
        let others = scores.indices.filter { candidates.slots[$0] != slot }
        while let place = others.min(by: { scores[$0] < scores[$1] }) {
            runnerUp = ScoredResident(slot: candidates.slots[place], score: scores[place])
            if !isOld[place] { break }
            isOld[place] = false
            let record = records[Int(runnerUp.slot)]
            keep(runnerUp.slot, record, at: instant)
            scores[place] = scorer.score(record, at: instant)
        }
        return runnerUp
    }

    /// Writes the record of an eviction.
    ///
    /// - Parameters:
    ///   - runnerUp: the resident or new object that would have been evicted instead; `none` if there was no other.
    ///   - newObject: the record of the object that is not resident yet, or `none`.
    ///   - compared: the number of residents that were compared.
    ///   - decider: the name of the expert or shadow that decided.
    ///   - isScoredNow: whether the scores are of this moment, not of the latest scoring.
    mutating func record(
        _ victim: ScoredResident, runnerUp: ScoredResident, newObject: UInt32, by decider: String, compared: Int,
        isScoredNow: Bool, of records: UnsafePointer<ObjectRecord>, at instant: FeatureInstant
    ) {
        func observation(_ object: ScoredResident) -> VictimRecord.Observation {
            let isNew = object.slot == newObject
            let earlier = isScoredNow && !isNew ? nil : kept[object.slot]
            let record = records[Int(object.slot)]
            return VictimRecord.Observation(
                entry: record.entry, object: record.object, user: record.user, isNewObject: isNew,
                score: object.score, scored: earlier ?? scored(record, at: instant))
        }
        let learner = learner
        learner.pointee.watch.record = VictimRecord(
            request: instant.request, decider: decider, victim: observation(victim),
            runnerUp: runnerUp.slot == ObjectRecord.none ? nil : observation(runnerUp),
            candidates: compared, usesUniformSizes: usesUniformSizes, labels: learner.pointee.trainer.samples)
        kept = [:]
    }

    /// Returns the features of an object now, and the network's weights.
    private func scored(_ record: ObjectRecord, at instant: FeatureInstant) -> VictimRecord.Scored {
        let learner = learner
        let row = HeapArray<UInt8>(repeating: 0, count: SampleRow.width)
        learner.pointee.features.write(record, at: instant, into: row.base)
        let weights = learner.pointee.watch.weights(after: learner.pointee.trainer.steps) {
            learner.pointee.trainer.network.weights
        }
        return VictimRecord.Scored(
            request: instant.request, row: (0..<row.count).map { row[$0] }, logSize: record.logSize, weights: weights)
    }
}

/// The choice of one victim.
struct VictimRecord {
    /// An object that was compared.
    struct Observation {
        let entry: EntryID
        /// The object's number among all caches that share the model.
        let object: UInt32
        /// The user of the last access; with per-user caches the user of the cache.
        let user: UInt32
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

/// Waits for one eviction, counted from 1 over all caches that share a model.
struct VictimWatch {
    private var remaining = 0
    var record: VictimRecord?
    /// The network's weights after a number of training steps: one copy for all objects scored with them.
    private var weights: (steps: Int, values: [Float]) = (-1, [])

    /// A watch that waits for no eviction.
    init() {}

    /// A watch that waits for the eviction with this number.
    init(number: Int) { remaining = number }

    /// Whether the eviction is still to come.
    @inline(__always)
    var isWaiting: Bool { remaining > 0 }

    /// Returns the weights after a number of training steps.
    mutating func weights(after steps: Int, _ values: () -> [Float]) -> [Float] {
        if weights.steps != steps { weights = (steps, values()) }
        return weights.values
    }

    /// Counts an eviction and returns whether it is the awaited one.
    @inline(__always)
    mutating func countEviction() -> Bool {
        if remaining == 0 { return false }
        remaining -= 1
        return remaining == 0
    }
}
