import HalcyonEviction

/// What is known of a resident object: 64 bytes.
struct ObjectRecord: BitwiseCopyable {
    /// No other record, no pending sample.
    static let none = UInt32.max
    /// Not among the candidates.
    static let notCandidate = UInt8.max

    /// The object; `.none` if the record is free.
    var entry = EntryID.none
    /// The object's number among all caches that share the model; see ``Access/object``.
    var object: UInt32 = 0
    /// The next more recent resident, or the next free record.
    var newer = none
    /// The next less recent resident.
    var older = none
    /// The request of the last access.
    var last: UInt32 = 0
    /// The request of the first access that is remembered.
    var first: UInt32 = 0
    /// The second of the last access.
    var lastSecond: UInt32 = 0
    /// The category set at the last access.
    var categories: CategorySetID = 0
    /// Who asked last.
    var user = UInt32.max
    /// The newest pending sample of this object.
    var pending = none
    /// What the heuristic gives the object; see ``GreedyDual``.
    var priority: Float = 0
    /// Accesses decayed with each of ``DecayedCounts/halfLives``, as of the last access.
    var counts = DecayedCounts.Short()
    /// The binary logarithm of what the object costs, in 1,024ths.
    private var shortLogCost: UInt16 = 0
    /// All accesses that are remembered.
    var accesses: UInt16 = 0
    /// Accesses since the object came in.
    var residentAccesses: UInt16 = 0
    /// How often the user was another than the time before.
    var userChanges: UInt16 = 0
    /// The last three times between accesses in octaves, the latest first; 255 where there was none.
    var gap1 = UInt8.max
    var gap2 = UInt8.max
    var gap3 = UInt8.max
    /// The object's place among the candidates.
    var candidate = notCandidate

    /// The binary logarithm of what the object costs, within a two-thousandth; at least 0.
    var logCost: Float {
        @inline(__always) get { FastMath.float(small: UInt32(shortLogCost)) / 1_024 }
        set { shortLogCost = UInt16(min(max(newValue, 0) * 1_024 + 0.5, 65_535)) }
    }

    /// Takes an access at request `now` into account.
    @inline(__always)
    mutating func note(_ access: Access, now: UInt32, second: UInt32) {
        if accesses > 0 {
            let gap = now &- last
            gap3 = gap2
            gap2 = gap1
            gap1 = min(FastMath.octaves(gap), 254)
            if access.user != user && user != .max { userChanges = min(userChanges, .max - 1) &+ 1 }
        } else {
            first = now
        }
        var counts = counts.counts
        if accesses > 0 { counts.decay(by: now &- last) }
        counts.increment()
        self.counts = DecayedCounts.Short(counts)
        accesses = min(accesses, .max - 1) &+ 1
        residentAccesses = min(residentAccesses, .max - 1) &+ 1
        last = now
        lastSecond = second
        categories = access.categories
        user = access.user
        object = access.object
    }
}
