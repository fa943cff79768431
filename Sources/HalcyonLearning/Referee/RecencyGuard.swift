/// Hands evictions to LRU for a while when LRU has clearly more hits than the learner.
///
/// A workload can change within a few hundred requests, faster than a network adapts. The guard counts every request in
/// which this cache differs from an LRU cache of its size (``LeastRecentShadow``). Page's test sums the differences
/// (Continuous inspection schemes, Biometrika 1954): 1 for a hit of LRU alone, minus ``price`` for a hit of this cache
/// alone. The sum is never below 0. When it exceeds ``limit(residents:)``, LRU chooses the next victims, ``overrideLength``
/// of the residents, and the sum restarts at 0.
///
/// The sum does not grow while at least a quarter of the differences are hits of this cache alone. There is no override
/// while these hits are more than twice as many as those of LRU alone: a run of LRU's hits is then chance.
///
/// The guard is used only with uniform sizes: a large object can take the space of many small ones, which LRU ignores.
struct RecencyGuard: ~Copyable {
    /// The price of a hit that LRU would have missed.
    static let price = 3
    /// The ratio of the older differences that is kept at each new one.
    private static let memory: Float = 0.999
    /// The evictions of one override, as a ratio of the residents.
    static let overrideLength = 0.1

    private var shadow: LeastRecentShadow
    /// The sum of Page's test.
    private var excess = 0
    /// The hits that only LRU and only this cache had, as moving sums over some thousand differences.
    private var lost: Float = 0
    private var won: Float = 0
    /// The evictions that LRU still decides in this override.
    private var remaining = 0
    /// The number of overrides so far.
    private(set) var overrides = 0

    init(capacity: Int) { shadow = LeastRecentShadow(capacity: capacity) }

    var byteCount: Int { shadow.byteCount }

    /// Returns the sum beyond which LRU decides: so many lost hits are hardly chance, and worth an override.
    static func limit(residents: Int) -> Int { max(10, residents / 100) }

    /// Compares the outcome of request `now` with that of an LRU cache. Amortised O(1).
    ///
    /// - Parameter last: the request of the object's previous access, if known.
    @inline(__always)
    mutating func compare(last: Int?, now: Int, isMiss: Bool, residents: Int) {
        let isHeld = shadow.access(last: last, now: now)
        if isHeld != isMiss { return }
        excess = max(0, excess + (isHeld ? 1 : -RecencyGuard.price))
        lost = lost * RecencyGuard.memory + (isHeld ? 1 : 0)
        won = won * RecencyGuard.memory + (isHeld ? 0 : 1)
        if remaining == 0 && excess > RecencyGuard.limit(residents: residents) && won < 2 * lost {
            excess = 0
            overrides += 1
            remaining = max(Int(Double(residents) * RecencyGuard.overrideLength), 1)
        }
    }

    /// Removes an object whose last access was at request `last`.
    mutating func remove(last: Int) { _ = shadow.remove(last: last) }

    /// Changes the capacity of the LRU cache, and ends an override.
    mutating func resize(to capacity: Int) {
        shadow.resize(to: capacity)
        (excess, remaining) = (0, 0)
    }

    /// Returns whether LRU chooses the next victim, and counts that eviction.
    @inline(__always)
    mutating func takesEviction() -> Bool {
        if remaining == 0 { return false }
        remaining -= 1
        return true
    }
}
