import HalcyonEviction

/// Who might go.
extension LearnedPolicy {
    /// How many evictions one scoring serves: fewer where misses are rare, so that the effort for each request stays, and
    /// at most one for every ten residents, because the last of them is chosen by scores that are as old.
    var evictionsAScoring: Int {
        let most = min(parameters.evictions, history.count / 10)
        return max(min(Int(Double(parameters.evictions) * missRatio * 4 + 0.5), most), 1)
    }

    /// How many candidates are scored together: twice as many where misses are very rare.
    var candidateCount: Int { missRatio < 0.1 ? candidates.limit : parameters.candidates }

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
        candidates.dropBetterHalf(records: records)
        let count = candidateCount
        drawFromTail(count / 8)
        for _ in candidates.count..<max(candidates.count, count) {
            let slot = randomResident()
            if slot == ObjectRecord.none || records[Int(slot)].candidate != ObjectRecord.notCandidate { continue }
            candidates.add(slot, records: records)
        }
    }

    /// Adds the next residents from the least recent end. Those that were looked at and stay are passed over until the
    /// hand has gone through a part of the list.
    mutating func drawFromTail(_ number: Int) {
        let records = history.records.base
        for _ in 0..<number where !candidates.isFull {
            if hand == ObjectRecord.none || handSteps * 4 > history.count {
                hand = history.oldest
                handSteps = 0
            }
            let slot = hand
            handSteps += 1
            hand = records[Int(slot)].newer
            if records[Int(slot)].candidate == ObjectRecord.notCandidate { candidates.add(slot, records: records) }
        }
    }
}
