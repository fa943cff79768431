import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite(.timeLimit(.minutes(20))) struct UnitVarianceTests {
    @Test func equalWeightsGiveTheVarianceOfAMean() {
        // The numbers 1…50 have the sample variance 50 · 51 / 12; their mean has a fiftieth of it.
        let units = UnitVariance(independent: Array(repeating: 2, count: 50))
        let values = (1...50).map { 2 * Double($0) }
        #expect(abs(units.variance(of: values) - 51.0 / 12) < 1e-12)
        #expect(units.degrees == 49)
    }

    @Test func varianceEqualsTheJackknifeOverUnits() {
        let weights = [3.0, 1, 4, 1, 5, 9, 2, 6]
        let values = [1.0, 1, 3, 0, 2, 5, 2, 1]
        let units = UnitVariance(independent: weights)
        let ratios = weights.indices.map { left in
            let kept = weights.indices.filter { $0 != left }
            return kept.reduce(0) { $0 + values[$1] } / kept.reduce(0) { $0 + weights[$1] }
        }
        // About the ratio of all units, as Efron and Stein define it.
        let all = values.reduce(0, +) / weights.reduce(0, +)
        let expected = ratios.reduce(0) { $0 + ($1 - all) * ($1 - all) } * 7 / 8
        #expect(abs(units.variance(of: values) - expected) < 1e-15)
        // Squares 9, 1, 16, 1, 25, 81, 4, 36: their sum is 173, the sum of their squares 8,837.
        #expect(abs(units.degrees - (173.0 * 173 / 8_837 - 1)) < 1e-12)
    }

    @Test func constantRatioHasNoVariance() {
        let weights = (1...30).map { Double($0) }
        #expect(UnitVariance(independent: weights).variance(of: weights.map { $0 / 4 }) < 1e-30)
        #expect(UnitVariance(series: weights, dependence: 1).variance(of: weights.map { $0 / 4 }) < 1e-30)
    }

    @Test func partsOfADifferenceHaveACovariance() {
        var generator = SeededGenerator(seed: 8)
        let weights = (0..<40).map { _ in 1 + generator.unit() }
        let (first, second) = (weights.map { $0 * generator.unit() }, weights.map { $0 * generator.unit() })
        for units in [UnitVariance(independent: weights), UnitVariance(series: weights, dependence: 6)] {
            let difference = units.variance(of: zip(first, second).map { $0 - $1 })
            let parts =
                units.variance(of: first) + units.variance(of: second) - 2 * units.covariance(first, second)
            #expect(abs(difference - parts) < 1e-15)
        }
    }

    @Test func timeBlocksHaveFourToTenDegreesOfFreedom() {
        let weights = Array(repeating: 1.0, count: 128)
        for (dependence, degrees) in [(1, 10.0), (6, 10), (13, 9), (16, 8), (32, 4), (100, 4)] {
            #expect(UnitVariance(series: weights, dependence: dependence).degrees == degrees)
        }
    }

    @Test func cosineHasTheVarianceOfItsTransform() {
        // cos(3 π (t + 1/2) / 128) is the third transform alone: Λ² = 2 / 128 · 64², a tenth of it is their mean.
        let values = (0..<128).map { slowCosine(3 * Double.pi * (Double($0) + 0.5) / 128) }
        let units = UnitVariance(series: Array(repeating: 1, count: 128), dependence: 1)
        let expected = 2.0 / 128 * 64 * 64 / 10 / 128
        #expect(abs(units.variance(of: values) / expected - 1) < 1e-9)
    }

    private func slowCosine(_ angle: Double) -> Double {
        var (term, sum) = (1.0, 1.0)
        for power in 1...60 {
            term *= -angle * angle / Double((2 * power - 1) * 2 * power)
            sum += term
        }
        return sum
    }

    @Test func blockLengthFollowsTheDependence() {
        var generator = SeededGenerator(seed: 5)
        let independent = (0..<128).map { _ in generator.unit() }
        var level = 0.0
        let dependent = (0..<128).map { _ in
            level = 0.9 * level + generator.unit() - 0.5
            return level
        }
        let runs = (0..<16).flatMap { _ in
            let value = generator.unit()
            return Array(repeating: value, count: 8)
        }
        // The cube root of 128, rounded up, is 6; a quarter of it is 32.
        #expect(BlockLength.automatic(independent) == 6)
        #expect(BlockLength.automatic(dependent) > 6)
        #expect(BlockLength.automatic(dependent) <= 32)
        #expect(BlockLength.automatic(runs) >= 8)
        #expect(BlockLength.automatic(Array(repeating: 1, count: 128)) == 6)
    }

    @Test func effectiveUnitsEqualKishsFormula() {
        #expect(UnitVariance.effectiveUnits(Array(repeating: 3, count: 12)) == 12)
        #expect(UnitVariance.effectiveUnits([1, 0, 0]) == 1)
        #expect(UnitVariance.effectiveUnits([3, 1]) == 1.6)
    }
}
