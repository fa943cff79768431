import HalcyonEviction

/// What is known of each object by now: what it cost and which categories it had when somebody last asked for it.
final class SeenObjects {
    private var costs: [Int]
    private var sets: [CategorySetID]

    init(count: Int) {
        costs = Array(repeating: 1, count: count)
        sets = Array(repeating: 0, count: count)
    }

    func note(_ access: Access) {
        costs[Int(access.object)] = access.cost
        sets[Int(access.object)] = access.categories
    }

    func cost(of object: UInt32) -> Int { costs[Int(object)] }
    func categories(of object: UInt32) -> CategorySetID { sets[Int(object)] }
}

/// What a replay counts of prefetching, the warm-up left out.
struct PrefetchCounts {
    var fetched = 0
    var fetchedCost = 0
    /// Of the fetched: asked for while resident.
    var used = 0
    /// Of the fetched: asked for before they arrived.
    var late = 0
    /// Of the fetched: had to leave unused, or were not kept at all.
    var dropped = 0
    /// Of the fetched: unused at the end.
    var unusedAtEnd = 0
    /// What the unused cost to fetch.
    var wastedCost = 0
    /// Hits on entries that nobody had asked for before, those fetched during the warm-up among them.
    var hitsOwed = 0
    var requestsUntilUse = 0
    /// Misses that became hits, and hits that became misses, against the same replay without prefetching.
    var missesAvoided = 0
    var hitsLost = 0
    /// Sampled times of learning and planning.
    var plansTimed = 0
    var planningNanoseconds = 0

    mutating func drop(_ cost: Int) {
        dropped += 1
        wastedCost += cost
    }
}
