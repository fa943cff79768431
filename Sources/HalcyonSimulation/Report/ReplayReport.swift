import Foundation
import HalcyonEviction
import HalcyonTrace

/// Everything that one replay command found; the JSON of `--format json` is this.
///
/// The schema is an interface: fields are added, not changed or removed, without a new number in ``schema``.
/// Names are snake case, ratios 0…1, times seconds unless the name says otherwise.
public struct ReplayReport: Sendable, Codable {
    /// The version of this structure.
    public var schema = "halcyon.replay/3"
    /// The version of Halcyon that made it.
    public var halcyonVersion = Halcyon.version
    /// The result version of the build that made it: with the same number, the same trace and parameters give the same
    /// counts.
    public var resultVersion = Halcyon.resultVersion
    /// What was replayed.
    public var trace: TraceSummary
    /// One run a policy × capacity, policies in the order asked, capacities within.
    public var runs: [RunResult]

    /// A report.
    public init(trace: TraceSummary, runs: [RunResult]) {
        self.trace = trace
        self.runs = MissPrices.applied(to: runs)
    }

    /// The report as one JSON object, keys sorted.
    public func json() throws -> Data { try JSONReport.data(self) }

    /// The report as one JSON object a line and run, each with the trace it belongs to.
    public func jsonLines() throws -> Data {
        struct Line: Encodable {
            let schema: String
            let halcyonVersion: String
            let resultVersion: Int
            let trace: TraceSummary
            let run: RunResult
        }
        return try JSONReport.lines(
            runs.map {
                Line(
                    schema: schema, halcyonVersion: halcyonVersion, resultVersion: resultVersion, trace: trace, run: $0)
            })
    }
}

/// JSON as every report of Halcyon is written: snake-case names, sorted, one form on every platform.
public enum JSONReport {
    /// One object over several lines, the last one ended.
    public static func data(_ value: some Encodable) throws -> Data {
        try ended(encoder([.prettyPrinted]).encode(value))
    }

    /// One object a line.
    public static func lines(_ values: some Sequence<some Encodable>) throws -> Data {
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

/// What misses cost, where a policy was asked to save that (`learned(objective=cost)`).
struct MissPrices: Hashable {
    let perMiss: Double
    let perByte: Double

    /// The prices that a run's policy was given; `nil` if it saves something else.
    init?(_ run: RunResult) {
        guard run.parameters["objective"] == "cost", let perMiss = run.parameters["per-miss"].flatMap(Double.init),
            let perByte = run.parameters["per-byte"].flatMap(Double.init)
        else { return nil }
        self.perMiss = perMiss
        self.perByte = perByte
    }

    /// The runs with what their misses cost: each at its policy's own prices, and those of other policies at these too, so
    /// that they can be compared, unless there are several.
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
