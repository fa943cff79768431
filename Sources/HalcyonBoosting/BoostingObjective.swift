/// What the learned baselines minimise.
public enum BoostingObjective: String, CaseIterable, Sendable {
    /// The ratio of missed bytes: victims are chosen regardless of their sizes.
    case byteMissRatio = "byte-miss-ratio"
    /// The ratio of missed requests: larger entries are evicted earlier.
    case objectMissRatio = "object-miss-ratio"

    /// Returns one sentence that says why a policy cannot train, or `nil` if it can.
    static func obstacle(to policy: String, _ trainer: (any TreeTrainer)?) -> String? {
        guard trainer == nil, case .failure(let missing) = LightGBM.shared else { return nil }
        return "\(policy) needs LightGBM: \(missing.description)"
    }

    /// Returns the trainer to use: the given one, or LightGBM.
    static func trainer(_ given: (any TreeTrainer)?) -> any TreeTrainer {
        if let given { return given }
        do { return try LightGBM.shared.get() } catch { fatalError("\(error)") }
    }
}
