import HalcyonEviction

/// Samples the residents that compete to be the next victims, and counts the decisions that their scores serve.
///
/// Candidates are residents from the least recent end, random residents, and residents that had low scores before. They are
/// scored together, and the scores serve several evictions. With variable sizes in larger caches the network scores only
/// new candidates; older ones keep their scores, and the lowest is updated before it is used.
struct CandidateSampler: ~Copyable {
    /// The weight of an eviction among the decisions that one scoring serves; a refusal has the weight 1.
    private static let evictionWeight = 16

    /// The candidates and their scores.
    private(set) var candidates: CandidateSet
    /// The next resident from the least recent end.
    private(set) var hand = ObjectRecord.none
    private var handSteps = 0
    /// The number of the latest scoring.
    private(set) var scoring = 0
    /// The decisions since then, by their weights.
    private var served = 0
    private let learner: UnsafeMutablePointer<Learner>
    private let missCost: MissCost
    /// The parameters `candidates` and `evictions`.
    private let drawnTogether: Int
    private let mostEvictions: Int
    private let usesUniformSizes: Bool

    init(learner: UnsafeMutablePointer<Learner>, parameters: LearnedParameters, usesUniformSizes: Bool) {
        self.learner = learner
        missCost = parameters.missCost
        drawnTogether = parameters.candidates
        mostEvictions = parameters.evictions
        self.usesUniformSizes = usesUniformSizes
        candidates = CandidateSet(
            limit: min(parameters.candidates * 2, CandidateSet.bound), vectors: parameters.blas.vectors)
    }

    var byteCount: Int { candidates.byteCount }

    // MARK: The decisions that one scoring serves

    /// Returns the number of evictions that one scoring serves.
    ///
    /// It is at most a tenth of the residents, because the scores of the last eviction are as old. With variable sizes it is
    /// half of the parameter: values then range over octaves, so that comparing more objects pays. With uniform sizes it is
    /// lower where misses are rare, which keeps the work per request constant.
    @inline(__always)
    func evictionsPerScoring(residents: Int, missRatio: Double) -> Int {
        let most = min(mostEvictions, residents / 10)
        let ratio = usesUniformSizes ? missRatio * 4 : 0.5
        return max(min(Int(Double(mostEvictions) * ratio + 0.5), most), 1)
    }

    /// Returns whether the scores have served their decisions, so that candidates must be scored again.
    @inline(__always)
    func needsScoring(residents: Int, missRatio: Double) -> Bool {
        let evictions = evictionsPerScoring(residents: residents, missRatio: missRatio)
        return served >= CandidateSampler.evictionWeight * evictions || candidates.count == 0
    }

    /// Starts another scoring.
    mutating func beginScoring() {
        served = 0
        scoring &+= 1
    }

    /// Counts an eviction that the scores served.
    @inline(__always)
    mutating func countEviction() { served += CandidateSampler.evictionWeight }

    /// Counts a refusal that the scores served.
    @inline(__always)
    mutating func countRefusal() { served += 1 }

    // MARK: Candidates

    /// Returns the number of candidates that are scored together: twice as many where misses are very rare.
    private func candidateCount(missRatio: Double) -> Int { missRatio < 0.1 ? candidates.limit : drawnTogether }

    /// Returns whether the network scores only new candidates while older ones keep their scores.
    func keepsScores(residents: Int) -> Bool { !usesUniformSizes && residents > candidates.limit }

    /// Returns whether a new resident may become a candidate with the score that it has.
    func hasRoom(residents: Int, missRatio: Double) -> Bool {
        candidates.count < (keepsScores(residents: residents) ? candidates.limit : candidateCount(missRatio: missRatio))
    }

    /// Adds candidates to those that had low scores: all residents if there are few, otherwise some from the least recent end
    /// and some random ones. They have no scores yet.
    ///
    /// - Parameter newObject: the record of the object that is not resident yet, or `none`.
    mutating func draw(
        _ history: inout ObjectHistory, _ generator: inout SplitMix64, newObject: UInt32, missRatio: Double
    ) {
        let records = history.records.base
        if history.count <= drawnTogether {
            var slot = history.oldest
            while slot != ObjectRecord.none {
                if records[Int(slot)].candidate == ObjectRecord.notCandidate { candidates.add(slot, records: records) }
                slot = records[Int(slot)].newer
            }
            return
        }
        candidates.dropBetterHalf(records: records)
        let count = candidateCount(missRatio: missRatio)
        var copy = generator
        history.expectRandomResidents(&copy, count: max(count - candidates.count - count / 8, 0))
        for _ in 0..<count / 8 where !candidates.isFull {
            let slot = nextFromTail(&history)
            if records[Int(slot)].candidate == ObjectRecord.notCandidate { candidates.add(slot, records: records) }
        }
        for _ in candidates.count..<max(candidates.count, count) {
            let slot = history.randomResident(&generator, excluding: newObject)
            if slot == ObjectRecord.none || records[Int(slot)].candidate != ObjectRecord.notCandidate { continue }
            candidates.add(slot, records: records)
        }
    }

    /// Adds random residents that the network scores. Older candidates keep their scores, so that the victim is the lowest
    /// of the latest few hundred residents drawn, at the price of scoring a few.
    ///
    /// - Parameter newObject: the record of the object that is not resident yet, or `none`.
    mutating func drawScored(
        _ history: inout ObjectHistory, _ generator: inout SplitMix64, newObject: UInt32, at instant: FeatureInstant
    ) {
        let records = history.records.base
        let (drawn, scores) = (learner.pointee.drawn.base, learner.pointee.scores.base)
        var copy = generator
        history.expectRandomResidents(&copy, count: drawnTogether)
        candidates.dropBest(leaving: candidates.limit - drawnTogether, records: records)
        for index in 0..<drawnTogether {
            let slot = history.randomResident(&generator, excluding: newObject)
            // If most records are free, because there were many more residents once, random draws may find none.
            drawn[index] = slot == ObjectRecord.none ? nextFromTail(&history) : slot
        }
        score(drawn, count: drawnTogether, of: records, at: instant, into: scores)
        for index in 0..<drawnTogether {
            let slot = drawn[index]
            let place = records[Int(slot)].candidate
            if place == ObjectRecord.notCandidate {
                candidates.add(slot, score: scores[index], scoring: scoring, records: records)
            } else {
                candidates.rescore(at: Int(place), score: scores[index], scoring: scoring)
            }
        }
    }

    /// Returns the next resident from the least recent end; there must be one. The hand skips residents that it has passed
    /// until it has gone through a quarter of the list.
    private mutating func nextFromTail(_ history: inout ObjectHistory) -> UInt32 {
        if hand == ObjectRecord.none || handSteps * 4 > history.count {
            hand = history.oldest
            handSteps = 0
        }
        let slot = hand
        handSteps += 1
        hand = history.records[Int(slot)].newer
        return slot
    }

    /// Adds a resident that was just inserted, with the score that it got before.
    mutating func add(_ slot: UInt32, score: Float, records: UnsafeMutablePointer<ObjectRecord>) {
        candidates.add(slot, score: score, scoring: scoring, records: records)
    }

    /// Removes a resident from the candidates and moves the hand past it, because it is evicted or becomes the most recent.
    @inline(__always)
    mutating func remove(_ slot: UInt32, records: UnsafeMutablePointer<ObjectRecord>) {
        let place = records[Int(slot)].candidate
        if place != ObjectRecord.notCandidate { candidates.remove(at: Int(place), records: records) }
        if hand == slot { hand = records[Int(slot)].newer }
    }

    // MARK: Scores

    /// Scores all candidates by an expert.
    mutating func score(
        by expert: Expert, of records: UnsafeMutablePointer<ObjectRecord>, at instant: FeatureInstant
    ) {
        let (slots, scores, count) = (candidates.slots.base, candidates.scores.base, candidates.count)
        switch expert {
        case .greedyDual:
            for place in 0..<count { scores[place] = records[Int(slots[place])].priority }
        case .network:
            score(slots, count: count, of: records, at: instant, into: scores)
        }
        candidates.scoresChanged(scoring: scoring)
    }

    /// Scores `count` residents, at least one, by the network in one product. O(count × weights).
    private func score(
        _ slots: UnsafePointer<UInt32>, count: Int, of records: UnsafePointer<ObjectRecord>,
        at instant: FeatureInstant, into scores: UnsafeMutablePointer<Float>
    ) {
        let learner = learner
        learner.pointee.features.write(
            slots, count: count, of: records, at: instant, columns: learner.pointee.trainer.inputs)
        learner.pointee.trainer.predict(columns: count, logits: scores)
        var place = 0
        while place < count {
            scores[place] = missCost.score(
                logit: scores[place], logSize: records[Int(slots[place])].logSize, usesUniformSizes: usesUniformSizes)
            place &+= 1
        }
    }

    /// Returns the network's score of one object now. O(weights).
    func score(_ record: UnsafePointer<ObjectRecord>, at instant: FeatureInstant) -> Float {
        let learner = learner
        learner.pointee.features.write(record, at: instant, inputs: learner.pointee.trainer.inputs)
        let logit = learner.pointee.trainer.predict()
        return missCost.score(logit: logit, logSize: record.pointee.logSize, usesUniformSizes: usesUniformSizes)
    }

    /// Returns the candidate with the lowest score, and whether the score is of the latest scoring.
    mutating func lowest() -> (resident: ScoredResident, isUpToDate: Bool) {
        let place = candidates.least()
        return (
            ScoredResident(slot: candidates.slots[place], score: candidates.scores[place]),
            candidates.age(at: place, scoring: scoring) == 0
        )
    }

    /// Changes the score of the candidate with the lowest one.
    mutating func rescoreLowest(_ score: Float) {
        candidates.rescore(at: candidates.least(), score: score, scoring: scoring)
    }

    /// Returns the candidate that was requested least recently.
    func leastRecent(of records: UnsafeMutablePointer<ObjectRecord>, at now: Int) -> UInt32 {
        var lowest = (slot: ObjectRecord.none, age: UInt32(0))
        for place in 0..<candidates.count {
            let slot = candidates.slots[place]
            let age = records[Int(slot)].age(at: now)
            if age >= lowest.age { lowest = (slot, age) }
        }
        return lowest.slot
    }
}

/// A resident, by the number of its record, and the score that an expert gave it.
struct ScoredResident: BitwiseCopyable {
    var slot: UInt32
    var score: Float
}
