/// The probability at which an object of mean size is worth a fetch, as a ratio of the value of a hit.
///
/// The budget and the cache have room for few objects, so a fetch now costs a later one. By the marginal value theorem
/// (Charnov: Optimal foraging, 1976) the threshold follows the mean probability of the best candidates. It is the
/// square of that mean divided by ``reference``. So it is lower than the mean if even the best candidates are
/// improbable, because all probabilities are then close together.
///
/// If few prefetches are wasted, the threshold is lower: at most ``perSquare`` times the square of the wasted
/// prefetches for each used one.
struct PrefetchThreshold {
    /// The mean probability of the best candidates at which the threshold equals it.
    private static let reference: Float = 0.04
    /// The weight of a plan in the mean, after many plans.
    private static let rate: Float = 0.0005
    /// The maximum threshold at one wasted prefetch for each used one; four times as much at two.
    private static let perSquare: Float = 0.003
    /// The decay of the counts of used and wasted objects.
    private static let memory: Float = 0.999

    private let minimum: Float
    private let maximum: Float
    private var best: Float = 0
    private var plans: Float = 0
    /// The objects above the threshold that were requested within the label window, and the others. The prior is one
    /// in eight.
    private var used: Float = 2
    private var wasted: Float = 14

    init(minimum: Double, maximum: Double) {
        self.minimum = Float(minimum)
        self.maximum = Float(maximum)
    }

    /// The current threshold.
    var current: Float {
        let wastedPerUsed = wasted / used
        return max(minimum, min(maximum, Self.perSquare * wastedPerUsed * wastedPerUsed, best * best / Self.reference))
    }

    /// Records the probability of a plan's best candidate.
    mutating func note(best probability: Float) {
        plans += 1
        best += (probability - best) * max(Self.rate, 1 / plans)
    }

    /// Records the outcome of an object that was above the threshold.
    mutating func note(isUsed: Bool) {
        used = used * Self.memory + (isUsed ? 1 : 0)
        wasted = wasted * Self.memory + (isUsed ? 0 : 1)
    }
}
