import HalcyonEviction

/// Why someone went.
extension LearnedPolicy {
    /// Whether a judge looks at all residents, not at some of them; see ``weakest(by:)``.
    func looksAtAll(_ judge: Contest.Judge) -> Bool {
        judge == .recency || (judge == .greedyDual && costsDiffer)
    }

    /// Who would go if `slot` did not, which a judge holds for the least: another of those that it looks at or the newcomer,
    /// with its score.
    func runnerUp(to slot: UInt32, by judge: Contest.Judge, newcomerScore: Float) -> (slot: UInt32, score: Float) {
        var (runnerUp, next) = (ObjectRecord.none, Float.infinity)
        if judge == .recency {
            let newer = history.records[Int(slot)].newer
            if newer != ObjectRecord.none { (runnerUp, next) = (newer, recency(of: newer)) }
        } else if looksAtAll(judge) {
            if let second = worths.second { (runnerUp, next) = (second.entry, second.key.priority) }
        } else {
            for place in 0..<candidates.count where candidates.slots[place] != slot && candidates.scores[place] < next {
                (runnerUp, next) = (candidates.slots[place], candidates.scores[place])
            }
        }
        return newcomer != ObjectRecord.none && newcomerScore < next ? (newcomer, newcomerScore) : (runnerUp, next)
    }

    /// What is known of an object now.
    func known(of slot: UInt32) -> VictimRecord.Scored {
        let record = history.records[Int(slot)]
        let row = HeapArray<UInt8>(repeating: 0, count: Sample.width)
        write(record, into: row.base)
        let learner = learner
        let weights = learner.pointee.watch.weights(after: learner.pointee.trainer.steps) {
            learner.pointee.trainer.network.weights
        }
        return VictimRecord.Scored(
            request: Int(now), row: (0..<row.count).map { row[$0] }, logSize: record.logCost, weights: weights)
    }

    /// Keeps what is known of the candidates that have just been scored, beside what was known of the others when they were.
    @inline(never)
    mutating func keepScored() {
        var kept: [UInt32: VictimRecord.Scored] = [:]
        for place in 0..<candidates.count {
            let slot = candidates.slots[place]
            kept[slot] = candidates.age(at: place, scoring: scoring) == 0 ? known(of: slot) : scored[slot]
        }
        scored = kept
    }

    /// Keeps what is known of the newcomer, which is being scored.
    @inline(never)
    mutating func keepScoredNewcomer() { scored[newcomer] = known(of: newcomer) }

    /// Writes down what speaks for evicting `slot` of so many residents, and who would have gone in its place.
    ///
    /// - Parameter isScoredNow: whether the scores are of this moment, not of when the candidates were scored.
    mutating func observe(
        _ slot: UInt32, among residents: Int, by judge: Contest.Judge, score: Float,
        runnerUp: (slot: UInt32, score: Float), isScoredNow: Bool
    ) {
        func observation(_ slot: UInt32, _ score: Float) -> VictimRecord.Observation {
            let kept = isScoredNow && slot != newcomer ? nil : scored[slot]
            let record = history.records[Int(slot)]
            return VictimRecord.Observation(
                entry: record.entry, object: record.object, user: record.user, isNewcomer: slot == newcomer,
                score: score, scored: kept ?? known(of: slot))
        }
        learner.pointee.watch.record = VictimRecord(
            request: Int(now), judge: judge, victim: observation(slot, score),
            runnerUp: runnerUp.slot == ObjectRecord.none ? nil : observation(runnerUp.slot, runnerUp.score),
            candidates: residents)
        scored = [:]
    }
}
