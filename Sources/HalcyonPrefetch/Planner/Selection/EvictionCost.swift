import HalcyonEviction
import HalcyonLearning

/// What the entry is worth that must leave for a fetch: how probably it would have been asked for while the fetch takes its place.
///
/// It is the share of evicted entries that were asked for again soon, for as many of them as cost what the fetch does. What was fetched anew
/// meanwhile counts, too, since a fetch that brings back what had to leave for another gains nothing. Where each user has a cache, soon is
/// within the planner's horizon of the user's requests. Where one cache serves all, anybody may ask for what left, and many requests go by
/// between two of a user; there soon is while what was fetched stays on average until it is asked for or has to leave itself, and a fetch must
/// promise more in proportion to how much of what was promised was not kept: what leaves before it is asked for promised too much.
///
/// All operations O(1). Bytes: 12 for each object up to the last that was fetched or left, where one cache serves all.
struct DisplacedWorth: ~Copyable {
    /// What an evicted entry is taken to be worth before any was seen to come back, and how fast that is learnt.
    private static let first: Float = 0.05
    private static let rate: Float = 0.001
    /// What is left of promises and of those that were kept when another fetch has ended.
    private static let memory: Float = 0.999
    /// The share of lost trust that each request brings back, so that promises are put to the test again.
    private static let trust: Float = 0.000_002
    /// The least that is taken to have been kept of what was promised.
    private static let leastKept: Float = 0.01

    /// What was proposed and waits.
    struct Fetch: BitwiseCopyable {
        /// The request after which it was proposed, and how probably it was to be asked for; less than 0 of what does not wait.
        var request: UInt32 = 0
        var promise: Float = -1
    }

    /// The share of evicted entries that were asked for again soon.
    private(set) var regret = first
    /// What evicted entries cost: a moving mean.
    private var meanCost: Float = 1
    private var evictions: Float = 0
    /// For how many requests a fetch stays: a moving mean.
    private(set) var stay: Float = 10
    private var ended: Float = 1
    private var promised: Float = 1
    private var kept: Float = 1
    private var fetches = SlotArray(repeating: Fetch())
    /// After which request each object left that has not been asked for since.
    private var departures = SlotArray<UInt32>(repeating: .max)

    var byteCount: Int { fetches.byteCount + departures.byteCount }

    /// The chance that a fetch must offer for an entry that leaves.
    var chance: Float { regret / max(min(kept / promised, 1), Self.leastKept) }

    /// The chance that a fetch of that cost must offer for what leaves.
    func chance(ofCost cost: Float) -> Float { meanCost > 0 ? chance * (cost / meanCost) : chance }

    /// An entry that costs so much had to leave.
    mutating func evicted(cost: Float) {
        regret *= 1 - Self.rate
        evictions += 1
        meanCost += (cost - meanCost) * max(Self.rate, 1 / evictions)
    }

    /// One that had left was asked for soon.
    mutating func returned() { regret += Self.rate }
}

/// One cache for all.
extension DisplacedWorth {
    /// An entry had to leave after request `now`.
    mutating func evicted(_ object: UInt32, cost: Float, now: UInt32) {
        evicted(cost: cost)
        departures[object] = now
    }

    /// An object was fetched after request `now` that will be asked for with this probability.
    mutating func proposed(_ object: UInt32, probability: Float, now: UInt32) {
        fetches[object] = Fetch(request: now, promise: probability)
    }

    /// What was fetched had to leave before anybody asked for it.
    mutating func dropped(_ object: UInt32, now: UInt32) {
        let fetch = fetches[object]
        if fetch.promise >= 0 { end(fetch, object, now: now, isKept: false) }
    }

    /// Request `now` was for an object.
    mutating func asked(for object: UInt32, isHit: Bool, now: UInt32) {
        if kept < promised { kept += (promised - kept) * Self.trust }
        let fetch = fetches[object]
        if fetch.promise >= 0 {
            // A miss: it was proposed, but never came.
            if isHit { end(fetch, object, now: now, isKept: true) } else { fetches[object] = Fetch() }
        }
        let left = departures[object]
        if left == .max { return }
        departures[object] = .max
        if FastMath.float(now &- left) < stay { returned() }
    }

    private mutating func end(_ fetch: Fetch, _ object: UInt32, now: UInt32, isKept: Bool) {
        fetches[object] = Fetch()
        ended += 1
        stay += (FastMath.float(now &- fetch.request) - stay) * max(Self.rate, 1 / ended)
        promised = promised * Self.memory + fetch.promise
        kept = kept * Self.memory + (isKept ? 1 : 0)
    }
}
