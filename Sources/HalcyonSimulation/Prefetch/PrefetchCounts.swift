/// What a replay counts of prefetching: of fetches that were begun after the warm-up.
struct PrefetchCounts {
    /// The unit of the sizes that are passed in; what is counted is in the unit of the trace.
    private let unit: CacheUnit
    var fetched = 0
    private(set) var fetchedSize = 0
    /// Of the fetched: asked for while resident.
    var used = 0
    /// Of the fetched: asked for before they arrived.
    var late = 0
    /// What those size, which is fetched once: whoever asks joins the fetch.
    private(set) var lateSize = 0
    /// What the unused size to fetch.
    private(set) var wastedSize = 0
    /// Hits after the warm-up on entries that were fetched ahead and not asked for since, those fetched during it among them.
    var hitsOwed = 0
    var requestsUntilUse = 0
    /// Sampled times of learning and planning.
    var plansTimed = 0
    var planningNanoseconds = 0

    /// Nothing counted yet.
    init(unit: CacheUnit) { self.unit = unit }

    /// Counts a fetch.
    mutating func fetch(size: Int) {
        fetched += 1
        fetchedSize = fetchedSize.addingUpToLargest(size &* unit.size)
    }

    /// Counts a fetch that was asked for before it arrived.
    mutating func join(size: Int) {
        late += 1
        lateSize = lateSize.addingUpToLargest(size &* unit.size)
    }

    /// Counts a fetch that is not used.
    mutating func waste(size: Int) { wastedSize = wastedSize.addingUpToLargest(size &* unit.size) }
}

extension Int {
    /// The sum, or the largest number where it is larger: what is fetched ahead may size a trace's requests many times over.
    func addingUpToLargest(_ size: Int) -> Int {
        let (sum, isTooLarge) = addingReportingOverflow(size)
        return isTooLarge ? .max : sum
    }
}
