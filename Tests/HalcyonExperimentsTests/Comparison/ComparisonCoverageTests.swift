import HalcyonSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

/// The coverage of the pooled intervals in simulations with a known truth.
@Suite("Coverage of comparisons", .timeLimit(.minutes(20))) struct ComparisonCoverageTests {
    private struct Deviates {
        var generator: SeededGenerator

        mutating func normal() -> Double {
            while true {
                let (u, v) = (2 * generator.unit() - 1, 2 * generator.unit() - 1)
                let square = u * u + v * v
                if square > 0, square < 1 { return u * (-2 * PortableMath.ln(square) / square).squareRoot() }
            }
        }
    }

    /// Returns rows of two policies on some traces and three capacities. A user's difference is nearly the same at every
    /// capacity. Two seeds of one side differ by as much as the units.
    private func rows(_ deviates: inout Deviates, traces: Int, users: Int, spread: Double) throws -> [ResultRow] {
        let requests = Array(repeating: 100_000, count: users)
        var rows: [ResultRow] = []
        for trace in 0..<traces {
            let effect = 0.02 + spread * deviates.normal()
            let habits = (0..<users).map { _ in deviates.normal() }
            for capacity in ["1%", "5%", "10%"] {
                var fixture = CellFixture(
                    trace: "t\(trace)", fingerprint: "\(trace)", policy: "random", capacity: capacity)
                for seed in [1, 2, 3] as [UInt64] {
                    fixture.seed = seed
                    let run = 0.05 / Double(users).squareRoot() * deviates.normal()
                    let hits = habits.map { habit in
                        Int((100_000 * (0.4 + effect + run + 0.05 * habit + 0.01 * deviates.normal())).rounded())
                    }
                    rows.append(try fixture.row(requests: requests, hits: hits))
                }
                (fixture.policy, fixture.seed) = ("lru", nil)
                rows.append(try fixture.row(requests: requests, hits: requests.map { _ in 40_000 }))
            }
        }
        return rows
    }

    /// The number of samples, of 300, that a 95 % interval holds with a probability above 99.9 %: 3.5 standard errors below.
    private static let least = 300 * 0.95 - 3.5 * (300 * 0.95 * 0.05).squareRoot()

    @Test(arguments: [6, 12])
    func intervalOfTheseTracesCoversTheirMean(users: Int) throws {
        var deviates = Deviates(generator: SeededGenerator(seed: UInt64(users)))
        var (covered, singly) = (0, 0)
        for _ in 0..<300 {
            let rows = try rows(&deviates, traces: 2, users: users, spread: 0)
            let found = try Comparison(.policy("random"), .policy("lru"), rows: rows)
            let interval = try #require(found.pooled.intervalOfTheseTraces)
            if interval.low <= 0.02, 0.02 <= interval.high { covered += 1 }
            // An interval that treats capacities as independent would not have the coverage.
            let error =
                (found.cells.reduce(0) { $0 + ($1.standardError ?? 0) * ($1.standardError ?? 0) }).squareRoot() / 6
            if abs(found.pooled.difference - 0.02) <= 1.96 * error { singly += 1 }
        }
        #expect(Double(covered) >= Self.least, "\(covered)")
        #expect(Double(singly) < Self.least, "the simulation does not tell: \(singly)")
    }

    @Test func intervalOverTracesCoversTheMeanOfAllTraces() throws {
        var deviates = Deviates(generator: SeededGenerator(seed: 9))
        var (covered, fixed) = (0, 0)
        for _ in 0..<300 {
            let rows = try rows(&deviates, traces: 4, users: 6, spread: 0.1)
            let found = try Comparison(.policy("random"), .policy("lru"), rows: rows)
            let (sample, these) = (
                try #require(found.pooled.intervalOverTraces), try #require(found.pooled.intervalOfTheseTraces)
            )
            if sample.low <= 0.02, 0.02 <= sample.high { covered += 1 }
            if these.low <= 0.02, 0.02 <= these.high { fixed += 1 }
        }
        #expect(Double(covered) >= Self.least, "\(covered)")
        // The other interval is about these traces, whose mean differs from that of all traces.
        #expect(Double(fixed) < Self.least, "\(fixed)")
    }
}
