import HalcyonEviction

/// Why someone went.
extension LearnedPolicy {
    /// Whether a judge looks at all residents, not at some of them; see ``weakest(by:)``.
    func looksAtAll(_ judge: Contest.Judge) -> Bool { judge == .greedyDual && costsDiffer }

    /// Who would go if `slot` did not, which a judge holds for the least: another of those that it looks at or the newcomer,
    /// with its score.
    func runnerUp(to slot: UInt32, by judge: Contest.Judge, newcomerScore: Float) -> (slot: UInt32, score: Float) {
        var (runnerUp, next) = (ObjectRecord.none, Float.infinity)
        if looksAtAll(judge) {
            if let second = worths.second { (runnerUp, next) = (second.entry, second.key.priority) }
        } else {
            for place in 0..<candidates.count where candidates.slots[place] != slot && candidates.scores[place] < next {
                (runnerUp, next) = (candidates.slots[place], candidates.scores[place])
            }
        }
        return newcomer != ObjectRecord.none && newcomerScore < next ? (newcomer, newcomerScore) : (runnerUp, next)
    }

    /// Writes down what speaks for evicting `slot` of so many residents, and who would have gone in its place.
    mutating func observe(
        _ slot: UInt32, among residents: Int, by judge: Contest.Judge, score: Float,
        runnerUp: (slot: UInt32, score: Float)
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
            candidates: residents, weights: learner.pointee.trainer.network.weights)
    }
}
