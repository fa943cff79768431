/// Prefix sums that can be changed, each operation in O(log n) (Fenwick, "A new data structure for cumulative frequency
/// tables", Software: Practice and Experience 1994). Sums wrap around on overflow.
struct FenwickTree<Value: FixedWidthInteger & UnsignedInteger> {
    /// The node at `i` holds the sum of the values in `i & (i + 1) ... i`.
    private var nodes: [Value]

    /// `count` zeros.
    init(count: Int) {
        nodes = Array(repeating: 0, count: count)
    }

    /// A tree of `values`. O(n).
    init(_ values: [Value]) {
        nodes = values
        for index in nodes.indices {
            let parent = index | (index + 1)
            if parent < nodes.count { nodes[parent] &+= nodes[index] }
        }
    }

    /// Adds `value` at `index`.
    mutating func add(_ value: Value, at index: Int) {
        var node = index
        while node < nodes.count {
            nodes[node] &+= value
            node |= node + 1
        }
    }

    /// Takes `value` away at `index`.
    mutating func subtract(_ value: Value, at index: Int) {
        add(0 &- value, at: index)
    }

    /// The sum of the values before `index`.
    func sum(before index: Int) -> Value {
        var sum: Value = 0
        var node = index - 1
        while node >= 0 {
            sum &+= nodes[node]
            node = (node & (node + 1)) - 1
        }
        return sum
    }
}
