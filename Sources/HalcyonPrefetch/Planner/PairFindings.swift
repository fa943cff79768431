import HalcyonLearning

/// The values of many pairs with one first number, looked up together.
struct PairFindings<Value: BitwiseCopyable>: ~Copyable {
    /// The values found in the last look, in the order of the pairs; anything where none was found.
    private(set) var values: HeapArray<Value>
    private var found: HeapArray<Bool>

    /// Room for `count` pairs.
    init(repeating fill: Value, count: Int) {
        values = HeapArray(repeating: fill, count: count)
        found = HeapArray(repeating: false, count: count)
    }

    var byteCount: Int { values.byteCount + found.byteCount }

    /// Looks up the pairs of `first` with each of `seconds`, as many as there is room for.
    @inline(__always)
    mutating func look(
        in rows: borrowing PairRows<Value>, _ first: UInt32, _ seconds: UnsafePointer<UInt32>, count: Int
    ) {
        let row = rows[first]
        for index in 0..<count {
            let value = rows.value(seconds[index], in: row)
            found[index] = value != nil
            if let value { values[index] = value.pointee }
        }
    }

    /// Whether the `index`-th pair has a value.
    @inline(__always)
    func isFound(_ index: Int) -> Bool { found[index] }
}
