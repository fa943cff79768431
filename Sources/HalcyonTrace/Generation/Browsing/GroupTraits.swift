import HalcyonSupport

/// What makes a group different from the others: where users go from it, what they do in it, how large its objects are.
struct GroupTraits {
    /// The groups that each group is related to, the nearest first.
    private let neighbours: [[UInt32]]
    private let neighbourWeights: AliasTable
    /// How often a view in each group is a repeat view.
    let repeatShares: [Double]
    /// How often any other view in each group is of a one-hit wonder.
    let oneHitShares: [Double]
    /// The natural logarithm of each group's median size; empty without sizes.
    let logMedians: [Double]

    init(model: BrowsingModel, random: inout SeededGenerator) {
        let count = model.categories
        neighbourWeights = AliasTable.zipf(count: model.relatedGroups, alpha: 1)
        neighbours = (0..<count).map { _ in (0..<model.relatedGroups).map { _ in UInt32(random.below(count)) } }

        // Each group has a place on a scale from -1 to 1, in an order that tells nothing of its popularity.
        let loyalty = GroupTraits.scale(count, using: &random)
        repeatShares = loyalty.map { min(1, model.repeatShare * (1 + model.categoryContrast * $0)) }
        oneHitShares = loyalty.map { min(1, model.oneHitShare * (1 - model.categoryContrast * $0)) }

        let sizes = GroupTraits.scale(count, using: &random)
        if model.medianSize > 0 {
            let middle = PortableMath.ln(model.medianSize)
            let half = PortableMath.ln(model.categorySizeRatio) / 2
            logMedians = sizes.map { middle + half * $0 }
        } else {
            logMedians = []
        }
    }

    /// A group that `group` is related to.
    func neighbour(of group: Int, using random: inout SeededGenerator) -> Int {
        Int(neighbours[group][neighbourWeights.draw(using: &random)])
    }

    /// Evenly spaced numbers from -1 to 1 in random order (Fisher and Yates); 0 if there is but one.
    private static func scale(_ count: Int, using random: inout SeededGenerator) -> [Double] {
        var values = (0..<count).map { count == 1 ? 0 : 2 * Double($0) / Double(count - 1) - 1 }
        for last in stride(from: count - 1, to: 0, by: -1) { values.swapAt(last, random.below(last + 1)) }
        return values
    }
}
