import HalcyonEviction

/// Who goes: the judges, their scores and their trials.
extension LearnedPolicy {
    /// Asks who is to judge, and has that judge score new candidates.
    mutating func refill() {
        served = 0
        scoring &+= 1
        newcomerScore = nil
        let isReady = learner.pointee.trainer.isReady && parameters.decider != .heuristic
        let last = judge
        judge =
            switch parameters.decider {
            case .heuristic: .greedyDual
            case .network where isReady: .network
            case .contest, .network:
                learner.pointee.trainer.contest.winner(
                    networkIsReady: isReady, costsDiffer: costsDiffer)
            }
        renewCandidates(wereScored: last == .network)
        if isSampling && scoring % (learner.pointee.trainer.steps < 1_000 ? 1 : 4) == 0 {
            hold(networkIsReady: isReady)
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
            var (slot, least) = judge == .network ? choiceOfNetwork() : choice(of: judge)
            if newcomer != ObjectRecord.none && scoreOfNewcomer(by: judge) < least { slot = newcomer }
            if let known = choices.firstIndex(where: { $0.slot == slot }) {
                choices[known].judges |= judge.choice
            } else {
                choices.append((slot, judge.choice))
            }
        }
        for choice in choices { take(choice.slot, choices: choice.judges) }
    }

    /// Whom the network would evict, whoever judges.
    private mutating func choiceOfNetwork() -> (slot: UInt32, score: Float) {
        if judge == .network { return weakest(by: .network) }
        score(.network)
        let choice = weakest(by: .network)
        score(judge)
        return choice
    }

    /// The resident that the deciding judge holds for the least, and its score: the least of the candidates, which it has scored; for
    /// ``GreedyDual`` where costs differ the least of all residents.
    mutating func weakest(by judge: Contest.Judge) -> (slot: UInt32, score: Float) {
        if looksAtAll(judge), let least = worths.smallest { return (least.entry, least.key.priority) }
        var place = candidates.least()
        // An older score only says who is to be looked at again.
        while candidates.age(at: place, scoring: scoring) > 0 {
            let slot = candidates.slots[place]
            if learner.pointee.watch.isWaiting { scored[slot] = known(of: slot) }
            candidates.rescore(at: place, score: scoreByNetwork(history.records[Int(slot)]), scoring: scoring)
            place = candidates.least()
        }
        return (candidates.slots[place], candidates.scores[place])
    }

    /// The resident that a heuristic holds for the least, and its score, whoever has scored the candidates.
    private mutating func choice(of heuristic: Contest.Judge) -> (slot: UInt32, score: Float) {
        if looksAtAll(heuristic), let least = worths.smallest { return (least.entry, least.key.priority) }
        var (slot, least) = (ObjectRecord.none, Float.infinity)
        for place in 0..<candidates.count {
            let candidate = candidates.slots[place]
            let score =
                heuristic == .recency ? recency(of: candidate) : history.records[Int(candidate)].priority
            if score < least { (slot, least) = (candidate, score) }
        }
        return (slot, least)
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

    /// Has a judge score all candidates.
    mutating func score(_ judge: Contest.Judge) {
        let records = history.records.base
        let scores = candidates.scores.base
        let count = candidates.count
        switch judge {
        case .greedyDual:
            for place in 0..<count { scores[place] = records[Int(candidates.slots[place])].priority }
        case .recency:
            for place in 0..<count { scores[place] = recency(of: candidates.slots[place]) }
        case .network:
            predict(candidates.slots.base, count: count, scores: scores)
        }
        candidates.scoresChanged(scoring: scoring)
    }

    /// What the network gives so many residents, at least one, and whether it tells them apart.
    mutating func predict(_ slots: UnsafePointer<UInt32>, count: Int, scores: UnsafeMutablePointer<Float>) {
        let records = history.records.base
        let learner = learner
        learner.pointee.features.write(
            slots, count: count, in: records, aged: heuristic.clock, now: now, second: second,
            columns: learner.pointee.trainer.inputs)
        learner.pointee.trainer.predict(columns: count, user: correction, logits: scores)
        var (least, most) = (Float.infinity, -Float.infinity)
        var place = 0
        while place < count {
            let logit = scores[place]
            if logit < least { least = logit }
            if logit > most { most = logit }
            let logSize = records[Int(slots[place])].logCost
            scores[place] = missCost.score(logit: logit, logSize: logSize, costsDiffer: costsDiffer)
            place &+= 1
        }
        networkTellsApart = most - least > Self.leastSpread
    }

    /// What the judge gives the newcomer; it can only be refused where it is less than a resident.
    mutating func scoreOfNewcomer(by judge: Contest.Judge) -> Float {
        guard newcomer != ObjectRecord.none else { return .infinity }
        if learner.pointee.watch.isWaiting { keepScoredNewcomer() }
        let record = history.records[Int(newcomer)]
        switch judge {
        case .greedyDual: return record.priority
        case .recency: return 1
        case .network: return scoreByNetwork(record)
        }
    }

    /// What the network gives an object now.
    mutating func scoreByNetwork(_ record: ObjectRecord) -> Float {
        let learner = learner
        write(record, inputs: learner.pointee.trainer.inputs)
        let logit = learner.pointee.trainer.predict(user: correction)
        return missCost.score(logit: logit, logSize: record.logCost, costsDiffer: costsDiffer)
    }
}
