import HalcyonEviction

/// Why someone went.
extension LearnedPolicy {
    /// Who would go if `slot` did not: another candidate or the newcomer, with its score.
    func runnerUp(to slot: UInt32, newcomerScore: Float) -> (slot: UInt32, score: Float) {
        var (runnerUp, next) = (newcomer, newcomer == ObjectRecord.none ? Float.infinity : newcomerScore)
        for place in 0..<candidates.count where candidates.slots[place] != slot && candidates.scores[place] < next {
            (runnerUp, next) = (candidates.slots[place], candidates.scores[place])
        }
        return (runnerUp, next)
    }

    /// Writes down what speaks for evicting `slot`, and who would have gone in its place.
    mutating func observe(
        _ slot: UInt32, by judge: Contest.Judge, score: Float, runnerUp: (slot: UInt32, score: Float)
    ) {
        func observation(_ slot: UInt32, _ score: Float) -> VictimRecord.Observation {
            let record = history.records[Int(slot)]
            let row = HeapArray<UInt8>(repeating: 0, count: Sample.width)
            write(record, into: row.base)
            return VictimRecord.Observation(
                entry: record.entry, isNewcomer: slot == newcomer, score: score, row: (0..<row.count).map { row[$0] })
        }
        learner.pointee.watch.record = VictimRecord(
            request: Int(now), judge: judge, victim: observation(slot, score),
            runnerUp: runnerUp.slot == ObjectRecord.none ? nil : observation(runnerUp.slot, runnerUp.score),
            candidates: candidates.count, weights: learner.pointee.trainer.network.weights)
    }
}
