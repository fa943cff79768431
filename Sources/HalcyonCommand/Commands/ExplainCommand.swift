import ArgumentParser
import Foundation
import HalcyonSimulation
import HalcyonTrace

/// `replay explain TRACE`: explains the decisions of the learned policy.
struct ExplainCommand: AsyncParsableCommand {
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, json
    }

    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Measure the importance of each group of features to 'learned', and explain one eviction.",
        discussion: """
            The run is that of 'replay -p learned', hit for hit. A tenth of the labelled samples is kept, each with the
            network as it was when the sample's label became known, before it learned from the sample. The importance of a group is the increase in loss when its features are permuted
            among the samples of one block of time. Intervals are by bootstrap over such blocks.
            """)

    @OptionGroup var trace: TraceArguments

    @OptionGroup(title: "Learning") var learner: LearnerArguments

    @Option(help: "Also explain the eviction with this number, counted from 1.")
    var victim: Int?

    @Option(help: "The format of the result.")
    var format: Format = .table

    @Option(name: [.short, .long], help: "The file to write; by default standard output.")
    var output: String?

    func run() async throws {
        try await reportingFailure {
            if let victim, victim < 1 {
                throw ReplayError.usage("--victim \(victim) is no eviction: they are counted from 1.")
            }
            try CommandFiles(reads: trace.files, writes: [("--output", output)]).verify()
            let (replay, notes) = try learner.load(trace, names: victim == nil ? [] : [.keys, .users])
            let progress = replay.makeProgress()
            let report = try await trace.naming {
                try await showingProgress(progress) {
                    try replay.explain(victim: victim ?? 0, path: trace.path, notes: notes, progress: progress)
                }
            }
            try Output.write(
                format == .json ? try JSONReport.data(report) : Data(report.table().utf8), to: output)
        }
    }
}
