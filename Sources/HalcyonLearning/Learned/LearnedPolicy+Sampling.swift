import HalcyonEviction

/// What the model learns from.
extension LearnedPolicy {
    var isSampling: Bool { filled >= capacity / 4 && parameters.learns }

    /// Takes samples: two of three of a random resident, the third of the accessed object, and fewer once the network has
    /// settled or where the horizon is too long to keep so many waiting. In a fleet all are of residents: there a network
    /// that has seen only those judges better among them.
    mutating func sample(_ accessed: UInt32) {
        guard isSampling, learner.pointee.trainer.needsSamples else { return }
        let fitting = 32_000 / Double(horizon)
        let steps = learner.pointee.trainer.steps
        let settled = steps < 2_000 ? 1.0 : steps < 3_000 ? 0.5 : steps < 4_000 ? 0.25 : steps < 8_000 ? 0.1 : 0.03
        credit += min(parameters.sampling * settled, fitting)
        while credit >= 1 {
            credit -= 1
            let slot = ownsModel && generator.next(below: 3) == 0 ? accessed : randomResident()
            if slot != ObjectRecord.none { take(slot) }
        }
    }

    mutating func take(_ slot: UInt32, choices: UInt8 = 0) {
        if pending.isFull { return }
        let record = history.records[Int(slot)]
        let (number, row) = pending.push(now: now, older: record.pending)
        write(record, into: row)
        row[Sample.outcome] = choices
        history.records[Int(slot)].pending = number
    }

    mutating func randomResident() -> UInt32 {
        for _ in 0..<8 where history.used > 0 {
            let slot = generator.next(below: history.used)
            let isResident = history.records[slot].entry != .none && slot != Int(newcomer)
            if isResident { return UInt32(truncatingIfNeeded: slot) }
        }
        return ObjectRecord.none
    }

    /// The features of an object as inputs of the network.
    mutating func write(_ record: ObjectRecord, inputs: UnsafeMutablePointer<Float>) {
        let learner = learner
        learner.pointee.features.write(record, aged: heuristic.clock, now: now, second: second, inputs: inputs)
    }

    /// An object as a sample without its outcome.
    mutating func write(_ record: ObjectRecord, into row: UnsafeMutablePointer<UInt8>) {
        let learner = learner
        learner.pointee.features.write(record, aged: heuristic.clock, now: now, second: second, into: row)
        row[Sample.worth] = GreedyDual.octaves(record.priority - heuristic.clock)
        row[Sample.age] = FastMath.octaves(now &- record.last)
        row[Sample.cost] = FastMath.byte(record.logCost * 8)
    }
}
