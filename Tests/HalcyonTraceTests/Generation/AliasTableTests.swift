import HalcyonSupport
import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct AliasTableTests {
    @Test func outcomesAreDrawnByWeight() {
        let table = AliasTable(weights: [1, 0, 3, 6])
        var random = SeededGenerator(seed: 9)
        var counts = [Int](repeating: 0, count: 4)
        for _ in 0..<100_000 { counts[table.draw(using: &random)] += 1 }
        #expect(counts[1] == 0)
        // Five standard deviations are at most 775.
        #expect(abs(counts[0] - 10_000) < 775)
        #expect(abs(counts[2] - 30_000) < 775)
        #expect(abs(counts[3] - 60_000) < 775)
    }

    @Test func singleOutcomeIsCertain() {
        var random = SeededGenerator(seed: 9)
        #expect(AliasTable(weights: [0.1]).draw(using: &random) == 0)
    }

    @Test func zipfDrawsMatchTheirProbabilities() {
        let table = AliasTable.zipf(count: 100, alpha: 0.8)
        var random = SeededGenerator(seed: 2)
        var counts = [Int](repeating: 0, count: 100)
        for _ in 0..<200_000 { counts[table.draw(using: &random)] += 1 }
        let weights = (1...100).map { PortableMath.pow(Double($0), -0.8) }
        let total = weights.reduce(0, +)
        // Pearson's statistic of 99 degrees of freedom exceeds 160 once in ten thousand draws.
        var statistic = 0.0
        for (count, weight) in zip(counts, weights) {
            let expected = 200_000 * weight / total
            statistic += (Double(count) - expected) * (Double(count) - expected) / expected
        }
        #expect(statistic < 160)
    }
}
