/// Gradient-boosted regression trees: the prediction of a row is the sum of one leaf of each tree.
///
/// The trees are read once from LightGBM's text format and evaluated here. A call of LightGBM for some dozens of rows
/// takes longer than the evaluation itself, because each call parses its parameters. Tests compare both, bit for bit.
///
/// A prediction is O(trees × depth). Bytes: 48 a leaf.
public struct BoostedTrees: Sendable {
    /// An inner node. A negative child is a leaf: `~child` is its index among the leaves.
    struct Split {
        var threshold: Double
        var feature: Int32
        /// The child for values of at most the threshold, and for larger ones.
        var children: (Int32, Int32)
    }

    /// A split whose children are places in ``nodes``, or a leaf: its value is the threshold, and both children are itself.
    /// So every row takes the same number of steps, and four rows can be moved down at once.
    private struct Node {
        var threshold: Double
        var feature: Int32
        var children: (Int32, Int32)
    }

    /// The nodes of all trees.
    private var nodes: [Node] = []
    /// The place of the root of each tree, and the steps from it to the deepest leaf.
    private var roots: [(place: Int32, depth: Int)] = []

    /// No trees: every prediction is 0.
    public init() {}

    /// The number of trees.
    public var count: Int { roots.count }

    /// Adds a tree.
    ///
    /// - Parameters:
    ///   - splits: the inner nodes, the root first, no child before its parent; children are indices in `splits`, or
    ///     `~index` in `values`.
    ///   - values: the leaves; the only one if there is no split.
    mutating func add(splits: [Split], values: [Double]) {
        let first = Int32(nodes.count)
        let firstLeaf = first + Int32(splits.count)
        func place(_ child: Int32) -> Int32 { child < 0 ? firstLeaf + ~child : first + child }
        var depths = [Int](repeating: 0, count: splits.count + 1)
        for (index, split) in splits.enumerated().reversed() {
            for child in [split.children.0, split.children.1] {
                depths[index] = max(depths[index], (child < 0 ? 0 : depths[Int(child)]) + 1)
            }
        }
        roots.append((first, depths[0]))
        nodes += splits.map {
            Node(
                threshold: $0.threshold, feature: $0.feature, children: (place($0.children.0), place($0.children.1)))
        }
        for (index, value) in values.enumerated() {
            let own = firstLeaf + Int32(index)
            nodes.append(Node(threshold: value, feature: 0, children: (own, own)))
        }
    }

    /// Returns the prediction of a row.
    ///
    /// - Parameter row: the features; at least as many as the trees were trained with.
    public func predict(_ row: UnsafePointer<Double>) -> Double {
        var sum = 0.0
        withUnsafeMutablePointer(to: &sum) { predict(row, count: 1, features: 0, into: $0) }
        return sum
    }

    /// Predicts several rows.
    ///
    /// - Parameters:
    ///   - rows: the features of `count` rows, one row after the other.
    ///   - features: the number of features of a row.
    ///   - sums: receives the prediction of each row.
    func predict(
        _ rows: UnsafePointer<Double>, count: Int, features: Int, into sums: UnsafeMutablePointer<Double>
    ) {
        sums.update(repeating: 0, count: count)
        nodes.withUnsafeBufferPointer { nodes in
            func child(_ place: Int32, _ row: UnsafePointer<Double>) -> Int32 {
                let node = nodes[Int(place)]
                return row[Int(node.feature)] <= node.threshold ? node.children.0 : node.children.1
            }
            for (root, depth) in roots {
                var index = 0
                while index + 4 <= count {
                    let row = rows + index * features
                    var (a, b, c, d) = (root, root, root, root)
                    for _ in 0..<depth {
                        a = child(a, row)
                        b = child(b, row + features)
                        c = child(c, row + 2 * features)
                        d = child(d, row + 3 * features)
                    }
                    sums[index] += nodes[Int(a)].threshold
                    sums[index + 1] += nodes[Int(b)].threshold
                    sums[index + 2] += nodes[Int(c)].threshold
                    sums[index + 3] += nodes[Int(d)].threshold
                    index += 4
                }
                while index < count {
                    var place = root
                    for _ in 0..<depth { place = child(place, rows + index * features) }
                    sums[index] += nodes[Int(place)].threshold
                    index += 1
                }
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
            zip(left, right).enumerated().allSatisfy({ index, children in
                [children.0, children.1].allSatisfy { $0 < inner && ~$0 <= inner && ($0 < 0 || $0 > Int32(index)) }
            })
        else { throw Malformed(description: "a tree has a feature or a child that does not exist") }
        let nodes = splits.indices.map {
            Split(threshold: thresholds[$0], feature: splits[$0], children: (left[$0], right[$0]))
        }
        add(splits: nodes, values: values)
    }
}
