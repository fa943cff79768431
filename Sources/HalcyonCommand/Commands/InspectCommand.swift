import ArgumentParser
import Foundation
import HalcyonSimulation
import HalcyonTrace

/// `replay inspect TRACE`: describes the content of a trace.
struct InspectCommand: AsyncParsableCommand {
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case text, json
    }

    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Describe a trace: requests, objects, popularity, categories, users, reuse distances.")

    @OptionGroup var trace: TraceArguments

    @Option(help: "The format of the result.")
    var format: Format = .text

    @Option(name: [.short, .long], help: "The file to write; by default standard output.")
    var output: String?

    @Option(help: "The number of the largest categories and users to list.")
    var top: Int = 5

    func run() async throws {
        try await reportingFailure {
            if top < 0 { throw ReplayError.usage("--top \(top) is negative: give 0 or more.") }
            try CommandFiles(reads: trace.files, writes: [("--output", output)]).verify()
            let inspection = try await showingProgress(of: nil) {
                let requests = try Trace.load(trace.path, trace.options(names: [.categories, .users]))
                try requests.verifyStackDistances(trace.trace)
                return TraceInspection(of: requests, top: top)
            }
            let data = format == .json ? try JSONReport.data(inspection) : Data(inspection.text.utf8)
            try Output.write(data, to: output)
        }
    }
}
