/// The predictions of a model with probabilities between two bounds, compared with their outcomes.
public struct CalibrationBin: Sendable, Codable, Equatable {
    /// The lower bound of the probabilities.
    public var from: Double
    /// The upper bound of the probabilities.
    public var to: Double
    /// The number of predictions.
    public var count: Int
    /// The mean predicted probability; 0 without predictions.
    public var predicted: Double
    /// The ratio of predictions with a positive outcome; 0 without predictions.
    public var observed: Double

    /// Creates a bin.
    public init(from: Double, to: Double, count: Int, predicted: Double, observed: Double) {
        self.from = from
        self.to = to
        self.count = count
        self.predicted = predicted
        self.observed = observed
    }
}
