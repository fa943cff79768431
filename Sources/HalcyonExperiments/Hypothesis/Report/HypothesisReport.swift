import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// The result of `replay hypothesis`, which `--format json` encodes.
///
/// The schema is an interface. Fields are added; a changed or removed field needs a new number in ``schema``. Names
/// are snake case, ratios 0…1, differences of ratios in the same unit.
public struct HypothesisReport: Sendable, Codable {
    /// The version of this structure.
    public var schema = "halcyon.hypothesis/2"
    /// The version of Halcyon that made the report.
    public var halcyonVersion = Halcyon.version
    /// The result version of the build that made the report. Builds with the same number give the same counts for the
    /// same trace and parameters.
    public var resultVersion = Halcyon.resultVersion
    /// The identifier of the executable; see `BuildInfo/identifier`.
    public var buildId = BuildInfo.current.identifier
    /// The options that the test used.
    public var options: HypothesisOptions
    /// The traces, in the requested order.
    public var traces: [TraceSummary]
    /// The results: one for each trace, mode and capacity, in the requested order.
    public var results: [HypothesisResult]

    /// Creates a report.
    ///
    /// - Parameter options: the requested options. In ``options`` the number of permuted seeds is limited to the
    ///   number of seeds.
    public init(options: HypothesisOptions, traces: [TraceSummary] = [], results: [HypothesisResult] = []) {
        self.options = options
        self.options.permutedSeeds = min(options.permutedSeeds, options.seeds)
        self.traces = traces
        self.results = results
    }

    /// Adds the results of one trace.
    public mutating func add(_ found: [HypothesisResult], of trace: TraceSummary) {
        traces.append(trace)
        results += found.map { result in
            var result = result
            result.trace = trace.path
            return result
        }
    }

    /// Returns the report as one JSON object with sorted keys.
    public func json() throws -> Data { try JSONReport.data(self) }

    /// Returns the results, one JSON object per line.
    public func jsonLines() throws -> Data {
        struct Line: Encodable {
            let schema: String
            let halcyonVersion: String
            let resultVersion: Int
            let buildId: String
            let options: HypothesisOptions
            let result: HypothesisResult
        }
        return try JSONReport.lines(
            results.map {
                Line(
                    schema: schema, halcyonVersion: halcyonVersion, resultVersion: resultVersion, buildId: buildId,
                    options: options,
                    result: $0)
            })
    }
}
