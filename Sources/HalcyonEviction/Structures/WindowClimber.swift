/// A hill climber that finds the best size of the window of ``WTinyLFU``.
///
/// It moves the boundary by a step after each sample of requests. It turns around when the hit ratio of the sample is
/// lower than that of the one before.
///
/// Each step is 0.98 times the one before, so the boundary comes to rest. If the hit ratio changes by 5 points, the
/// steps start at their first length again: a sixteenth of the capacity, at least 2. A sample has ten requests for each
/// entry of the cache. The first step makes the window smaller. In a cache of at most 512 entries it makes it larger,
/// steps shrink to 0.995, and samples grow as steps shrink, up to four times.
///
/// This is the `simple` climber of Caffeine's simulator with its default parameters (commit ccef955, `SimpleClimber`).
/// With variable sizes, steps are in bytes and the entries are the residents at the beginning of a sample. Every
/// operation is O(1).
public struct WindowClimber: Sendable {
    private static let smallCache = 512
    private static let restartThreshold = 0.05
    private static let largestSampleRatio = 4.0

    /// Whether a whole sample was counted, so that ``step(entries:)`` is due.
    public private(set) var isDue = false

    private let firstStep: Double
    private var step: Double
    private var sampleSize: Int
    private var grows: Bool
    private var hits = 0
    private var requests = 0
    private var hitRatioBefore = 0.0

    /// Creates a climber that has counted nothing.
    ///
    /// - Parameters:
    ///   - capacity: The capacity of the cache, in the unit of sizes.
    ///   - entries: The number of entries in a full cache: the capacity with uniform sizes, otherwise an estimate.
    public init(capacity: Int, entries: Int) {
        firstStep = max(0.0625 * Double(capacity), 2)
        step = firstStep
        sampleSize = WindowClimber.firstSample(entries)
        grows = entries <= WindowClimber.smallCache
    }

    /// Counts a request to a full cache.
    public mutating func count(isHit: Bool) {
        hits += isHit ? 1 : 0
        requests += 1
        isDue = requests >= sampleSize
    }

    /// Ends the sample and returns how much larger the window is to be made; smaller if negative.
    ///
    /// - Parameter entries: The number of residents of the cache.
    public mutating func step(entries: Int) -> Double {
        let hitRatio = Double(hits) / Double(requests)
        if hitRatio < hitRatioBefore { grows.toggle() }
        if abs(hitRatio - hitRatioBefore) >= WindowClimber.restartThreshold { step = firstStep }
        let change = grows ? step : -step
        (hitRatioBefore, hits, requests, isDue) = (hitRatio, 0, 0, false)
        sampleSize = WindowClimber.firstSample(entries)
        if entries <= WindowClimber.smallCache {
            step *= 0.995
            let cap = WindowClimber.largestSampleRatio
            let ratio = min(max(firstStep / max(firstStep / cap, step), 1), cap)
            sampleSize = Int(Double(sampleSize) * ratio)
        } else {
            step *= 0.98
        }
        return change
    }

    private static func firstSample(_ entries: Int) -> Int { max(1, 10 * entries) }
}
