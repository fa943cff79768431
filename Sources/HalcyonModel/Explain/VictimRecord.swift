import HalcyonEviction

/// What was known when one victim was chosen.
struct VictimRecord {
    /// One of those among whom the choice was made.
    struct Observation {
        let entry: EntryID
        /// Whether it is the object that was asked for, which then might have been refused.
        let isNewcomer: Bool
        /// What the judge gave it: the least goes.
        let score: Float
        /// The sample's row as of that moment.
        let row: [UInt8]
    }

    /// How many requests its cache had served, this one included.
    let request: Int
    let judge: Contest.Judge
    let victim: Observation
    let runnerUp: Observation?
    /// How many residents were looked at; all of them where the judge keeps all in order.
    let candidates: Int
    /// The network's weights at that moment.
    let weights: [Float]
}

/// Waits for one eviction, counted from 1 over all caches that share a model.
struct VictimWatch {
    private var remaining = 0
    var record: VictimRecord?

    /// Waits for none.
    init() {}

    /// Waits for the eviction with this number.
    init(number: Int) { remaining = number }

    /// Whether the eviction that happens now is the one.
    @inline(__always)
    mutating func isDue() -> Bool {
        if remaining == 0 { return false }
        remaining -= 1
        return remaining == 0
    }
}
