import HalcyonLearning

/// How often something was shown and opened: a category, an object, or everything.
///
/// Each count is kept three times: never halved, and halved every 7 days and every day, as of ``time``. All operations are O(1).
/// Bytes: 48.
struct OpeningCounts: BitwiseCopyable, Equatable {
    /// The binary logarithm of the decay of each count in a day. The fourth lane is not used.
    private static let decayPerDay = SIMD4<Float>(0, -1 / 7, -1, 0)
    private static let microsecondsPerDay: Float = 86_400e6

    private(set) var shown = SIMD4<Float>.zero
    private(set) var opened = SIMD4<Float>.zero
    private(set) var time = Int64.min

    /// Counts to which these are halved at a time, which is not before that of the last change.
    func decayed(to time: Int64) -> OpeningCounts {
        guard self.time > .min, time > self.time else { return self }
        let days = Float(time &- self.time) / Self.microsecondsPerDay
        let factor = FastMath.exp2(Self.decayPerDay * days)
        var counts = self
        counts.shown *= factor
        counts.opened *= factor
        counts.time = time
        return counts
    }

    mutating func note(shown: Float = 0, opened: Float = 0, at time: Int64) {
        self = decayed(to: time)
        self.time = max(self.time, time)
        self.shown += shown
        self.opened += opened
    }
}
