import HalcyonEviction

/// Why someone went.
extension LearnedPolicy {
    /// Whether a judge looks at all residents, not at some of them; see ``weakest(by:)``.
    @inline(__always)
    func looksAtAll(_ judge: Contest.Judge) -> Bool { judge == .greedyDual && costsDiffer }

    /// Who would go if `slot` did not, which a judge holds for the least: another of those that it looks at or the newcomer,
    /// with its score. Scores that are out of date are looked at again, as ``weakest(by:)`` does, but stay as they are;
    /// looked at again, it may have less than the victim had.
    mutating func runnerUp(
        to slot: UInt32, by judge: Contest.Judge, newcomerScore: Float
    ) -> (slot: UInt32, score: Float) {
        var (runnerUp, next) = (ObjectRecord.none, Float.infinity)
        if looksAtAll(judge) {
            if let second = worths.second { (runnerUp, next) = (second.entry, second.key.priority) }
        } else {
            var scores = (0..<candidates.count).map { candidates.scores[$0] }
            var isOld = (0..<candidates.count).map { candidates.age(at: $0, scoring: scoring) > 0 }
            let others = scores.indices.filter { candidates.slots[$0] != slot }
            while let place = others.min(by: { scores[$0] < scores[$1] }) {
                (runnerUp, next) = (candidates.slots[place], scores[place])
                if !isOld[place] { break }
                isOld[place] = false
                scored[runnerUp] = known(of: runnerUp)
                scores[place] = scoreByNetwork(history.records[Int(runnerUp)])
            }
        }
        return newcomer != ObjectRecord.none && newcomerScore < next ? (newcomer, newcomerScore) : (runnerUp, next)
    }

    /// What is known of an object now.
    mutating func known(of slot: UInt32) -> VictimRecord.Scored {
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
            candidates: residents, costsDiffer: costsDiffer)
        scored = [:]
    }
}
