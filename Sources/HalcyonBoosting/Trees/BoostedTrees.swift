/// Gradient-boosted regression trees: the prediction of a row is the sum of one leaf of each tree.
///
/// The trees are read once from LightGBM's text format and evaluated here. A call of LightGBM for some dozens of rows
/// takes longer than the evaluation itself, because each call parses its parameters. Tests compare both, bit for bit.
///
/// A prediction is O(trees × depth). Bytes: 32 a leaf.
public struct BoostedTrees: Sendable {
    /// An inner node. A negative child is a leaf: `~child` is its index in ``leaves``.
    struct Node {
        var threshold: Double
        var feature: Int32
        /// The child for values of at most the threshold, and for larger ones.
        var children: (Int32, Int32)
    }

    /// The inner nodes of all trees, each tree with its root first.
    private var nodes: [Node] = []
    /// The leaf values of all trees.
    private var leaves: [Double] = []
    /// The root of each tree, as a child of an imaginary node.
    private var roots: [Int32] = []

    /// No trees: every prediction is 0.
    public init() {}

    /// The number of trees.
    public var count: Int { roots.count }

    /// Adds a tree.
    ///
    /// - Parameters:
    ///   - splits: the inner nodes, the root first; children are indices in `splits`, or `~index` in `values`.
    ///   - values: the leaves; the only one if there is no split.
    mutating func add(splits: [Node], values: [Double]) {
        let (firstNode, firstLeaf) = (Int32(nodes.count), Int32(leaves.count))
        func moved(_ child: Int32) -> Int32 { child < 0 ? ~(~child + firstLeaf) : child + firstNode }
        roots.append(splits.isEmpty ? ~firstLeaf : firstNode)
        for var node in splits {
            node.children = (moved(node.children.0), moved(node.children.1))
            nodes.append(node)
        }
        leaves += values
    }

    /// Returns the prediction of a row.
    ///
    /// - Parameter row: the features; at least as many as the trees were trained with.
    public func predict(_ row: UnsafePointer<Double>) -> Double {
        nodes.withUnsafeBufferPointer { nodes in
            leaves.withUnsafeBufferPointer { leaves in
                var sum = 0.0
                for root in roots {
                    var next = root
                    while next >= 0 {
                        let node = nodes[Int(next)]
                        next = row[Int(node.feature)] <= node.threshold ? node.children.0 : node.children.1
                    }
                    sum += leaves[Int(~next)]
                }
                return sum
            }
        }
    }
}

extension BoostedTrees {
    /// A text that is no model of numerical regression trees.
    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads a model in LightGBM's text format, version 3 or 4.
    ///
    /// - Parameter features: the number of features of a row.
    /// - Throws: ``Malformed`` for a text that is not such a model. That includes categorical splits, splits of missing
    ///   values, and features or children that do not exist.
    init(text: String, features: Int) throws(Malformed) {
        self.init()
        // A value has one line `name=numbers`. Trees begin with `Tree=number`; the last one ends with `end of trees`.
        var fields: [Substring: Substring]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: true) {
            let isEnd = line == "end of trees"
            if isEnd || line.hasPrefix("Tree=") {
                if let fields { try add(fields, features: features) }
                fields = [:]
                if isEnd { return }
            } else if let equals = line.firstIndex(of: "=") {
                fields?[line[..<equals]] = line[line.index(after: equals)...]
            }
        }
        throw Malformed(description: "the model has no end of trees")
    }

    private mutating func add(_ fields: [Substring: Substring], features: Int) throws(Malformed) {
        func numbers<Number: LosslessStringConvertible>(_ name: Substring) throws(Malformed) -> [Number] {
            var list: [Number] = []
            for word in (fields[name] ?? "").split(separator: " ") {
                guard let number = Number(String(word)) else {
                    throw Malformed(description: "\(name) has '\(word)', which is no number")
                }
                list.append(number)
            }
            return list
        }
        let values: [Double] = try numbers("leaf_value")
        let thresholds: [Double] = try numbers("threshold")
        let splits: [Int32] = try numbers("split_feature")
        let kinds: [Int] = try numbers("decision_type")
        let (left, right): ([Int32], [Int32]) = (try numbers("left_child"), try numbers("right_child"))
        let count = splits.count
        guard values.count == count + 1,
            [thresholds.count, kinds.count, left.count, right.count].allSatisfy({ $0 == count })
        else { throw Malformed(description: "a tree has \(values.count) leaves and \(count) splits") }
        // Bit 0 is a categorical split, bits 2 and 3 are the kind of missing value, which is 0 for none.
        guard kinds.allSatisfy({ $0 & 0b1101 == 0 }) else {
            throw Malformed(description: "a tree has a split that is not numerical, or one of missing values")
        }
        let inner = Int32(count)
        guard splits.allSatisfy({ $0 >= 0 && $0 < Int32(features) }),
            (left + right).allSatisfy({ $0 < inner && ~$0 <= inner && $0 != 0 })
        else { throw Malformed(description: "a tree has a feature or a child that does not exist") }
        let nodes = splits.indices.map {
            Node(threshold: thresholds[$0], feature: splits[$0], children: (left[$0], right[$0]))
        }
        add(splits: nodes, values: values)
    }
}
