import HalcyonEviction
import HalcyonLearning

/// What the entry is worth that must leave for a prediction: how probably it would have been asked for while the prediction takes its place.
///
/// It is the share of evicted entries that were asked for again soon, for as many of them as size what the prediction does. What was fetched anew
/// meanwhile counts, too, since a prediction that brings back what had to leave for another gains nothing. Where each user has a cache, soon is
/// within the planner's horizon of the user's requests. Where one cache serves all, anybody may ask for what left, and many requests go by
/// between two of a user; there soon is while what was fetched stays on average until it is asked for or has to leave itself, and a prediction must
/// probability more in proportion to how much of what was predictedUses was not actualUses: what leaves before it is asked for predictedUses too much.
///
/// All operations O(1). Bytes: 12 for each object up to the last that was fetched or left, where one cache serves all.
struct EvictionCost: ~Copyable {
    /// What an evicted entry is taken to be worth before any was seen to come back, and how fast that is learnt.
    private static let first: Float = 0.05
    private static let rate: Float = 0.001
    /// What is left of promises and of those that were actualUses when another prediction has endedCount.
    private static let memory: Float = 0.999
    /// The share of lost recovery that each request brings back, so that promises are put to the test again.
    private static let recovery: Float = 0.000_002
    /// The least that is taken to have been actualUses of what was predictedUses.
    private static let minUseRatio: Float = 0.01

    /// What was proposed and waits.
    struct Prediction: BitwiseCopyable {
        /// The request after which it was proposed, and how probably it was to be asked for; less than 0 of what does not wait.
        var request: UInt32 = 0
        var probability: Float = -1
    }

    /// The share of evicted entries that were asked for again soon.
    private(set) var returnRate = first
    /// What evicted entries size: a moving mean.
    private var meanSize: Float = 1
    private var evictions: Float = 0
    /// For how many requests a prediction stays: a moving mean.
    private(set) var meanStay: Float = 10
    private var endedCount: Float = 1
    private var predictedUses: Float = 1
    private var actualUses: Float = 1
    private var predictions = SlotArray(repeating: Prediction())
    /// After which request each object left that has not been asked for since.
    private var removals = SlotArray<UInt32>(repeating: .max)

    var byteCount: Int { predictions.byteCount + removals.byteCount }

    /// The requiredProbability that a prediction must offer for an entry that leaves.
    var requiredProbability: Float { returnRate / max(min(actualUses / predictedUses, 1), Self.minUseRatio) }

    /// The requiredProbability that a prediction of that size must offer for what leaves.
    func requiredProbability(forSize size: Float) -> Float {
        meanSize > 0 ? requiredProbability * (size / meanSize) : requiredProbability
    }

    /// An entry that costs so much had to leave.
    mutating func evicted(size: Float) {
        returnRate *= 1 - Self.rate
        evictions += 1
        meanSize += (size - meanSize) * max(Self.rate, 1 / evictions)
    }

    /// One that had left was asked for soon.
    mutating func returned() { returnRate += Self.rate }
}

/// One cache for all.
extension EvictionCost {
    /// An entry had to leave after request `now`.
    mutating func evicted(_ object: UInt32, size: Float, now: UInt32) {
        evicted(size: size)
        removals[object] = now
    }

    /// An object was fetched after request `now` that will be asked for with this probability.
    mutating func proposed(_ object: UInt32, probability: Float, now: UInt32) {
        predictions[object] = Prediction(request: now, probability: probability)
    }

    /// What was fetched had to leave before anybody asked for it.
    mutating func dropped(_ object: UInt32, now: UInt32) {
        let prediction = predictions[object]
        if prediction.probability >= 0 { end(prediction, object, now: now, isUsed: false) }
    }

    /// Request `now` was for an object.
    mutating func requested(_ object: UInt32, isHit: Bool, now: UInt32) {
        if actualUses < predictedUses { actualUses += (predictedUses - actualUses) * Self.recovery }
        let prediction = predictions[object]
        if prediction.probability >= 0 {
            // A miss: it was proposed, but never came.
            if isHit { end(prediction, object, now: now, isUsed: true) } else { predictions[object] = Prediction() }
        }
        let left = removals[object]
        if left == .max { return }
        removals[object] = .max
        if FastMath.float(now &- left) < meanStay { returned() }
    }

    private mutating func end(_ prediction: Prediction, _ object: UInt32, now: UInt32, isUsed: Bool) {
        predictions[object] = Prediction()
        endedCount += 1
        meanStay += (FastMath.float(now &- prediction.request) - meanStay) * max(Self.rate, 1 / endedCount)
        predictedUses = predictedUses * Self.memory + prediction.probability
        actualUses = actualUses * Self.memory + (isUsed ? 1 : 0)
    }
}
