/// The single-step maximum test of Westfall and Young (Resampling-Based Multiple Testing, 1993). It states how rare
/// the observed value would be if labels carried no information.
///
/// Under that null hypothesis, the true labels and their permutations are exchangeable. The same permutations serve
/// all cells of a trace. The observed value of a cell is compared with the largest of all cells in each permutation.
/// The probability of any false positive in the trace is then at most the level, for any dependence between the cells
/// and any distribution of hit ratios. The observed value may average more seeds than the value of a permutation. It
/// then varies less around the common mean, which makes the test more conservative.
enum PermutationTest {
    /// The result in one cell.
    struct Finding: Equatable {
        /// The p-value of this cell alone, at least 1 / (permutations + 1).
        var pValue: Double
        /// The p-value for all cells together.
        var adjusted: Double
        /// How many permutations have a value in any cell that is at least as large as this cell's observed value.
        var larger: Int
    }

    /// Tests whether the observed values are larger than under permuted labels. O(cells × permutations).
    ///
    /// - Parameters:
    ///   - observed: the value of each cell with the true labels.
    ///   - permuted: the value of each cell under each permutation, with the same permutations in the same order.
    static func findings(observed: [Double], permuted: [[Double]]) -> [Finding] {
        let permutations = permuted.first?.count ?? 0
        // Each cell is scaled by its own spread. The observed value is included in the spread like every permutation;
        // otherwise it would not be exchangeable with them.
        let scores = zip(observed, permuted).map { seen, others -> [Double] in
            let all = [seen] + others
            let mean = all.reduce(0, +) / Double(all.count)
            let deviation = (all.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(all.count)).squareRoot()
            return all.map { deviation > 1e-12 ? ($0 - mean) / deviation : 0 }
        }
        let largest = (0..<permutations).map { number in scores.map { $0[number + 1] }.max() ?? 0 }
        return scores.map { cell in
            let alone = cell.dropFirst().count { $0 >= cell[0] }
            let together = largest.count { $0 >= cell[0] }
            return Finding(
                pValue: Double(1 + alone) / Double(permutations + 1),
                adjusted: Double(1 + together) / Double(permutations + 1), larger: together)
        }
    }
}
