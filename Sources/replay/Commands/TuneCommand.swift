import ArgumentParser
import Foundation
import HalcyonExperiments
import HalcyonSimulation
import HalcyonTrace

/// `replay tune POLICY --suite SUITE`: searches a policy's parameters and reports them on traces that had no part in it.
struct TuneCommand: AsyncParsableCommand {
    /// The forms of a report.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, json
    }

    /// The searches.
    enum Search: String, CaseIterable, ExpressibleByArgument {
        case grid, random, halving
    }

    static let configuration = CommandConfiguration(
        commandName: "tune", abstract: "Search a policy's parameters on a suite's training traces and test the choice.",
        discussion: """
            replay tune s3-fifo --suite Experiments/suites/tuning.yml
            replay tune s3-fifo --suite Experiments/suites/tuning.yml --grid 'small=0.05,0.1,0.2;ghost=0.5,1'

            Candidates are searched on the traces with 'split: training', chosen on those with 'split: validation', and \
            reported on those with 'split: test', which are replayed after the choice is written down. No request may be in \
            two splits. Modes, capacities, prefetching, seeds and warm-up are those of the suite's experiments.

            The budget is the number of passes over the training cells, one for each candidate at full length. The policy as \
            given is always a candidate and free of charge. Halving replays all candidates on the first quarter of the requests, \
            the better half of them on the first half, and the better half of these at full length.

            Without --grid and without 'tuning' in the suite, each number is searched from a quarter of its default to four \
            times its default, on a logarithmic scale. The tuning is stored as FOLDER/tuning/HASH.json and is not run again.
            """)

    @Argument(help: "The policy, perhaps with parameters that all candidates keep: 's3-fifo(threshold=1)'.")
    var policy: String

    @Option(help: "The YAML file of the suite.")
    var suite: String

    @Option(help: "The search. (default: grid with --grid, otherwise random)")
    var search: Search?

    @Option(help: "The largest number of passes over the training cells.")
    var budget = 36

    @Option(help: ArgumentHelp("The number of candidates that are replayed on the validation traces.", valueName: "k"))
    var choose = 3

    @Option(
        help: ArgumentHelp(
            "The searched values, such as 'small=0.05,0.1;ghost=0.5..2'. (default: those of the suite, or of the policy)",
            valueName: "values"))
    var grid: String?

    @Option(help: "The seed of a random search or of halving.")
    var seed: UInt64 = 1

    @Option(help: "The folder of the results. (default: results/NAME, with the name of the suite)")
    var results: String?

    @Option(help: "The form of the report.")
    var format: Format = .table

    @Option(help: "The number of parallel runs; by default one per core.")
    var threads: Int?

    func run() async throws {
        try await reportingFailure {
            let suite = try Suite(path: suite)
            let store = ResultStore(folder: results ?? "results/\(suite.name)")
            let tuning = try TuningRun(policy, suite: suite, store: store, options: try options())
            let progress = tuning.makeProgress()
            let outcome = try await showingProgress(of: { progress.share }, requests: { progress.requests }) {
                try await tuning.run(progress: progress)
            }
            let report =
                format == .json
                ? try outcome.record.json() : Data(outcome.text(emphasis: Terminal.allowsEmphasis).utf8)
            try Output.write(report, to: nil)
        }
    }

    private func options() throws(ReplayError) -> TuningRun.Options {
        if let threads, threads < 1 { throw .usage("--threads \(threads) is too small: give at least 1.") }
        var options = TuningRun.Options()
        options.search = search.flatMap { TuningSearch(rawValue: $0.rawValue) }
        options.space = grid
        options.budget = budget
        options.finalists = choose
        options.seed = seed
        options.workers = threads
        return options
    }
}
