import HalcyonEviction
import HalcyonLearning

/// The probability that an evicted entry would have been requested while the prefetched object takes its place.
///
/// It is the share of evicted entries that were requested again soon, for as many entries as have the size of the
/// prefetched object. An evicted entry that was prefetched again counts too, since that prefetch gains nothing.
///
/// With per-user caches, soon means within the label window. With one cache for all users, many requests of others
/// pass between two of a user. There, soon means within the mean stay of a prefetch: from its proposal to its first
/// request or its eviction.
///
/// With one cache for all users, the cost also grows with the ratio of predicted to actual uses of prefetches.
/// Prefetches that are evicted before their first request had too high a probability.
///
/// All operations are O(1). Bytes: 12 for each object up to the last one prefetched or evicted, with one cache for all
/// users.
struct EvictionCost: ~Copyable {
    /// The initial return rate, its weight in evictions, and the weight of an eviction after many.
    private static let first: Float = 0.05
    private static let trust: Float = 20
    private static let rate: Float = 0.001
    /// The decay of predicted and actual uses for each prefetch that ends.
    private static let memory: Float = 0.999
    /// The share of the gap between predicted and actual uses that each request closes, so that prefetching is tried
    /// again.
    private static let recovery: Float = 0.000_002
    /// The lower bound of the ratio of actual to predicted uses.
    private static let minUseRatio: Float = 0.01

    /// A proposed prefetch that is unused so far.
    struct Prediction: BitwiseCopyable {
        /// The request after which it was proposed, and its probability; below 0 if there is none.
        var request: UInt32 = 0
        var probability: Float = -1
    }

    /// The share of evicted entries that were requested again soon.
    private(set) var returnRate = first
    /// The moving mean of the sizes of evicted entries.
    private var meanSize: Float = 1
    private var evictions: Float = 0
    /// The moving mean of the requests from a proposal to the first request or the eviction.
    private(set) var meanStay: Float = 10
    private var endedCount: Float = 1
    private var predictedUses: Float = 1
    private var actualUses: Float = 1
    private var predictions = SlotArray(repeating: Prediction())
    /// The request after which each object was evicted, if it has not been requested since.
    private var removals = SlotArray<UInt32>(repeating: .max)

    var byteCount: Int { predictions.byteCount + removals.byteCount }

    /// The probability that a prefetch of mean size needs to gain from an eviction.
    var requiredProbability: Float { returnRate / max(min(actualUses / predictedUses, 1), Self.minUseRatio) }

    /// Returns the probability that a prefetch of a size needs to gain from the evictions.
    func requiredProbability(forSize size: Float) -> Float {
        meanSize > 0 ? requiredProbability * (size / meanSize) : requiredProbability
    }

    /// Records the eviction of an entry.
    mutating func evicted(size: Float) {
        evictions += 1
        returnRate *= 1 - weight
        meanSize += (size - meanSize) * max(Self.rate, 1 / evictions)
    }

    /// Records that an evicted entry was requested soon.
    mutating func returned() { returnRate = min(returnRate + weight, 1) }

    /// The weight of the last eviction in the return rate.
    private var weight: Float { max(Self.rate, 1 / (Self.trust + evictions)) }
}

/// One cache for all users.
extension EvictionCost {
    /// Records the eviction of an entry after request `now`.
    mutating func evicted(_ object: UInt32, size: Float, now: UInt32) {
        evicted(size: size)
        // One request in 2³² has the number of no removal: it counts as the one before.
        removals[object] = min(now, .max - 1)
    }

    /// Records that an object with this probability was proposed after request `now`.
    mutating func proposed(_ object: UInt32, probability: Float, now: UInt32) {
        predictions[object] = Prediction(request: now, probability: probability)
    }

    /// Records that a prefetched object was evicted before its first request.
    mutating func dropped(_ object: UInt32, now: UInt32) {
        let prediction = predictions[object]
        if prediction.probability >= 0 { end(prediction, object, now: now, isUsed: false) }
    }

    /// Records that request `now` was for an object.
    mutating func requested(_ object: UInt32, isHit: Bool, now: UInt32) {
        if actualUses < predictedUses { actualUses += (predictedUses - actualUses) * Self.recovery }
        let prediction = predictions[object]
        if prediction.probability >= 0 {
            // On a miss the object was proposed but never fetched.
            if isHit { end(prediction, object, now: now, isUsed: true) } else { predictions[object] = Prediction() }
        }
        let left = removals[object]
        if left == .max { return }
        removals[object] = .max
        if FastMath.float(now &- left) < meanStay { returned() }
    }

    /// Limits the time since each proposal and each eviction; see `WrappingClock`. O(objects).
    mutating func limitAges(at now: UInt32) {
        for object in 0..<UInt32(predictions.capacity) where predictions[object].probability >= 0 {
            predictions[object].request = WrappingClock.limited(predictions[object].request, now: now)
        }
        for object in 0..<UInt32(removals.capacity) where removals[object] != .max {
            removals[object] = WrappingClock.limited(removals[object], now: now)
        }
    }

    private mutating func end(_ prediction: Prediction, _ object: UInt32, now: UInt32, isUsed: Bool) {
        predictions[object] = Prediction()
        endedCount += 1
        meanStay += (FastMath.float(now &- prediction.request) - meanStay) * max(Self.rate, 1 / endedCount)
        predictedUses = predictedUses * Self.memory + prediction.probability
        actualUses = actualUses * Self.memory + (isUsed ? 1 : 0)
    }
}
