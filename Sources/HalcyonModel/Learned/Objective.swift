/// What a cache is to save.
enum Objective: String, CaseIterable, Sendable {
    /// As many requests as possible: an object is worth its chance to be asked for again over its cost.
    case objects
    /// As much of the cost as possible: an object is worth its chance to be asked for again.
    case bytes

    /// The binary logarithm of what an object is worth for each unit of room that it takes.
    @inline(__always)
    func value(logit: Float, logCost: Float) -> Float {
        let likelihood = FastMath.log2Sigmoid(logit)
        return self == .objects ? likelihood - logCost : likelihood
    }
}
