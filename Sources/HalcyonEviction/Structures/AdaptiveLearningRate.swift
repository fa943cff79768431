import HalcyonSupport

/// The learning rate of ``Cacheus``: changed once a window, further in the direction in which the hit ratio rose, back if
/// it fell; drawn anew after ten windows in which nothing was gained.
struct AdaptiveLearningRate {
    /// The rate, from 0.001 to 1.
    private(set) var value = 0.0
    private var previous = 0.0
    private var hitRatio = 0.0
    private var hits = 0
    private var accesses = 0
    private var idleWindows = 0

    /// The cache is full for the first time: the rate is √(2 ln 2 / N). Nothing happens if it was before.
    mutating func start(residents: Int) {
        if value == 0 { value = min(max((2 * PortableMath.ln(2) / Double(residents)).squareRoot(), 0.001), 1) }
    }

    /// Counts an access; a window is over after as many of them as there are residents.
    mutating func count(isHit: Bool, residents: Int, generator: inout SplitMix64) {
        if value == 0 { return }
        if isHit { hits += 1 }
        accesses += 1
        if accesses >= residents && residents > 0 { endWindow(generator: &generator) }
    }

    private mutating func endWindow(generator: inout SplitMix64) {
        let current = Double(hits) / Double(accesses)
        (hits, accesses) = (0, 0)
        let (gain, change) = (current - hitRatio, value - previous)
        (hitRatio, previous) = (current, value)
        if change != 0 {
            let step = abs(value * change)
            value = min(max(gain / change > 0 ? value + step : value - step, 0.001), 1)
            idleWindows = 0
        } else if current == 0 || gain <= 0 {
            idleWindows += 1
            if idleWindows < 10 { return }
            idleWindows = 0
            value = 0.001 + 0.999 * generator.nextUnit()
        }
    }
}
