import Foundation
import HalcyonSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

/// The coverage of the intervals in simulations with a known truth.
///
/// `HALCYON_COVERAGE` sets the number of samples, and makes each test print its rows of the table in
/// `Experiments/log.md`, which was made with 5000.
@Suite(.timeLimit(.minutes(20))) struct CoverageTests {
    private static let given = ProcessInfo.processInfo.environment["HALCYON_COVERAGE"].flatMap(Int.init)
    private static let cells = [1, 6, 12]

    /// The distribution of the units.
    enum Shape: String, CaseIterable {
        case normal, exponential
    }

    /// A source of deviates with mean 0 and variance 1.
    private struct Deviates {
        var generator: SeededGenerator

        mutating func normal() -> Double {
            while true {
                let (u, v) = (2 * generator.unit() - 1, 2 * generator.unit() - 1)
                let square = u * u + v * v
                if square > 0, square < 1 { return u * (-2 * PortableMath.ln(square) / square).squareRoot() }
            }
        }

        mutating func draw(_ shape: Shape) -> Double {
            shape == .normal ? normal() : -PortableMath.ln(1 - generator.unit()) - 1
        }
    }

    /// Returns how many of `samples` family intervals hold the truth, for each number of cells.
    private func covered(samples: Int, seed: UInt64, _ sample: (inout Deviates, Int) -> Contrast) -> [Int] {
        Self.cells.map { cells in
            var deviates = Deviates(generator: SeededGenerator(seed: seed))
            return (0..<samples).count { _ in
                let interval = sample(&deviates, cells).familyInterval
                return interval.low <= 0.02 && 0.02 <= interval.high
            }
        }
    }

    /// The nominal coverage of one cell's family interval, less 3.5 standard errors of the simulation.
    private func least(_ samples: Int, _ cells: Int) -> Double {
        let miss = 0.05 / Double(cells)
        return Double(samples) * (1 - miss) - 3.5 * (Double(samples) * miss * (1 - miss)).squareRoot()
    }

    private func report(_ name: String, _ samples: Int, _ covered: [Int]) {
        guard Self.given != nil else { return }
        let shares = covered.map { String(format: "%.2f", 100 * Double($0) / Double(samples)) }
        print("coverage | \(name) | \(shares.joined(separator: " | ")) |")
    }

    /// Units are normal, and runs have either no noise or as much as the units, estimated from 20 values.
    @Test(arguments: [4, 6, 8, 12, 40], [false, true])
    func familyIntervalsOfFewUnitsHaveNominalCoverage(count: Int, isNoisy: Bool) {
        let samples = Self.given ?? 1_000
        let units = UnitVariance(independent: Array(repeating: 100, count: count))
        let found = covered(samples: samples, seed: UInt64(count)) { deviates, cells in
            let series = (0..<count).map { _ in 2 + deviates.draw(.normal) }
            var difference = series.reduce(0, +) / Double(100 * count)
            var noise = RunNoise.none
            if isNoisy {
                let spread = 0.01 / Double(count).squareRoot()
                difference += spread * deviates.normal()
                noise = RunNoise.spread((0..<20).map { _ in spread * deviates.normal() })
            }
            return Contrast(difference, series: series, units: units, noise: noise, confidence: 0.95, cells: cells)
        }
        report("\(count) units\(isNoisy ? " and runs" : "")", samples, found)
        for (cells, covered) in zip(Self.cells, found) {
            #expect(Double(covered) >= least(samples, cells), "\(cells) cells: \(covered) of \(samples)")
        }
    }

    @Test(arguments: [4, 6, 8, 12, 40])
    func familyIntervalsAreNoWiderThanStudents(count: Int) {
        var deviates = Deviates(generator: SeededGenerator(seed: 1))
        let series = (0..<count).map { _ in 2 + deviates.draw(.exponential) }
        let mean = series.reduce(0, +) / Double(count)
        let deviation = (series.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(count - 1)).squareRoot()
        // Printed quantiles of Student's t at 1 − 0.025 / cells, for one, six and twelve cells.
        let quantiles: [Int: [Double]] = [
            4: [3.182446, 6.231543, 7.939751], 6: [2.570582, 4.219309, 4.982528],
            8: [2.364624, 3.635807, 4.174315], 12: [2.200985, 3.208122, 3.600447],
            40: [2.022691, 2.779568, 3.044062],
        ]
        let units = UnitVariance(independent: Array(repeating: 1, count: count))
        for (place, cells) in Self.cells.enumerated() {
            let contrast = Contrast(
                mean, series: series, units: units, noise: .none, confidence: 0.95, cells: cells)
            let width = (contrast.familyInterval.high - contrast.familyInterval.low) / 2
            let student = (quantiles[count]?[place] ?? 0) * deviation / Double(count).squareRoot()
            #expect(width <= 1.1 * student && width >= 0.999 * student, "\(width / student)")
        }
    }

    /// Users of exponential activity, whose gains are skewed.
    @Test(arguments: [60, 250])
    func intervalsOverUnequalUsersHaveNominalCoverage(count: Int) {
        let samples = Self.given.map { $0 / 10 } ?? 300
        let found = covered(samples: samples, seed: UInt64(count)) { deviates, cells in
            let weights = (0..<count).map { _ in 20 + 100 * (1 + deviates.draw(.exponential)) }
            let series = weights.map { $0 * (0.02 + 0.01 * deviates.draw(.exponential)) }
            return Contrast(
                series.reduce(0, +) / weights.reduce(0, +), series: series,
                units: UnitVariance(independent: weights), noise: .none, confidence: 0.95, cells: cells)
        }
        report("\(count) users, unequal and skewed", samples, found)
        for (cells, covered) in zip(Self.cells, found) {
            #expect(Double(covered) >= least(samples, cells), "\(cells) cells: \(covered) of \(samples)")
        }
    }

    /// The coverage lost by skewness. With few units it is only printed; with many it is checked.
    @Test(arguments: [4, 6, 8, 12, 40])
    func manySkewedUnitsLoseLittleCoverage(count: Int) {
        let samples = Self.given ?? 500
        let units = UnitVariance(independent: Array(repeating: 100, count: count))
        let found = covered(samples: samples, seed: UInt64(count)) { deviates, cells in
            let series = (0..<count).map { _ in 2 + deviates.draw(.exponential) }
            return Contrast(
                series.reduce(0, +) / Double(100 * count), series: series, units: units, noise: .none,
                confidence: 0.95, cells: cells)
        }
        report("\(count) exponential units", samples, found)
        #expect(Double(found[0]) >= Double(samples) * (count < 12 ? 0.84 : 0.88))
    }

    /// Time blocks whose values depend on the one before: 128 blocks, as in a trace.
    @Test(arguments: [0, 0.3, 0.5, 0.7, 0.9])
    func intervalsOverTimeBlocksCoverDependentSeries(correlation: Double) {
        let samples = Self.given.map { $0 / 10 } ?? 300
        let weights = Array(repeating: 100.0, count: 128)
        let found = covered(samples: samples, seed: 3) { deviates, cells in
            var level = deviates.normal() / (1 - correlation * correlation).squareRoot()
            let series = weights.map { _ in
                level = correlation * level + deviates.normal()
                return 2 + level
            }
            let units = UnitVariance(series: weights, dependence: BlockLength.automatic(series))
            return Contrast(
                series.reduce(0, +) / 12_800, series: series, units: units, noise: .none, confidence: 0.95,
                cells: cells)
        }
        report("128 time blocks, correlation \(correlation)", samples, found)
        // Strong dependence costs some coverage, as of every estimate from one short series.
        let allowed = correlation > 0.8 ? 0.08 : correlation > 0.4 ? 0.02 : 0
        for (cells, covered) in zip(Self.cells, found) {
            #expect(
                Double(covered) >= least(samples, cells) - allowed * Double(samples),
                "\(cells) cells: \(covered) of \(samples)")
        }
    }

    /// The share of a gap: gains and gaps vary together, and the gap itself is estimated from few units.
    @Test(arguments: [4, 6, 8, 12, 40])
    func shareOfTheGapHasNominalCoverageWithFewUnits(count: Int) throws {
        let samples = Self.given ?? 1_000
        let units = UnitVariance(independent: Array(repeating: 1, count: count))
        var deviates = Deviates(generator: SeededGenerator(seed: UInt64(count)))
        let covered = (0..<samples).count { _ in
            let gaps = (0..<count).map { _ in 0.2 + 0.1 * deviates.normal() }
            let gains = gaps.map { 0.3 * $0 + 0.03 * deviates.normal() }
            let (gap, gain) = (gaps.reduce(0, +) / Double(count), gains.reduce(0, +) / Double(count))
            // Without a gap there is no interval; every share is possible then.
            let share = GapShare(
                gain: gain, gap: gap, gains: gains, gaps: gaps, units: units, noise: .none, confidence: 0.95)
            guard let interval = share?.interval else { return true }
            return interval.low <= 0.3 && 0.3 <= interval.high
        }
        report("\(count) units, share of the gap", samples, [covered])
        #expect(Double(covered) >= least(samples, 1), "\(covered) of \(samples)")
    }
}
