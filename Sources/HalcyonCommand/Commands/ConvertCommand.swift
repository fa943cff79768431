import ArgumentParser
import Foundation
import HalcyonSimulation
import HalcyonTrace

/// `replay convert IN OUT`: writes a trace in another format.
struct ConvertCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert", abstract: "Write a trace in another format: CSV or libCacheSim's oracleGeneral.")

    @OptionGroup var trace: TraceArguments

    @Argument(
        help: "The file to write: .csv or .oracleGeneral, optionally with .gz or .zst; - is standard output, as CSV.")
    var output: String

    @Option(help: "The format to write; by default that of the file extension.")
    var outputFormat: TraceFormat?

    @Option(help: "Write at most this number of requests.")
    var limit: Int?

    @Option(help: "Skip this number of requests at the start.")
    var skip: Int = 0

    func run() async throws {
        try await reportingFailure {
            if let limit, limit < 1 { throw ReplayError.usage("--limit \(limit) leaves nothing: give at least 1.") }
            if skip < 0 { throw ReplayError.usage("--skip \(skip) is negative: give 0 or more.") }
            let format = try Output.traceFormat(outputFormat, for: output)
            try CommandFiles(reads: [("trace", trace.path)], writes: [("The output", output)]).verify()
            var options = try trace.options(names: .all)
            options.limit = limit
            options.skip = skip
            let requests = try await showingProgress(of: nil) { try Trace.load(trace.path, options) }
            for sentence in requests.report.sentences { Terminal.say("note: \(sentence)") }
            try await showingProgress(of: nil) { try TraceWriter.write(requests, to: output, format: format) }
            Terminal.sayWritten(requests, to: output, format: format)
        }
    }
}
