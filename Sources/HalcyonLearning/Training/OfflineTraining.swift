/// Training in advance, on the devices of many users, for a model that is shipped.
///
/// Unlike a cache that must decide soon, it takes all the samples that it can, draws batches from all of them alike, and
/// lets the steps get smaller. The model is the mean of the weights of the last steps (Polyak and Juditsky: Acceleration of
/// stochastic approximation by averaging, 1992). Bytes: 4 a weight.
struct OfflineTraining {
    /// The new samples between two steps.
    static let interval = 64
    /// The ratio of the steps after which weights are averaged.
    private static let settled = 0.7

    /// The steps of the whole training.
    let steps: Int
    private var sums: [Double] = []
    private var count = 0.0

    init(steps: Int) { self.steps = steps }

    /// Returns the factor of the step size.
    func rate(at step: Int) -> Float {
        let ratio = Double(step) / Double(steps)
        return ratio < 0.3 ? 1 : ratio < 0.6 ? 0.3 : ratio < 0.85 ? 0.1 : 0.03
    }

    /// Counts the weights after a step. O(weights).
    mutating func add(_ weights: [Float], step: Int) {
        guard Double(step) >= Self.settled * Double(steps) else { return }
        if sums.isEmpty { sums = [Double](repeating: 0, count: weights.count) }
        for place in weights.indices { sums[place] += Double(weights[place]) }
        count += 1
    }

    /// The mean weights; `nil` before there are any.
    var mean: [Float]? { count == 0 ? nil : sums.map { Float($0 / count) } }
}
