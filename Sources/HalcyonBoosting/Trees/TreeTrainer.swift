/// Rows of features with a label each, from which trees are trained.
///
/// Bytes: 8 a feature and 4 a label of each row.
public struct TrainingSet: Sendable {
    /// The number of features of a row.
    public let features: Int
    /// The features, row by row.
    public private(set) var values: [Double] = []
    /// The label of each row.
    public private(set) var labels: [Float] = []

    /// An empty set of rows with this number of features.
    public init(features: Int) { self.features = features }

    /// The number of rows.
    public var count: Int { labels.count }

    /// The heap bytes in use.
    var byteCount: Int {
        values.capacity * MemoryLayout<Double>.stride + labels.capacity * MemoryLayout<Float>.stride
    }

    /// Adds a row.
    ///
    /// - Parameter row: ``features`` values.
    mutating func append(_ row: UnsafePointer<Double>, label: Float) {
        values.append(contentsOf: UnsafeBufferPointer(start: row, count: features))
        labels.append(label)
    }

    /// Removes all rows and keeps the memory.
    mutating func removeAll() {
        values.removeAll(keepingCapacity: true)
        labels.removeAll(keepingCapacity: true)
    }
}

/// The size of the trees. All else is as both papers' code has it.
public struct TreeParameters: Sendable, Equatable {
    /// The number of trees.
    public var trees: Int
    /// The most leaves of a tree.
    public var leaves: Int

    /// Parameters of trees.
    public init(trees: Int, leaves: Int) {
        self.trees = trees
        self.leaves = leaves
    }
}

/// Trains boosted trees. Policies use ``LightGBM``; tests also others.
public protocol TreeTrainer: Sendable {
    /// Returns trees that predict the labels of a set. The same arguments give the same trees.
    func train(_ set: TrainingSet, _ parameters: TreeParameters) -> BoostedTrees
}

/// Features or predictions at a fixed address.
final class FeatureRow {
    private(set) var values: UnsafeMutablePointer<Double>
    private var count: Int

    init(count: Int) {
        self.count = count
        values = .allocate(capacity: count)
        values.initialize(repeating: 0, count: count)
    }

    deinit { values.deallocate() }

    /// Makes room for `count` values; those before are lost.
    func reserve(_ count: Int) {
        guard count > self.count else { return }
        values.deallocate()
        self.count = max(count, 2 * self.count)
        values = .allocate(capacity: self.count)
        values.initialize(repeating: 0, count: self.count)
    }

    /// The values in order.
    var array: [Double] { Array(UnsafeBufferPointer(start: values, count: count)) }
}
