/// The label window: the number of requests within which an object must be requested again for a positive label.
///
/// A cache turnover is as many misses as the cache has residents, at the present miss ratio. The window is the base window
/// (the parameter `horizon`, in turnovers) times the window multiplier.
///
/// The base window suits workloads in which many objects return within it. If almost none return, there is nothing to
/// learn from, and an object that returns later looks like one that never does. The multiplier therefore doubles until
/// some objects return within the window, and halves as soon as many would return within half of it. It stays at 1 where
/// the times between requests of an object are spread widely, as in nearly all workloads.
struct LabelWindow: BitwiseCopyable {
    /// The range of the base window, in turnovers.
    static let range = 0.05...16.0
    /// The largest multiplier.
    static let largestMultiplier = 16
    /// The misses that are added to every window. They matter in the smallest caches: where a turnover is a few misses, too
    /// few objects would return within a part of it.
    ///
    /// With variable sizes there are more. Small objects stay for many turnovers, and a short window then asks whether the
    /// present session returns to an object. The categories answer that well, so that they make predictions better and
    /// decisions worse (the preset `harmless`).
    static let fewestMisses = (uniformSizes: 8.0, variableSizes: 64.0)
    /// The fewest accesses to remembered objects before the multiplier changes; at least as many as the cache has residents.
    /// A scan or a loop that passes is no reason to start over.
    static let fewestReturns = 100
    /// A smaller ratio of them within the window is almost none.
    static let leastRatio: Float = 0.05
    /// This ratio of them within half the window is many. After the multiplier doubled, less than ``leastRatio`` is within
    /// half the window, so that it does not halve at once.
    static let largeRatio: Float = 0.2

    /// The base window, in turnovers of the cache.
    let base: Double
    /// The window multiplier: a power of two.
    private(set) var multiplier: Int

    /// The accesses to remembered objects since the multiplier changed.
    private var returns = 0
    /// The ratio of them within the window and within half of it, as moving means.
    private var within: Float = 0
    private var withinHalf: Float = 0

    init(base: Double, multiplier: Int = 1) {
        self.base = base
        self.multiplier = multiplier
    }

    /// Returns the window of a cache with so many residents, in requests: at most 10⁹. O(1).
    @inline(__always)
    func requests(residents: Double, missRatio: Double, usesUniformSizes: Bool = true) -> Int {
        let fewest = usesUniformSizes ? LabelWindow.fewestMisses.uniformSizes : LabelWindow.fewestMisses.variableSizes
        let misses = fewest + residents * base * Double(multiplier)
        return Int(min(misses / max(missRatio, 0.001), 1e9))
    }

    /// Counts an access to a remembered object, `gap` requests after the previous one, in a cache with so many residents
    /// and the label window `window`. O(1).
    @inline(__always)
    mutating func countReturn(gap: Int, window: Int, residents: Int) {
        let wanted = max(LabelWindow.fewestReturns, residents)
        returns = min(returns, wanted - 1) + 1
        let share = 1 / Float(returns)
        within += ((gap <= window ? 1 : 0) - within) * share
        withinHalf += ((gap <= window / 2 ? 1 : 0) - withinHalf) * share
        if returns < wanted { return }
        if within < LabelWindow.leastRatio && multiplier < LabelWindow.largestMultiplier {
            change(to: multiplier * 2)
        } else if withinHalf > LabelWindow.largeRatio && multiplier > 1 {
            change(to: multiplier / 2)
        }
    }

    private mutating func change(to multiplier: Int) {
        self.multiplier = multiplier
        returns = 0
    }
}
