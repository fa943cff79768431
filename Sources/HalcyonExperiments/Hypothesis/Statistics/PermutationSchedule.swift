/// The numbers of permutations at which a sequential permutation test looks at its p-value.
///
/// Permutations are drawn in stages. After the first stage, the test stops unless a cell needs the result and could
/// still have it. Significance is tested at one or two looks, whose numbers are fixed in advance. Each look has its
/// share of the level (Bonferroni): the p-value is the smallest p-value of the looks so far, times the number of looks.
/// For any dependence between the looks, it is at most x with a probability of at most x under the null hypothesis. To
/// stop between looks, for any reason, only takes chances of significance away.
///
/// This is more conservative than a rule that stops after a fixed number of larger values (Besag and Clifford,
/// "Sequential Monte Carlo p-values", 1991). It also holds for the largest of several cells, whose scale changes with
/// the number of permutations.
struct PermutationSchedule: Equatable {
    /// The number of permutations after each stage.
    let stages: [Int]
    /// The stages at which significance is tested.
    let looks: [Int]
    let level: Double

    /// Creates a schedule.
    ///
    /// - Parameters:
    ///   - first: the number of permutations of the first stage.
    ///   - most: the maximum number of permutations.
    ///   - level: the significance level.
    init(first: Int, most: Int, level: Double) {
        self.level = level
        // The smallest number at which half the level can be reached: 39 at 5 %.
        let fewest = Int((2 / level - 1e-9).rounded(.up)) - 1
        let middle = max(first, fewest)
        guard first < most, middle < most else {
            stages = [max(first, most)]
            looks = stages
            return
        }
        looks = [middle, most]
        stages = first < middle ? [first] + looks : looks
    }

    /// Whether a cell may become significant at a later look.
    ///
    /// - Parameters:
    ///   - larger: how many of the permutations so far are at least as large as the observed value.
    ///   - drawn: the number of permutations so far.
    func mayBecomeSignificant(larger: Int, drawn: Int) -> Bool {
        looks.contains { $0 > drawn && Double(looks.count * (1 + larger)) / Double($0 + 1) <= level + 1e-9 }
    }

    /// Returns the result of a cell after the looks so far. Before the first look, the p-value is that of the
    /// permutations so far times the number of looks, which is above the level.
    ///
    /// - Parameters:
    ///   - observed: the value of each cell with the true labels.
    ///   - permuted: the value of each cell under each permutation drawn so far.
    func findings(observed: [Double], permuted: [[Double]]) -> [PermutationTest.Finding] {
        let drawn = permuted.first?.count ?? 0
        let passed = looks.filter { $0 <= drawn }
        let tests = (passed.isEmpty ? [drawn] : passed).map { number in
            PermutationTest.findings(observed: observed, permuted: permuted.map { Array($0.prefix(number)) })
        }
        let now = PermutationTest.findings(observed: observed, permuted: permuted)
        let factor = Double(looks.count)
        return observed.indices.map { cell in
            PermutationTest.Finding(
                pValue: min(1, factor * (tests.map { $0[cell].pValue }.min() ?? 1)),
                adjusted: min(1, factor * (tests.map { $0[cell].adjusted }.min() ?? 1)),
                larger: now[cell].larger)
        }
    }
}
