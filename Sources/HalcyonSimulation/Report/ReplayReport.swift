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
