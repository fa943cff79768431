/// How far ahead the label looks: within so many turnovers of the cache an object must be asked for again.
///
/// A turnover is as many misses as the cache has residents, at the present miss ratio.
struct Horizon: BitwiseCopyable {
    /// The range of the reach, in turnovers.
    static let range = 0.05...16.0
    /// Misses that a label waits for beyond that. They count in the smallest caches: where a turnover is a handful of
    /// misses, too little would come back within a share of it to learn from.
    static let fewestMisses = 8.0

    /// In turnovers of the cache.
    let reach: Double

    /// The requests that a label waits for in a cache of so many residents. O(1).
    func requests(residents: Double, missRatio: Double) -> UInt32 {
        let misses = Horizon.fewestMisses + residents * reach
        return UInt32(min(misses / max(missRatio, 0.001), 1e9))
    }
}
