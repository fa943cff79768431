/// What a replay counts of prefetching: of fetches that were begun after the warm-up.
struct PrefetchCounts {
    /// The unit of the costs that are passed in; what is counted is in the unit of the trace.
    private let unit: CacheUnit
    var fetched = 0
    private(set) var fetchedCost = 0
    /// Of the fetched: asked for while resident.
    var used = 0
    /// Of the fetched: asked for before they arrived.
    var late = 0
    /// What those cost, which is fetched once: whoever asks joins the fetch.
    private(set) var lateCost = 0
    /// What the unused cost to fetch.
    private(set) var wastedCost = 0
    /// Hits after the warm-up on entries that were fetched ahead and not asked for since, those fetched during it among them.
    var hitsOwed = 0
    var requestsUntilUse = 0
    /// Misses that became hits, and hits that became misses, against the same replay without prefetching.
    var missesAvoided = 0
    var hitsLost = 0
    /// Sampled times of learning and planning.
    var plansTimed = 0
    var planningNanoseconds = 0

    /// Nothing counted yet.
    init(unit: CacheUnit) { self.unit = unit }

    /// Counts a fetch.
    mutating func fetch(cost: Int) {
        fetched += 1
        fetchedCost = fetchedCost.addingUpToLargest(cost &* unit.size)
    }

    /// Counts a fetch that was asked for before it arrived.
    mutating func join(cost: Int) {
        late += 1
        lateCost = lateCost.addingUpToLargest(cost &* unit.size)
    }

    /// Counts a fetch that is not used.
    mutating func waste(cost: Int) { wastedCost = wastedCost.addingUpToLargest(cost &* unit.size) }
}

extension Int {
    /// The sum, or the largest number where it is larger: what is fetched ahead may cost a trace's requests many times over.
    func addingUpToLargest(_ cost: Int) -> Int {
        let (sum, isTooLarge) = addingReportingOverflow(cost)
        return isTooLarge ? .max : sum
    }
}
