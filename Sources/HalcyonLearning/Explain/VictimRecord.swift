import HalcyonEviction

/// What was known when one victim was chosen.
struct VictimRecord {
    /// One of those among whom the choice was made.
    struct Observation {
        let entry: EntryID
        /// Its number among all caches that share the model.
        let object: UInt32
        /// Who asked for it last; in a fleet whose cache it is.
        let user: UInt32
        /// Whether it is the object that was asked for, which then might have been refused.
        let isNewcomer: Bool
        /// What the judge gave it: the least goes.
        let score: Float
        /// What that score was given to.
        let scored: Scored
    }

    /// What was known of an object when it got its score: one scoring of candidates serves several evictions.
    struct Scored {
        /// How many requests its cache had served.
        let request: Int
        /// The sample's row as of then.
        let row: [UInt8]
        /// The binary logarithm of the object's cost, of which the row has eighths.
        let logSize: Float
        /// The network's weights as of then.
        let weights: [Float]
    }

    /// How many requests its cache had served, this one included.
    let request: Int
    let judge: Contest.Judge
    let victim: Observation
    let runnerUp: Observation?
    /// How many residents were looked at; all of them where the judge keeps all in order.
    let candidates: Int
    /// Whether objects may cost different amounts; see ``MissCost/score(logit:logSize:costsDiffer:)``.
    let costsDiffer: Bool
}

/// Waits for one eviction, counted from 1 over all caches that share a model.
struct VictimWatch {
    private var remaining = 0
    var record: VictimRecord?
    /// The network's weights after so many steps of training: one copy for all that was scored by them.
    private var weights: (steps: Int, values: [Float]) = (-1, [])

    /// Waits for none.
    init() {}

    /// Waits for the eviction with this number.
    init(number: Int) { remaining = number }

    /// Whether it is yet to come.
    @inline(__always)
    var isWaiting: Bool { remaining > 0 }

    /// The weights after so many steps of training.
    mutating func weights(after steps: Int, _ values: () -> [Float]) -> [Float] {
        if weights.steps != steps { weights = (steps, values()) }
        return weights.values
    }

    /// Whether the eviction that happens now is the one.
    @inline(__always)
    mutating func isDue() -> Bool {
        if remaining == 0 { return false }
        remaining -= 1
        return remaining == 0
    }
}
