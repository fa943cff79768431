/// Holm's step-down adjustment of p-values ("A simple sequentially rejective multiple test procedure", 1979).
enum Holm {
    /// Returns the adjusted p-values, in the given order. O(n log n).
    static func adjusted(_ values: [Double]) -> [Double] {
        var adjusted = values
        var largest = 0.0
        for (rank, index) in values.indices.sorted(by: { (values[$0], $0) < (values[$1], $1) }).enumerated() {
            largest = max(largest, min(1, Double(values.count - rank) * values[index]))
            adjusted[index] = largest
        }
        return adjusted
    }
}
