/// How many evicted objects 3L-Cache knows, as a multiple of the residents that grows where a longer history pays.
struct HistoryWindow {
    /// The most objects known for each resident, the resident included.
    static let largestFactor = 6

    /// The known objects for each resident: from 2 to ``largestFactor``.
    private(set) var factor = 2
    /// Whether the history has had its full length since the last change.
    var isFull = false
    private var requests = 0
    private var hits = 0
    /// The hits, and the requests of objects of the history.
    private var known = 0

    /// Counts the request of a known object.
    mutating func count(isHit: Bool) {
        guard isFull else { return }
        requests += 1
        known += 1
        if isHit { hits += 1 }
    }

    /// Counts the request of an object that is not known.
    mutating func countUnknown() { if isFull { requests += 1 } }

    /// Adapts the multiple, after more than a million requests. It grows if the history has more than 1 % as many requests
    /// as the residents, for each multiple of them, and the known objects are few beside those missed.
    mutating func adapt() {
        guard requests > 1_000_000, isFull else { return }
        let found = known - hits
        if Double(found) / Double(hits * (factor - 1)) > 0.01 {
            if factor - 1 < (requests - hits) / found {
                factor += 1
                isFull = false
            }
            factor = min(factor, Self.largestFactor)
        }
        (requests, hits, known) = (0, 0, 0)
    }
}
