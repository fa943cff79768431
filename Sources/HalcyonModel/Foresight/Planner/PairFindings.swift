/// The values of many pairs with one first number, looked up together, so that the processor waits for many at once.
struct PairFindings<Value: BitwiseCopyable>: ~Copyable {
    /// The values found in the last look, in the order of the pairs; anything where none was found.
    private(set) var values: HeapArray<Value>
    private var glances: HeapArray<PairGlance>
    private var found: HeapArray<Bool>

    /// Room for `count` pairs.
    init(repeating fill: Value, count: Int) {
        values = HeapArray(repeating: fill, count: count)
        glances = HeapArray(repeating: PairGlance(), count: count)
        found = HeapArray(repeating: false, count: count)
    }

    var byteCount: Int { values.byteCount + glances.byteCount + found.byteCount }

    /// Looks up the pairs of `first` with each of `seconds`, as many as there is room for.
    @inline(__always)
    mutating func look(
        in table: borrowing PairTable<Value>, _ first: UInt32, _ seconds: UnsafePointer<UInt32>, count: Int
    ) {
        for index in 0..<count { glances[index] = table.glance(first, seconds[index]) }
        for index in 0..<count {
            found[index] = false
            if glances[index].isFree { continue }
            guard let value = table.value(first, seconds[index], after: glances[index]) else { continue }
            values[index] = value.pointee
            found[index] = true
        }
    }

    /// Whether the `index`-th pair has a value.
    @inline(__always)
    func isFound(_ index: Int) -> Bool { found[index] }
}
