import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// Everything that `replay hypothesis` found; the JSON of `--format json` is this.
///
/// The schema is an interface: fields are added, not changed or removed, without a new number in ``schema``.
/// Names are snake case, ratios 0…1, differences of ratios in the same unit.
public struct HypothesisReport: Sendable, Codable {
    /// The version of this structure.
    public var schema = "halcyon.hypothesis/2"
    /// The version of Halcyon that made it.
    public var halcyonVersion = Halcyon.version
    /// The result version of the build that made it: with the same number, the same trace and parameters give the same
    /// counts.
    public var resultVersion = Halcyon.resultVersion
    /// How the test was done.
    public var options: HypothesisOptions
    /// The traces, in the order asked.
    public var traces: [TraceSummary]
    /// One result a trace, mode and capacity, traces in the order asked, modes and capacities within.
    public var results: [HypothesisResult]

    /// A report.
    ///
    /// - Parameter options: how the test was asked for; ``options`` are those by which it is done, with no more permuted seeds
    ///   than there are seeds.
    public init(options: HypothesisOptions, traces: [TraceSummary] = [], results: [HypothesisResult] = []) {
        self.options = options
        self.options.permutedSeeds = min(options.permutedSeeds, options.seeds)
        self.traces = traces
        self.results = results
    }

    /// Adds what was found of one trace.
    public mutating func add(_ found: [HypothesisResult], of trace: TraceSummary) {
        traces.append(trace)
        results += found.map { result in
            var result = result
            result.trace = trace.path
            return result
        }
    }

    /// The report as one JSON object, keys sorted.
    public func json() throws -> Data { try JSONReport.data(self) }

    /// The results, one JSON object a line.
    public func jsonLines() throws -> Data {
        struct Line: Encodable {
            let schema: String
            let halcyonVersion: String
            let resultVersion: Int
            let options: HypothesisOptions
            let result: HypothesisResult
        }
        return try JSONReport.lines(
            results.map {
                Line(
                    schema: schema, halcyonVersion: halcyonVersion, resultVersion: resultVersion, options: options,
                    result: $0)
            })
    }
}
