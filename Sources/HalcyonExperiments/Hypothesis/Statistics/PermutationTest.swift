/// How rare what was seen would be if the labels told nothing: the single-step maximum test of Westfall and Young
/// (Resampling-Based Multiple Testing, 1993).
///
/// If labels tell nothing, the labels as they are and each permutation of them are exchangeable. The same permutations
/// serve all cells of a trace, and what was seen in one cell is held against the largest of all cells in each
/// permutation: the probability of any false finding in the trace is then at most the level, however the cells depend
/// on each other, with no assumption about how hit ratios are distributed. What was seen may be a mean over more seeds
/// than a permutation's: it then strays less from the common mean than they do, which makes the test more cautious.
enum PermutationTest {
    /// What is found of one cell.
    struct Finding: Equatable {
        /// The p-value of this cell alone: never below 1 / (permutations + 1).
        var pValue: Double
        /// The p-value that holds for all cells together.
        var adjusted: Double
    }

    /// Tests whether what was seen is larger than under permuted labels. O(cells × permutations).
    ///
    /// - Parameters:
    ///   - observed: for each cell what was seen with the labels as they are.
    ///   - permuted: for each cell what was seen under each permutation, the same permutations in the same order.
    static func findings(observed: [Double], permuted: [[Double]]) -> [Finding] {
        let permutations = permuted.first?.count ?? 0
        // Cells are made comparable by their own spread, in which what was seen takes part like every permutation: else
        // it would not be exchangeable with them.
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
                adjusted: Double(1 + together) / Double(permutations + 1))
        }
    }
}
