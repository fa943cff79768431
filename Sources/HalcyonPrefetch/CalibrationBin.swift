/// What came of the objects that were given probabilities between two bounds.
public struct CalibrationBin: Sendable, Codable, Equatable {
    /// The lower bound.
    public var from: Double
    /// The upper bound.
    public var to: Double
    /// How many there were.
    public var count: Int
    /// Their mean predicted probability; 0 where there are none.
    public var predicted: Double
    /// The share of them that were asked for within the horizon; 0 where there are none.
    public var observed: Double

    /// A bin.
    public init(from: Double, to: Double, count: Int, predicted: Double, observed: Double) {
        self.from = from
        self.to = to
        self.count = count
        self.predicted = predicted
        self.observed = observed
    }
}
