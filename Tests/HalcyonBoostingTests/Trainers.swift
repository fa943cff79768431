import HalcyonEviction
import Synchronization

@testable import HalcyonBoosting

/// Keeps its training sets, and predicts the age of an object by a tree for each power of 2.
///
/// The prediction grows with the age, so that a policy with these trees decides almost as LRU.
final class AgeTrainer: TreeTrainer {
    private let kept = Mutex<[TrainingSet]>([])

    /// The sets in order.
    var sets: [TrainingSet] { kept.withLock { $0 } }

    func train(_ set: TrainingSet, _ parameters: TreeParameters) -> BoostedTrees {
        kept.withLock { $0.append(set) }
        var trees = BoostedTrees()
        for power in 0..<12 {
            trees.add(
                splits: [BoostedTrees.Split(threshold: Double(1 << power), feature: 0, children: (~0, ~1))],
                values: [0, 0.5])
        }
        return trees
    }
}

extension TrainingSet {
    /// The rows with their labels.
    var rows: [(row: [Double], label: Float)] {
        labels.indices.map { (Array(values[$0 * features..<($0 + 1) * features]), labels[$0]) }
    }
}

/// LightGBM, or `nil` after a printed note.
func lightGBM(for test: String) -> LightGBM? {
    switch LightGBM.shared {
    case .success(let library): return library
    case .failure(let missing):
        print("skipped: \(test) needs LightGBM. \(missing)")
        return nil
    }
}

extension ConfiguredPolicy {
    /// LRB with another trainer, and small numbers.
    static func lrb(_ trainer: some TreeTrainer, _ change: (inout LRB.Parameters) -> Void = { _ in }) -> Self {
        var parameters = LRB.Parameters()
        parameters.boosting.trainer = trainer
        change(&parameters)
        return ConfiguredPolicy(LRB.self, parameters: parameters)
    }

    /// 3L-Cache with another trainer, and small numbers.
    static func threeLCache(
        _ trainer: some TreeTrainer, _ change: (inout ThreeLCache.Parameters) -> Void = { _ in }
    ) -> Self {
        var parameters = ThreeLCache.Parameters()
        parameters.boosting.trainer = trainer
        change(&parameters)
        return ConfiguredPolicy(ThreeLCache.self, parameters: parameters)
    }
}
