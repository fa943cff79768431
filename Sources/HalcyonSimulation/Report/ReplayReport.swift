import Foundation
import HalcyonEviction
import HalcyonTrace

/// The result of one replay command, which `--format json` encodes.
///
/// The schema is an interface. Fields are added; a changed or removed field needs a new number in ``schema``. Names
/// are snake case, ratios 0…1, times seconds unless the name states otherwise.
public struct ReplayReport: Sendable, Codable {
    /// The version of this structure.
    public var schema = "halcyon.replay/3"
    /// The version of Halcyon that made the report.
    public var halcyonVersion = Halcyon.version
    /// The result version of the build that made the report. Builds with the same number give the same counts for the
    /// same trace and parameters.
    public var resultVersion = Halcyon.resultVersion
    /// The identifier of the executable; see `BuildInfo.identifier`.
    public var buildId = BuildInfo.current.identifier
    /// The replayed trace.
    public var trace: TraceSummary
    /// The runs, one for each policy, capacity and seed: policies in the requested order, capacities within, seeds
    /// within.
    public var runs: [RunResult]
    /// The means over seeds, one for each policy and capacity that was replayed with several seeds.
    public var means: [SeedMean]

    /// Creates a report. The limits of learners that the trace exceeds are added to its notes.
    public init(trace: TraceSummary, runs: [RunResult]) {
        self.trace = trace
        self.trace.notes += LimitNotes.sentences(for: runs, trace: trace)
        self.runs = MissPrices.applied(to: runs)
        means = Self.byCapacity(runs).flatMap { RunRow.rows($0).compactMap { SeedMean($0.runs) } }
    }

    /// Returns the runs by capacity, in the order of their first run.
    static func byCapacity(_ runs: [RunResult]) -> [[RunResult]] {
        runs.reduce(into: []) { groups, run in
            let place = groups.firstIndex {
                $0[0].capacity == run.capacity && $0[0].capacityAsked == run.capacityAsked
            }
            if let place { groups[place].append(run) } else { groups.append([run]) }
        }
    }

    /// Returns the report as one JSON object with sorted keys.
    public func json() throws -> Data { try JSONReport.data(self) }
}

/// The JSON encoding of all Halcyon reports: sorted snake-case names, the same bytes on every platform.
package enum JSONReport {
    /// Returns one object over several lines, ended by a newline.
    package static func data(_ value: some Encodable) throws -> Data {
        try ended(encoder([.prettyPrinted]).encode(value))
    }

    /// Returns one object without spaces and line breaks.
    package static func compact(_ value: some Encodable) throws -> Data { try encoder([]).encode(value) }

    /// Returns one object per line.
    package static func lines(_ values: some Sequence<some Encodable>) throws -> Data {
        let encoder = encoder([])
        return try values.reduce(into: Data()) { try $0.append(ended(encoder.encode($1))) }
    }

    private static func ended(_ data: Data) -> Data { data + [UInt8(ascii: "\n")] }

    private static func encoder(_ formatting: JSONEncoder.OutputFormatting) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
        return encoder
    }
}

/// The prices of misses, for a policy that minimizes their cost (`learned(objective=cost)`).
struct MissPrices: Hashable {
    let perMiss: Double
    let perByte: Double

    /// Returns the prices that a run's policy was given; `nil` if it has another objective.
    init?(_ run: RunResult) {
        guard run.parameters["objective"] == "cost", let perMiss = run.parameters["per-miss"].flatMap(Double.init),
            let perByte = run.parameters["per-byte"].flatMap(Double.init)
        else { return nil }
        self.perMiss = perMiss
        self.perByte = perByte
    }

    /// Returns the runs with the cost of their misses. A policy with prices uses its own. The other policies use the
    /// same prices for comparison, unless there are several different ones.
    static func applied(to runs: [RunResult]) -> [RunResult] {
        let all = Set(runs.compactMap { MissPrices($0) })
        return runs.map { run in
            var run = run
            run.missCost = (MissPrices(run) ?? (all.count == 1 ? all.first : nil))?.total(run)
            return run
        }
    }

    private func total(_ run: RunResult) -> Double {
        perMiss * Double(run.requests - run.hits) + perByte * Double(run.bytesFetched)
    }
}
