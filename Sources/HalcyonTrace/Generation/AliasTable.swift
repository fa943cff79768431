import HalcyonSupport

/// A fixed discrete distribution of any shape from which a draw takes O(1) time.
///
/// Walker's alias method, built by Vose's linear algorithm ("A linear algorithm for generating random numbers with a
/// given distribution", IEEE TSE 1991). A draw takes one 64-bit random number. The high half of its product with the
/// number of outcomes is the column; the low half decides between the column and its alias. Probabilities are exact to
/// 2⁻³² of a column. 8 bytes an outcome.
package struct AliasTable: Sendable {
    private struct Column {
        /// The outcome is the column itself if the fraction is below this, in units of 2⁻³².
        var threshold: UInt32
        var alias: UInt32
    }

    private let columns: [Column]

    /// Creates a table of the outcomes 0 ..< `weights.count` with probabilities in proportion to the weights. O(n).
    ///
    /// Weights must be finite and not negative, and at least one must be positive.
    package init(weights: [Double]) {
        precondition(!weights.isEmpty && weights.count < Int(UInt32.max), "an outcome at least")
        var total = 0.0
        for weight in weights { total += weight }
        precondition(total > 0 && total.isFinite, "a positive weight at least")
        let scale = Double(weights.count) / total
        var columns = (0..<weights.count).map { Column(threshold: .max, alias: UInt32($0)) }
        var small: [UInt32] = []
        var large: [UInt32] = []
        var rest = weights
        for index in rest.indices {
            rest[index] *= scale
            if rest[index] < 1 { small.append(UInt32(index)) } else { large.append(UInt32(index)) }
        }
        while let low = small.popLast() {
            guard let high = large.last else { break }
            let share = rest[Int(low)]
            columns[Int(low)] = Column(threshold: UInt32(min(share * 0x1p32, 0xFFFF_FFFF)), alias: high)
            rest[Int(high)] -= 1 - share
            if rest[Int(high)] < 1 {
                large.removeLast()
                small.append(high)
            }
        }
        self.columns = columns
    }

    /// The number of outcomes.
    package var count: Int { columns.count }

    /// Returns a random outcome. O(1).
    package func draw(using random: inout SeededGenerator) -> Int {
        let product = random.next().multipliedFullWidth(by: UInt64(columns.count))
        let index = Int(product.high)
        let column = columns[index]
        return UInt32(truncatingIfNeeded: product.low >> 32) < column.threshold ? index : Int(column.alias)
    }
}

extension AliasTable {
    /// Returns Zipf's law over ranks 0 ..< `count`: the weight of rank r is (r + 1) to the power of `-alpha`.
    /// O(count).
    package static func zipf(count: Int, alpha: Double) -> AliasTable {
        AliasTable(weights: (0..<count).map { PortableMath.pow(Double($0 + 1), -alpha) })
    }
}
