import HalcyonEviction

/// Who goes: the judges, their scores and their trials.
extension LearnedPolicy {
    /// Draws new candidates to those that scored low, asks who is to judge, and scores all of them.
    mutating func refill() {
        served = 0
        refills &+= 1
        newcomerScore = nil
        drawCandidates()
        let isReady = learner.pointee.trainer.isReady && parameters.decider != .heuristic
        judge =
            switch parameters.decider {
            case .heuristic: .greedyDual
            case .network where isReady: .network
            case .contest, .network:
                learner.pointee.trainer.contest.winner(
                    networkIsReady: isReady, costsDiffer: costsDiffer)
            }
        if isSampling && refills % (learner.pointee.trainer.steps < 1_000 ? 1 : 4) == 0 {
            hold(networkIsReady: isReady)
            // The network is asked last in a trial, and its scores stand.
            if judge != .network { score(judge) }
        } else {
            score(judge)
        }
        if judge == .network && parameters.decider == .contest && candidates.count > 1 && !networkTellsApart {
            judge = learner.pointee.trainer.contest.winner(networkIsReady: false, costsDiffer: costsDiffer)
            score(judge)
        }
        if learner.pointee.watch.isWaiting { keepScored() }
    }

    /// Holds a trial: takes a sample of whom each judge would evict now.
    mutating func hold(networkIsReady: Bool) {
        var choices: [(slot: UInt32, judges: UInt8)] = []
        for judge in [Contest.Judge.greedyDual, .recency, .network] where judge != .network || networkIsReady {
            score(judge)
            var (slot, least) = weakest(by: judge)
            if newcomer != ObjectRecord.none && scoreOfNewcomer(by: judge) < least { slot = newcomer }
            if let known = choices.firstIndex(where: { $0.slot == slot }) {
                choices[known].judges |= judge.choice
            } else {
                choices.append((slot, judge.choice))
            }
        }
        for choice in choices { take(choice.slot, choices: choice.judges) }
    }

    /// The resident that a judge holds for the least, and its score: the least of the candidates, which must have been
    /// scored by that judge; for ``GreedyDual`` where costs differ the least of all residents.
    mutating func weakest(by judge: Contest.Judge) -> (slot: UInt32, score: Float) {
        if looksAtAll(judge), let least = worths.smallest {
            return (least.entry, least.key.priority)
        }
        let place = candidates.least()
        return (candidates.slots[place], candidates.scores[place])
    }

    /// What ``Contest/Judge/recency`` gives an object; nothing if there is none.
    func recency(of slot: UInt32) -> Float {
        slot == ObjectRecord.none ? 0 : -Float(now &- history.records[Int(slot)].last)
    }

    /// Evicts the least recent resident, in LRU's turn; see ``RecencyGuard``.
    mutating func leastRecent() -> EntryID {
        let slot = history.oldest
        evictions += 1
        let learner = learner
        if learner.pointee.watch.isDue() {
            let next = history.records[Int(slot)].newer
            observe(
                slot, among: history.count, by: .recency, score: recency(of: slot),
                runnerUp: (next, recency(of: next)), isScoredNow: true)
        }
        return leave(slot)
    }

    mutating func score(_ judge: Contest.Judge) {
        let records = history.records.base
        let scores = candidates.scores.base
        let count = candidates.count
        let learner = learner
        candidates.scoresChanged()
        switch judge {
        case .greedyDual:
            for place in 0..<count { scores[place] = records[Int(candidates.slots[place])].priority }
        case .recency:
            for place in 0..<count { scores[place] = recency(of: candidates.slots[place]) }
        case .network:
            let inputs = learner.pointee.trainer.inputs
            learner.pointee.features.expect(candidates.slots.base, count: count, in: records)
            learner.pointee.features.write(
                candidates.slots.base, count: count, in: records, aged: heuristic.clock, now: now, second: second,
                inputs: inputs)
            learner.pointee.trainer.predict(count: count, user: correction, logits: scores)
            var (least, most) = (Float.infinity, -Float.infinity)
            var place = 0
            while place < count {
                let logit = scores[place]
                if logit < least { least = logit }
                if logit > most { most = logit }
                let logSize = records[Int(candidates.slots[place])].logCost
                scores[place] = missCost.value(logit: logit, logSize: logSize)
                place &+= 1
            }
            networkTellsApart = most - least > Self.leastSpread
        }
    }

    /// What the judge gives the newcomer; it can only be refused where it is less than a resident.
    mutating func scoreOfNewcomer(by judge: Contest.Judge) -> Float {
        guard newcomer != ObjectRecord.none else { return .infinity }
        if learner.pointee.watch.isWaiting { keepScoredNewcomer() }
        let record = history.records[Int(newcomer)]
        switch judge {
        case .greedyDual: return record.priority
        case .recency: return 1
        case .network:
            let learner = learner
            write(record, inputs: learner.pointee.trainer.inputs)
            var logit: Float = 0
            learner.pointee.trainer.predict(count: 1, user: correction, logits: &logit)
            return missCost.value(logit: logit, logSize: record.logCost)
        }
    }
}
