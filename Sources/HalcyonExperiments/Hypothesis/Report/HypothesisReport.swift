import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// The result of `replay hypothesis`, which `--format json` encodes.
///
/// The schema is an interface. Fields are added; a changed or removed field needs a new number in ``schema``. Names
/// are snake case, ratios 0…1, differences of ratios in the same unit.
package struct HypothesisReport: Sendable, Codable {
    /// The version of this structure.
    package var schema = "halcyon.hypothesis/3"
    /// The version of Halcyon that made the report.
    package var halcyonVersion = Halcyon.version
    /// The result version of the build that made the report. Builds with the same number give the same counts for the
    /// same trace and parameters.
    package var resultVersion = Halcyon.resultVersion
    /// The identifier of the executable; see `BuildInfo/identifier`.
    package var buildId = BuildInfo.current.identifier
    /// The options that the test used.
    package var options: HypothesisOptions
    /// The traces, in the requested order.
    package var traces: [TraceSummary]
    /// The verdict on each trace, in the requested order.
    package var verdicts: [TraceVerdict]
    /// The results: one for each trace, mode and capacity, in the requested order.
    package var results: [HypothesisResult]

    /// Creates a report.
    ///
    /// - Parameter options: the requested options. In ``options`` the number of permuted seeds is limited to the
    ///   number of seeds.
    package init(options: HypothesisOptions) {
        self.options = options
        self.options.permutedSeeds = min(options.permutedSeeds, options.seeds)
        traces = []
        verdicts = []
        results = []
    }

    /// Adds the results of one trace, and adjusts the p-values of all traces.
    package mutating func add(_ found: [HypothesisResult], of trace: TraceSummary) {
        traces.append(trace)
        results += found.map { result in
            var result = result
            result.trace = trace.path
            return result
        }
        verdicts = TraceVerdict.list(results, traces: traces.map(\.path), level: options.level)
    }

    /// Returns the report as one JSON object with sorted keys.
    package func json() throws -> Data { try JSONReport.data(self) }

    /// Returns the results, one JSON object per line, each with the verdict on its trace.
    package func jsonLines() throws -> Data {
        struct Line: Encodable {
            let schema: String
            let halcyonVersion: String
            let resultVersion: Int
            let buildId: String
            let options: HypothesisOptions
            let verdict: TraceVerdict?
            let result: HypothesisResult
        }
        return try JSONReport.lines(
            results.map { result in
                Line(
                    schema: schema, halcyonVersion: halcyonVersion, resultVersion: resultVersion, buildId: buildId,
                    options: options, verdict: verdicts.first { $0.trace == result.trace }, result: result)
            })
    }
}
