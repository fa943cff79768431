import ArgumentParser
import Foundation
import HalcyonSimulation
import HalcyonTrace

/// `replay convert IN OUT`: writes a trace in another format.
struct ConvertCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert", abstract: "Write a trace in another format: CSV or libCacheSim's oracleGeneral.",
        discussion: OtherForms.text)

    @OptionGroup var trace: TraceArguments

    @Argument(
        help: "The file to write: .csv or .oracleGeneral, optionally with .gz or .zst; - is standard output, as CSV.")
    var output: String

    @Option(help: "The format to write, csv or oracleGeneral; by default that of the file extension.")
    var outputFormat: TraceFormat?

    @Option(help: "Write at most this number of requests.")
    var limit: Int?

    @Option(help: "Skip this number of requests at the start.")
    var skip: Int = 0

    @Option(
        help: ArgumentHelp(
            "Write the requests for this share of the objects only, above 0 to 1: 0.1 or 10%. A hash of the key decides.",
            valueName: "share"))
    var sample: Share?

    @Option(help: "With --sample: the seed of the sample. (default: 1)")
    var seed: UInt64?

    func run() async throws {
        try await reportingFailure {
            if let limit, limit < 1 { throw ReplayError.usage("--limit \(limit) leaves nothing: give at least 1.") }
            if let sample, !(sample.value > 0 && sample.value <= 1) {
                throw ReplayError.usage("--sample \(sample) is not a share: give a number above 0 and at most 1.")
            }
            if seed != nil, sample == nil { throw ReplayError.usage("--seed is that of --sample: give --sample, too.") }
            if skip < 0 { throw ReplayError.usage("--skip \(skip) is negative: give 0 or more.") }
            let format = try Output.traceFormat(outputFormat, for: output)
            try CommandFiles(reads: trace.files, writes: [("The output", output)]).verify()
            var options = try trace.options(names: .all)
            options.limit = limit
            options.skip = skip
            let whole = try await showingProgress(of: nil) { try Trace.load(trace.path, options) }
            let requests = try sampled(whole)
            for sentence in requests.report.sentences { Terminal.say("note: \(sentence)") }
            try await showingProgress(of: nil) { try TraceWriter.write(requests, to: output, format: format) }
            Terminal.sayWritten(requests, to: output, format: format)
        }
    }

    /// Returns the sample of a trace that is to be written.
    private func sampled(_ whole: Trace) throws -> Trace {
        guard let sample else { return whole }
        let part = whole.sample(ofObjects: sample.value, seed: seed ?? 1)
        guard part.count > 0 else {
            throw ReplayError.usage(
                "--sample \(sample) selects none of the \(whole.objectCount.counted("object")): give a larger share.")
        }
        Terminal.say(
            "note: The sample has \(part.objectCount.grouped) of \(whole.objectCount.counted("object")) and "
                + "\(part.count.grouped) of \(whole.count.counted("request")): replay it with \(sample) of the capacity."
        )
        return part
    }
}
