import Foundation
import HalcyonSimulation
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

/// The arithmetic of comparisons, against worked examples and brute force.
@Suite("Comparison", .timeLimit(.minutes(20))) struct ComparisonTests {
    private let ten = [10, 10, 10, 10]

    /// A pair of LRU and FIFO on one trace.
    private func pair(
        _ fixture: CellFixture = CellFixture(), requests: [Int], lru: [Int], fifo: [Int]
    ) throws -> [ResultRow] {
        var (one, other) = (fixture, fixture)
        one.policy = "lru"
        other.policy = "fifo"
        return [try one.row(requests: requests, hits: lru), try other.row(requests: requests, hits: fifo)]
    }

    private func compared(_ rows: [ResultRow]) throws -> Comparison {
        try Comparison(.policy("lru"), .policy("fifo"), rows: rows)
    }

    /// Differences in hits of 2, 1, 1 and 4 at 10 requests each: 0.2 in all, residuals 0, −1, −1 and 2, each by the 30
    /// requests of the other units: 3 / 4 · 6 / 900 = 0.005, with 3 degrees of freedom.
    ///
    ///     python3 -c "from scipy.stats import t; se = 0.005 ** 0.5; print(t.ppf(0.975, 3) * se, 2 * t.sf(0.2 / se, 3))"
    ///     0.2250329363228184 0.06627560274152429
    @Test func cellOfFourUnitsMatchesFiguresByHand() throws {
        let found = try compared(pair(requests: ten, lru: [6, 7, 5, 8], fifo: [4, 6, 4, 4]))
        let cell = try #require(found.cells.first)
        #expect(found.cells.count == 1)
        #expect(isNear(cell.difference, 0.2) && isNear(cell.a.hitRatio, 0.65) && isNear(cell.b.hitRatio, 0.45))
        #expect(isNear(cell.standardError, 0.005.squareRoot()) && isNear(cell.degrees, 3))
        #expect(isNear(cell.interval?.low, 0.2 - 0.2250329363228184, to: 1e-8))
        #expect(isNear(cell.interval?.high, 0.2 + 0.2250329363228184, to: 1e-8))
        #expect(isNear(cell.pValue, 0.06627560274152429, to: 1e-8))
        #expect(cell.adjustedPValue == cell.pValue)
        #expect(cell.units.count == 4 && isNear(cell.units.effectiveCount, 4))
        // One cell: the means are the cell's.
        #expect(isNear(found.pooled.difference, 0.2) && found.pooled.intervalOverTraces == nil)
        #expect(isNear(found.pooled.intervalOfTheseTraces?.low, cell.interval?.low ?? 0))
        #expect(found.tally == Comparison.Tally(won: 1))
        #expect(found.losses.isEmpty)
    }

    /// Two capacities with equal differences have the information of one, not of two; with opposite differences their
    /// mean does not vary.
    @Test func capacitiesOfOneTraceShareTheirUnits() throws {
        let first = try pair(requests: ten, lru: [6, 7, 5, 8], fifo: [4, 6, 4, 4])
        var other = CellFixture()
        other.capacity = "10%"
        let alike = try compared(first + pair(other, requests: ten, lru: [7, 8, 6, 9], fifo: [5, 7, 5, 5]))
        #expect(alike.cells.count == 2 && alike.traces.count == 1)
        #expect(isNear(alike.traces[0].standardError, 0.005.squareRoot()))
        #expect(isNear(alike.pooled.intervalOfTheseTraces?.high, 0.2 + 0.2250329363228184, to: 1e-8))
        // 2, 3, 3 and 0 besides 2, 1, 1 and 4: a mean of 2 in every unit.
        let opposite = try compared(first + pair(other, requests: ten, lru: [6, 8, 7, 4], fifo: [4, 5, 4, 4]))
        #expect(isNear(opposite.pooled.difference, 0.2))
        #expect(
            opposite.traces[0].interval == Interval(low: opposite.pooled.difference, high: opposite.pooled.difference))
    }

    /// The cell above, and one of 1, −2, 3 and −6 hits of 10, 20, 30 and 40 requests.
    ///
    ///     w = np.array([10, 20, 30, 40]); s = np.array([1, -2, 3, -6]); r = s.sum() / w.sum()
    ///     v = 3 / 4 * (((s.sum() - s) / (w.sum() - w) - r) ** 2).sum()          # 0.007083564814814815
    ///     f = (w ** 2).sum() ** 2 / (w ** 4).sum() - 1                          # 1.542372881355932
    ///     V = (0.005 + v) / 4; F = V ** 2 / ((0.005 / 4) ** 2 / 3 + (v / 4) ** 2 / f)
    ///     t.ppf(0.975, F) * V ** 0.5                                            # 0.1600693713621257
    ///     t.ppf(0.975, 1) * 0.24 / 2                                            # 1.5247445683409632
    @Test func pooledTracesMatchFiguresByHand() throws {
        var other = CellFixture()
        (other.trace, other.fingerprint) = ("feed", "00000000000000bb")
        let found = try compared(
            pair(requests: ten, lru: [6, 7, 5, 8], fifo: [4, 6, 4, 4])
                + pair(other, requests: [10, 20, 30, 40], lru: [5, 8, 23, 10], fifo: [4, 10, 20, 16]))
        #expect(found.traces.map(\.trace) == ["feed", "shop"])
        #expect(isNear(found.traces[0].standardError, 0.08416391634670296, to: 1e-12))
        #expect(isNear(found.cells[0].pValue, 0.6932056149838725, to: 1e-8))
        #expect(isNear(found.pooled.difference, 0.08))
        #expect(isNear(found.pooled.intervalOfTheseTraces?.low, 0.08 - 0.1600693713621257, to: 1e-8))
        #expect(isNear(found.pooled.intervalOfTheseTraces?.high, 0.08 + 0.1600693713621257, to: 1e-8))
        #expect(isNear(found.pooled.intervalOverTraces?.low, 0.08 - 1.5247445683409632, to: 1e-8))
        #expect(found.worst.trace == "feed" && isNear(found.worst.difference, -0.04))
        #expect(found.tally == Comparison.Tally(won: 1, lost: 1))
    }

    /// Holm's correction is the closure of Bonferroni's: a test's adjusted p-value is the largest over all sets of tests
    /// that it belongs to of the smallest p-value of the set by the size of the set.
    @Test func pValuesAreAdjustedForAllCells() throws {
        var rows: [ResultRow] = []
        for (number, lru) in [[6, 7, 5, 8], [9, 8, 9, 9], [6, 7, 7, 6], [4, 6, 5, 4], [3, 2, 9, 1]].enumerated() {
            var fixture = CellFixture()
            (fixture.trace, fixture.fingerprint) = ("t\(number)", "\(number)")
            rows += try pair(fixture, requests: ten, lru: lru, fifo: [4, 6, 4, 4])
        }
        let cells = try compared(rows).cells
        let values = try cells.map { try #require($0.pValue) }
        #expect(Set(values).count == 5)
        for test in values.indices {
            var largest = 0.0
            for set in 1..<(1 << values.count) where set & 1 << test != 0 {
                let members = values.indices.filter { set & 1 << $0 != 0 }
                largest = max(largest, min(1, Double(members.count) * (members.map { values[$0] }.min() ?? 1)))
            }
            #expect(isNear(cells[test].adjustedPValue, largest, to: 1e-12))
        }
    }

    /// The mean over three capacities varies by the users left out one at a time.
    @Test func varianceOfATraceEqualsTheJackknifeOverUsers() throws {
        var random = SeededGenerator(seed: 31)
        let requests = (0..<12).map { _ in 20 + random.below(80) }
        var rows: [ResultRow] = []
        var series: [[Double]] = []
        for capacity in ["1%", "5%", "10%"] {
            var fixture = CellFixture()
            fixture.capacity = capacity
            let (lru, fifo) = (requests.map { random.below($0) }, requests.map { random.below($0) })
            rows += try pair(fixture, requests: requests, lru: lru, fifo: fifo)
            series.append(zip(lru, fifo).map { Double($0 - $1) })
        }
        func mean(without left: Int?) -> Double {
            let kept = requests.indices.filter { $0 != left }
            let all = kept.reduce(0.0) { $0 + Double(requests[$1]) }
            return series.reduce(0.0) { sum, one in sum + kept.reduce(0.0) { $0 + one[$1] } / all } / 3
        }
        let whole = mean(without: nil)
        let variance =
            requests.indices.reduce(0.0) { $0 + (mean(without: $1) - whole) * (mean(without: $1) - whole) } * 11 / 12
        let found = try compared(rows)
        #expect(isNear(found.pooled.difference, whole, to: 1e-12))
        #expect(isNear(found.traces[0].standardError, variance.squareRoot(), to: 1e-12))
    }

    /// Blocks of time: the mean square of the first cosine transforms; their number depends on the dependence.
    @Test func timeBlocksHaveTheVarianceOfTheirTransforms() throws {
        var random = SeededGenerator(seed: 5)
        let requests = Array(repeating: 50, count: 128)
        let (lru, fifo) = (requests.map { _ in 20 + random.below(20) }, requests.map { _ in 10 + random.below(20) })
        var fixture = CellFixture()
        fixture.kind = "time_blocks"
        let cell = try #require(try compared(pair(fixture, requests: requests, lru: lru, fifo: fifo)).cells.first)
        let values = zip(lru, fifo).map { Double($0 - $1) }
        let mean = values.reduce(0, +) / 128
        let count = Int(try #require(cell.degrees).rounded())
        #expect((4...10).contains(count) && cell.units.kind == .timeBlocks && cell.units.blockLength >= 6)
        let squares = (1...count).map { order in
            let wave = values.enumerated().reduce(0.0) {
                $0 + cos(Double.pi * Double(order) * (Double($1.offset) + 0.5) / 128) * ($1.element - mean)
            }
            return 2 / 128.0 * wave * wave
        }
        let variance = squares.reduce(0, +) / Double(count) / 128 / (50 * 50)
        #expect(isNear(cell.standardError, variance.squareRoot(), to: 1e-9))
    }

    /// Seeds that hit 24 and 28 of 40: a run's standard deviation is 0.0707, with one degree; a mean over two has 0.05. Units
    /// differ by 2, 2, 2 and 2, so nothing else varies, and t(1) is 12.7062 at 97.5 %.
    @Test func noiseOfSeedsIsAdded() throws {
        var random = CellFixture()
        random.policy = "random"
        var rows: [ResultRow] = []
        for (seed, hits) in [(1, 6), (2, 7)] {
            random.seed = UInt64(seed)
            rows.append(try random.row(requests: ten, hits: Array(repeating: hits, count: 4)))
        }
        rows.append(try CellFixture().row(requests: ten, hits: [4, 4, 4, 4]))
        let cell = try #require(try Comparison(.policy("random"), .policy("lru"), rows: rows).cells.first)
        #expect(isNear(cell.difference, 0.25) && cell.a.seeds == [1, 2] && cell.b.seeds == [])
        #expect(isNear(cell.standardError, 0.05) && isNear(cell.degrees, 1))
        #expect(isNear(cell.interval?.high, 0.25 + 0.05 * 12.706204736174707, to: 1e-8))
        // With one seed no noise can be estimated, which a note states.
        let one = try Comparison(.policy("random"), .policy("lru"), rows: [rows[0], rows[2]])
        #expect(one.notes.contains { $0.contains("with one seed") })
    }

    /// Both sides draw: the spread is pooled over 2 + 2 runs, and the difference has s² (1/2 + 1/2).
    @Test func noiseOfTwoRandomSidesIsPooled() throws {
        var rows: [ResultRow] = []
        for (capacity, hits) in [("1%", [6, 7]), ("10%", [8, 8])] {
            for (seed, hits) in zip([1, 2] as [UInt64], hits) {
                let fixture = CellFixture(policy: "random", capacity: capacity, seed: seed)
                rows.append(try fixture.row(requests: ten, hits: Array(repeating: hits, count: 4)))
            }
        }
        let (one, other) = (try ResultCondition(parsing: "capacity=1%"), try ResultCondition(parsing: "capacity=10%"))
        let cell = try #require(try Comparison(.condition(one), .condition(other), rows: rows).cells.first)
        #expect(isNear(cell.difference, -0.15))
        #expect(isNear(cell.standardError, 0.05) && isNear(cell.degrees, 2))
    }

    /// Means over two seeds: 0.6 and 0.7 under two permutations, with a spread of 0.0707 that 1/√2 of remains.
    @Test func permutationsOfLabelsAreAveraged() throws {
        var rows: [ResultRow] = []
        for (labels, hits) in [("permuted uniform #1", [5, 7]), ("permuted uniform #2", [7, 7]), ("given", [9, 9])] {
            for (seed, hits) in zip([1, 2] as [UInt64], hits) {
                let fixture = CellFixture(policy: "random", labels: labels, seed: seed)
                rows.append(try fixture.row(requests: ten, hits: Array(repeating: hits, count: 4)))
            }
        }
        let found = try Comparison(
            ComparisonSelector(parsing: "labels=permuted uniform"), ComparisonSelector(parsing: "labels=given"),
            rows: rows)
        let cell = try #require(found.cells.first)
        #expect(found.cells.count == 1 && cell.a.labels == "permuted uniform" && cell.a.cells.count == 4)
        #expect(isNear(cell.difference, 0.65 - 0.9))
        // Permutations: 0.05² with 1 degree. Given labels: one run has 0.02 / 3 with 3 degrees (from three pairs of seeds).
        let runs = 0.02 / 3 / 2
        #expect(isNear(cell.standardError, (0.0025 + runs).squareRoot()))
        #expect(isNear(cell.degrees, (0.0025 + runs) * (0.0025 + runs) / (0.0025 * 0.0025 + runs * runs / 3)))
        let single = try Comparison(
            ComparisonSelector(parsing: "labels=permuted uniform #2"), ComparisonSelector(parsing: "labels=given"),
            rows: rows)
        #expect(single.cells.first?.a.labels == "permuted uniform #2" && isNear(single.cells.first?.difference, -0.2))
    }

    @Test func equalRunsOfTwoFoldersHaveNoDifference() throws {
        let rows = try [1, 2].map { seed in
            try CellFixture(policy: "random", seed: seed).row(requests: ten, hits: [1, 2, 3, Int(seed)])
        }
        let found = try Comparison(.folder("a"), .folder("b"), rows: rows, others: rows)
        #expect(found.cells[0].interval == Interval(low: 0, high: 0) && found.cells[0].pValue == 1)
        #expect(found.tally == Comparison.Tally(equal: 1) && found.losses.isEmpty && found.notes.isEmpty)
    }

    /// One learner compared with two policies: its noise is in both differences in full, so their mean keeps it.
    @Test func runsOfSeveralPairsCountOnce() throws {
        var rows = try [6, 7].enumerated().map { seed, hits in
            try CellFixture(policy: "random", seed: UInt64(seed)).row(
                requests: ten, hits: Array(repeating: hits, count: 4))
        }
        for size in ["0.1", "0.2"] {
            rows.append(
                try CellFixture(policy: "s3-fifo", settings: ["small": size]).row(requests: ten, hits: [4, 4, 4, 4]))
        }
        let found = try Comparison(
            .policy("random"), ComparisonSelector(parsing: "result_version=2"),
            rows: rows.filter { $0.cell.identity.policy == "random" },
            others: rows.filter { $0.cell.identity.policy != "random" })
        #expect(found.cells.count == 2)
        #expect(isNear(found.traces[0].standardError, 0.05))
    }

    @Test func byteHitRatiosAreWeightedBySize() throws {
        let sizes = [100, 300, 200, 400]
        var fifo = CellFixture()
        fifo.policy = "fifo"
        let rows = [
            try CellFixture().row(requests: ten, hits: [6, 7, 5, 8], sizes: sizes, hitSizes: [60, 150, 100, 300]),
            try fifo.row(requests: ten, hits: [6, 7, 5, 8], sizes: sizes, hitSizes: [50, 160, 80, 240]),
        ]
        #expect(try compared(rows).cells[0].difference == 0)
        let bytes = try Comparison(.policy("lru"), .policy("fifo"), rows: rows, measure: .byte)
        #expect(isNear(bytes.cells[0].difference, 0.08))
        // 10, −10, 20 and 60 of 100, 300, 200 and 400: residuals 2, −34, 4 and 28, by 900, 700, 800 and 600.
        let parts = [2.0 / 900, -34.0 / 700, 4.0 / 800, 28.0 / 600]
        #expect(isNear(bytes.cells[0].standardError, (parts.reduce(0) { $0 + $1 * $1 } * 3 / 4).squareRoot()))
    }

    @Test func oneUnitGivesNoInterval() throws {
        let found = try compared(pair(requests: [40, 0, 0, 0], lru: [20, 0, 0, 0], fifo: [30, 0, 0, 0]))
        #expect(found.cells[0].interval == nil && found.cells[0].pValue == nil && found.cells[0].adjustedPValue == nil)
        #expect(found.pooled.intervalOfTheseTraces == nil && found.losses.isEmpty)
        #expect(found.notes == ["1 cell has fewer than two units and no interval."])
        #expect(found.tally == Comparison.Tally(lost: 1))
    }

    @Test func onlySignificantLossesAreNamed() throws {
        let worse = try compared(pair(requests: ten, lru: [4, 4, 4, 5], fifo: [6, 6, 6, 6]))
        #expect(worse.tally == Comparison.Tally(lost: 1, significantlyLost: 1))
        #expect(worse.losses.count == 2)
        #expect(worse.losses[0].hasPrefix("A is worse over all traces: -17.50 points ("))
        #expect(worse.losses[1] == "A is significantly worse in shop, shared, lru / fifo, 1%: -17.50 points.")
        // A loss that is not significant is no failure.
        let unsure = try compared(pair(requests: ten, lru: [9, 0, 9, 0], fifo: [6, 6, 6, 6]))
        #expect(unsure.pooled.difference < 0 && unsure.losses.isEmpty)
    }

    @Test func reportIsDecodedFromItsJSON() throws {
        let found = try compared(pair(requests: ten, lru: [6, 7, 5, 8], fifo: [4, 6, 4, 4]))
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let read = try decoder.decode(Comparison.self, from: try found.json())
        #expect(read.schema == "halcyon.comparison/1" && read.cells[0].difference == found.cells[0].difference)
        let text = found.text()
        #expect(text.contains("95 % interval for this trace: -2.50 to +42.50"))
        #expect(!text.contains("sample"))
    }
}
