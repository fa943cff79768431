import HalcyonEviction

/// What every request does before and after the decision.
extension LearnedPolicy {
    /// Starts a request: time moves on, and samples that waited long enough count as not asked for again.
    mutating func begin(_ access: Access, isMiss: Bool) {
        now &+= 1
        missRatio += ((isMiss ? 1 : 0) - missRatio) * max(0.001, 1 / Double(100 + now))
        second = UInt32(truncatingIfNeeded: access.time / 1_000_000)
        let learner = learner
        let residents = inserted > 0 ? capacity * inserted / max(filled, 1) : 0
        horizon = learner.pointee.horizon.requests(residents: residents, missRatio: missRatio)
        learner.pointee.features.habits.expect(access)
        while let due = pending.popDue(now: now, horizon: horizon) {
            if !due.isSettled { learner.pointee.trainer.add(due.row, isPositive: false, user: correction) }
        }
    }

    /// Settles what waited for this object, then takes the access into account.
    mutating func note(_ access: Access, slot: UInt32, isMiss: Bool) {
        let record = history.records.base + Int(slot)
        let learner = learner
        var number = record.pointee.pending
        while let sample = pending.settle(number) {
            learner.pointee.trainer.add(sample.row, isPositive: true, user: correction)
            number = sample.older
        }
        record.pointee.pending = ObjectRecord.none
        let isNew = record.pointee.accesses == 0
        if isGuarded {
            let last = isNew ? nil : record.pointee.last
            recencyGuard.note(last: last, now: now, isMiss: isMiss, residents: history.count)
        }
        if !isNew {
            let gap = now &- record.pointee.last
            learner.pointee.horizon.note(gap: gap, horizon: horizon, residents: history.count)
        }
        // Of one that left it is not known who asked; then whoever asks again counts as the one who did.
        let isRepeat = !isNew && (record.pointee.user == access.user || record.pointee.user == .max)
        record.pointee.note(access, now: now, second: second)
        heuristic.rate(&record.pointee, missCost)
        learner.pointee.features.note(
            access, second: second, gap: isNew ? .max : record.pointee.gap1, isRepeat: isRepeat)
    }

    /// Moves the heuristic's clock to what the one that goes was worth; slowly where the heuristic did not choose it.
    mutating func age(by priority: Float) {
        let step: Float = judge == .network ? 0.1 : 1
        heuristic.advance(to: heuristic.clock + (priority - heuristic.clock) * step)
    }

    /// The place of a resident among all others by ``GreedyDual``.
    func worth(of slot: UInt32) -> Worth { Worth(priority: history.records[Int(slot)].priority, stamp: now) }

    /// Takes a resident out of everything but the memory of those that left, and returns it.
    mutating func leave(_ slot: UInt32) -> EntryID {
        let record = history.records[Int(slot)]
        if record.candidate != ObjectRecord.notCandidate {
            candidates.remove(at: Int(record.candidate), records: history.records.base)
        }
        if hand == slot { hand = record.newer }
        if costsDiffer { worths.remove(slot) }
        history.unlink(slot)
        history.close(slot)
        return record.entry
    }

    /// A newcomer that was never inserted has been refused: it is remembered as one that left.
    @inline(__always)
    mutating func abandonNewcomer() {
        if newcomer == ObjectRecord.none { return }
        history.close(newcomer)
        newcomer = ObjectRecord.none
    }
}
