/// What a replay counts of prefetching: of fetches that were begun after the warm-up.
struct PrefetchCounts {
    var fetched = 0
    var fetchedCost = 0
    /// Of the fetched: asked for while resident.
    var used = 0
    /// Of the fetched: asked for before they arrived.
    var late = 0
    /// What those cost, which is fetched once: whoever asks joins the fetch.
    var lateCost = 0
    /// What the unused cost to fetch.
    var wastedCost = 0
    /// Hits after the warm-up on entries that were fetched ahead and not asked for since, those fetched during it among them.
    var hitsOwed = 0
    var requestsUntilUse = 0
    /// Misses that became hits, and hits that became misses, against the same replay without prefetching.
    var missesAvoided = 0
    var hitsLost = 0
    /// Sampled times of learning and planning.
    var plansTimed = 0
    var planningNanoseconds = 0
}
