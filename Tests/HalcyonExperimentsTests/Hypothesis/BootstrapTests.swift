import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite struct BootstrapTests {
    private func bootstrap(_ weights: [Double], blockLength: Int = 1, replicates: Int = 4_000) -> Bootstrap {
        Bootstrap(weights: weights, blockLength: blockLength, replicates: replicates, seed: 7)
    }

    @Test func drawsHaveTheStandardErrorOfAMean() {
        let values = (1...50).map { Double($0) }
        let draws = bootstrap(Array(repeating: 1, count: 50)).ratios([values])[0]
        let mean = draws.reduce(0, +) / 4_000
        let deviation = (draws.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / 4_000).squareRoot()
        // The numbers 1…50 have the variance (50² − 1) / 12; a mean of 50 of them a fiftieth of that.
        let exact = (2_499.0 / 12 / 50).squareRoot()
        #expect(abs(mean - 25.5) < 5 * exact / 4_000.0.squareRoot())
        #expect(abs(deviation / exact - 1) < 0.06)
    }

    @Test func seriesAreDrawnTogether() {
        let values = (0..<40).map { Double($0 * $0 % 17) }
        let draws = bootstrap(Array(repeating: 2, count: 40)).ratios([values, values.map { 3 * $0 }])
        #expect(zip(draws[0], draws[1]).allSatisfy { abs(3 * $0 - $1) < 1e-9 })
    }

    @Test func aRatioIsExactWhereItDoesNotVary() {
        let weights = (1...30).map { Double($0) }
        let draws = bootstrap(weights, replicates: 200).ratios([weights.map { $0 / 4 }])[0]
        #expect(draws.allSatisfy { abs($0 - 0.25) < 1e-12 })
    }

    @Test func blocksAreNeighboursInACircle() {
        // Blocks as long as the series are rotations of it, so that every draw has the same sum.
        let values = (0..<20).map { Double($0) }
        let draws = bootstrap(Array(repeating: 1, count: 20), blockLength: 20, replicates: 200).ratios([values])[0]
        #expect(draws.allSatisfy { abs($0 - 9.5) < 1e-12 })
    }

    @Test func blocksKeepTheDependence() {
        // Runs of eight equal values: independent draws of 128 take the variance of a mean for an eighth of what it is.
        var generator = SeededGenerator(seed: 3)
        let values = (0..<16).flatMap { _ in
            let value = generator.unit()
            return Array(repeating: value, count: 8)
        }
        func deviation(_ length: Int) -> Double {
            let draws = bootstrap(Array(repeating: 1, count: 128), blockLength: length).ratios([values])[0]
            let mean = draws.reduce(0, +) / Double(draws.count)
            return (draws.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(draws.count)).squareRoot()
        }
        #expect(deviation(16) > 2 * deviation(1))
        #expect(BlockLength.automatic(values) >= 8)
    }

    @Test func blockLengthFollowsTheDependence() {
        var generator = SeededGenerator(seed: 5)
        let independent = (0..<128).map { _ in generator.unit() }
        var level = 0.0
        let dependent = (0..<128).map { _ in
            level = 0.9 * level + generator.unit() - 0.5
            return level
        }
        // The cube root of 128, rounded up, is 6; a quarter of it is 32.
        #expect(BlockLength.automatic(independent) == 6)
        #expect(BlockLength.automatic(dependent) > 6)
        #expect(BlockLength.automatic(dependent) <= 32)
        #expect(BlockLength.automatic(Array(repeating: 1, count: 128)) == 6)
    }

    @Test func effectiveUnitsAreKishs() {
        #expect(Bootstrap.effectiveUnits(Array(repeating: 3, count: 12)) == 12)
        #expect(Bootstrap.effectiveUnits([1, 0, 0]) == 1)
        #expect(Bootstrap.effectiveUnits([3, 1]) == 1.6)
        #expect(bootstrap(Array(repeating: 1, count: 128), blockLength: 8).effectiveUnits == 16)
    }
}
