import HalcyonEviction

/// Who might go.
extension LearnedPolicy {
    /// How many evictions one scoring serves: half as many where costs differ, because what objects are worth ranges over octaves
    /// there and much is to be gained by looking at more of them, and at most one for every ten residents, because the last of
    /// them is chosen by scores that are as old.
    var evictionsAScoring: Int {
        let wanted = costsDiffer ? parameters.evictions / 2 : parameters.evictions
        return max(min(wanted, history.count / 10), 1)
    }

    /// Draws the candidates of a judge that scores all of them: all residents where they are few, otherwise random ones to those
    /// that scored low before.
    mutating func drawCandidates() {
        let records = history.records.base
        if history.count <= parameters.candidates {
            var slot = history.oldest
            while slot != ObjectRecord.none {
                if records[Int(slot)].candidate == ObjectRecord.notCandidate { candidates.add(slot, records: records) }
                slot = records[Int(slot)].newer
            }
            return
        }
        candidates.dropBest(leaving: parameters.candidates / 2, records: records)
        for _ in candidates.count..<parameters.candidates {
            let slot = randomResident()
            if slot == ObjectRecord.none || records[Int(slot)].candidate != ObjectRecord.notCandidate { continue }
            candidates.add(slot, records: records)
        }
    }

    /// Has the network score random residents, which join those that scored low before. These keep their scores, so that the least of
    /// the latest few hundred that were drawn goes for the effort of a few; see ``weakest(by:)`` for what is out of date.
    mutating func refresh() {
        let records = history.records.base
        let learner = learner
        candidates.dropBest(leaving: candidates.limit - parameters.candidates, records: records)
        var count = 0
        for index in 0..<parameters.candidates {
            let slot = index < tailDraws ? nextOfTail() : randomResident()
            if slot == ObjectRecord.none { continue }
            learner.pointee.drawn[count] = slot
            count += 1
        }
        let (drawn, scores) = (learner.pointee.drawn.base, learner.pointee.scores.base)
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

    /// How many of them are taken from the least recent end, where every object takes the same room: what the network would let go is
    /// mostly there, but not where small objects are to be kept for long.
    private var tailDraws: Int { costsDiffer ? 0 : parameters.candidates / 2 }

    /// The next resident from the least recent end. Those that were looked at and stay are passed over until the hand has gone through
    /// a quarter of the list.
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
}
