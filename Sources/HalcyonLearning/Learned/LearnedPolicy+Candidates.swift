import HalcyonEviction

/// Who might go.
extension LearnedPolicy {
    /// How many evictions one scoring serves: at most one for every ten residents, because the last of them is chosen by scores that are
    /// as old. Where costs differ half as many as elsewhere: what objects are worth ranges over octaves there, and much is to be gained by
    /// looking at more of them. Otherwise fewer where misses are rare, so that the effort for each request stays.
    @inline(__always)
    var evictionsAScoring: Int {
        let most = min(parameters.evictions, history.count / 10)
        let wanted = costsDiffer ? 0.5 : missRatio * 4
        return max(min(Int(Double(parameters.evictions) * wanted + 0.5), most), 1)
    }

    /// How many candidates are scored together: twice as many where misses are very rare.
    private var candidateCount: Int { missRatio < 0.1 ? candidates.limit : parameters.candidates }

    /// Whether the network scores only what is drawn, and candidates keep their scores; see ``refresh()``.
    private var keepsScores: Bool { costsDiffer && history.count > candidates.limit }

    /// Whether a newcomer that came in may join the candidates with the score that it has.
    var hasRoomForNewcomer: Bool { candidates.count < (keepsScores ? candidates.limit : candidateCount) }

    /// Has the judge score candidates for the next evictions.
    ///
    /// - Parameter wereScored: whether the network has scored the present ones, so that it may keep their scores.
    mutating func renewCandidates(wereScored: Bool) {
        if judge == .network && wereScored && keepsScores { return refresh() }
        drawCandidates()
        score(judge)
    }

    /// Draws candidates to those that scored low: all residents where they are few, otherwise some from the least recent end and random
    /// ones.
    private mutating func drawCandidates() {
        let records = history.records.base
        if history.count <= parameters.candidates {
            var slot = history.oldest
            while slot != ObjectRecord.none {
                if records[Int(slot)].candidate == ObjectRecord.notCandidate { candidates.add(slot, records: records) }
                slot = records[Int(slot)].newer
            }
            return
        }
        candidates.dropBetterHalf(records: records)
        let count = candidateCount
        drawFromTail(count / 8)
        for _ in candidates.count..<max(candidates.count, count) {
            let slot = randomResident()
            if slot == ObjectRecord.none || records[Int(slot)].candidate != ObjectRecord.notCandidate { continue }
            candidates.add(slot, records: records)
        }
    }

    /// Adds the next residents from the least recent end.
    private mutating func drawFromTail(_ number: Int) {
        let records = history.records.base
        for _ in 0..<number where !candidates.isFull {
            let slot = nextOfTail()
            if records[Int(slot)].candidate == ObjectRecord.notCandidate { candidates.add(slot, records: records) }
        }
    }

    /// The next resident from the least recent end, where there is one at all. Those that were looked at and stay are passed over until
    /// the hand has gone through a part of the list.
    private mutating func nextOfTail() -> UInt32 {
        if hand == ObjectRecord.none || handSteps * 4 > history.count {
            hand = history.oldest
            handSteps = 0
        }
        let slot = hand
        handSteps += 1
        hand = history.records[Int(slot)].newer
        return slot
    }

    /// Has the network score random residents, which join those that scored low before. These keep their scores, so that the least of
    /// the latest few hundred that were drawn goes for the effort of a few; see ``weakest(by:)`` for what is out of date.
    private mutating func refresh() {
        let records = history.records.base
        let learner = learner
        let count = parameters.candidates
        let (drawn, scores) = (learner.pointee.drawn.base, learner.pointee.scores.base)
        candidates.dropBest(leaving: candidates.limit - count, records: records)
        for index in 0..<count {
            let slot = randomResident()
            // Where most records are free, because there were many more residents once, chance may find none.
            drawn[index] = slot == ObjectRecord.none ? nextOfTail() : slot
        }
        predict(drawn, count: count, scores: scores)
        for index in 0..<count {
            let slot = drawn[index]
            let place = records[Int(slot)].candidate
            if place == ObjectRecord.notCandidate {
                candidates.add(slot, score: scores[index], scoring: scoring, records: records)
            } else {
                candidates.rescore(at: Int(place), score: scores[index], scoring: scoring)
            }
        }
    }
}
