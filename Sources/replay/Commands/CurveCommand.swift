import ArgumentParser
import Foundation
import HalcyonSimulation
import HalcyonTrace

/// `replay curve TRACE`: computes the miss ratio of LRU at every capacity.
struct CurveCommand: AsyncParsableCommand {
    enum Unit: String, CaseIterable, ExpressibleByArgument {
        case objects, bytes
    }

    static let configuration = CommandConfiguration(
        commandName: "curve",
        abstract: "Compute the miss-ratio curve of LRU, exact in one pass, or sampled (SHARDS) for large traces.")

    @OptionGroup var trace: TraceArguments

    @Option(
        help: ArgumentHelp(
            "Measure only this share of the objects, above 0 to 1, and estimate (SHARDS): 0.01.", valueName: "share"))
    var sample: Double?

    @Option(
        help: ArgumentHelp(
            "With --sample: measure at most this number of objects. The share falls as needed.", valueName: "objects"))
    var maximumObjects: Int?

    @Option(help: "The unit of capacities; by default bytes if the trace has sizes.")
    var unit: Unit?

    @Option(help: "The number of capacities, evenly spaced by ratio; 0 gives every point at which the curve falls.")
    var points: Int = 20

    @Option(help: "The seed of the sample.")
    var seed: UInt64 = 1

    @OptionGroup(title: "Output") var output: OutputArguments

    func run() async throws {
        try await reportingFailure {
            if let sample, !(sample > 0 && sample <= 1) {
                throw ReplayError.usage("--sample \(sample) is not a share: give a number above 0 and at most 1.")
            }
            if let maximumObjects, maximumObjects < 1 || sample == nil {
                throw ReplayError.usage("--maximum-objects needs --sample and at least 1.")
            }
            if points < 0 || points == 1 {
                throw ReplayError.usage("--points \(points) is no curve: give at least 2, or 0 for every point.")
            }
            try CommandFiles(reads: [("trace", trace.path)], writes: [("--output", output.output)]).verify()
            let requests = try Trace.load(trace.path, trace.options(names: []))
            let unit = unit.map { $0 == .bytes ? SizeUnit.bytes : .objects }
            if unit == .bytes, requests.sizeUnit == .objects {
                throw ReplayError.data("\(trace.trace) has no sizes for a curve over bytes.")
            }
            var curve =
                if let sample {
                    MissRatioCurve.sampled(
                        of: requests, unit: unit, rate: sample, maximumObjects: maximumObjects, seed: seed)
                } else {
                    MissRatioCurve.exact(of: requests, unit: unit)
                }
            if sample != nil, curve.measuredObjects == 0 {
                throw ReplayError.usage(
                    "--sample selects none of the \(requests.objectCount.counted("object")): give a larger share.")
            }
            if points > 0 { curve = curve.thinned(to: points) }
            let data =
                switch output.format {
                case .table: Data(curve.table().utf8)
                case .csv: curve.csv()
                case .json: try JSONReport.data(curve)
                case .jsonl: try JSONReport.lines(curve.points)
                }
            try Output.write(data, to: output.output)
        }
    }
}
