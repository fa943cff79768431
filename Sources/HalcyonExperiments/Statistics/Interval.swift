/// A confidence interval.
public struct Interval: Sendable, Codable, Equatable {
    /// The lower end.
    public var low: Double
    /// The upper end.
    public var high: Double

    /// Creates an interval.
    public init(low: Double, high: Double) {
        self.low = low
        self.high = high
    }
}
