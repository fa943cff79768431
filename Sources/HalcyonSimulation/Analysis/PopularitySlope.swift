import HalcyonSupport

/// The slope α of Zipf's law, fitted to a trace.
///
/// A least-squares line through ln(frequency) against ln(rank), over the objects that are requested at least
/// ``minimumCount`` times, each rank weighted by 1 / rank, so that every octave of ranks counts the same. Rarer
/// objects are left out because their ranks say more of the trace's end than of their popularity.
public struct PopularitySlope: Sendable, Codable, Equatable {
    /// The fitted α: the object of rank r is requested in proportion to r to the power of -α.
    public let alpha: Double
    /// The share of the (weighted) variance that the line explains, 0 to 1.
    public let rSquared: Double
    /// How many objects the fit rests on.
    public let objects: Int

    /// The fewest requests of an object that takes part in the fit.
    public static let minimumCount = 5

    /// Fits the slope to the request counts of objects; nil if fewer than three are requested often enough. O(n log n).
    public init?(counts: [Int]) {
        let frequent = counts.filter { $0 >= PopularitySlope.minimumCount }.sorted(by: >)
        guard frequent.count >= 3 else { return nil }
        var weights = 0.0
        var meanX = 0.0
        var meanY = 0.0
        for (index, count) in frequent.enumerated() {
            let weight = 1 / Double(index + 1)
            weights += weight
            meanX += weight * PortableMath.ln(Double(index + 1))
            meanY += weight * PortableMath.ln(Double(count))
        }
        meanX /= weights
        meanY /= weights
        var xx = 0.0
        var xy = 0.0
        var yy = 0.0
        for (index, count) in frequent.enumerated() {
            let weight = 1 / Double(index + 1)
            let x = PortableMath.ln(Double(index + 1)) - meanX
            let y = PortableMath.ln(Double(count)) - meanY
            xx += weight * x * x
            xy += weight * x * y
            yy += weight * y * y
        }
        alpha = xy == 0 ? 0 : -xy / xx
        rSquared = yy == 0 ? 1 : xy * xy / (xx * yy)
        objects = frequent.count
    }
}
