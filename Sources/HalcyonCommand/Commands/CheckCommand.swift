import ArgumentParser
import Foundation
import HalcyonExperiments
import HalcyonSimulation

/// `replay check SUITE`: compares new results of a suite with stored cells and limits.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Run a suite and compare it with its stored results and limits; exits 1 when a run is missed.",
        discussion: """
            replay check Experiments/suites/regression.yml --junit check.xml --markdown check.md
            replay check Experiments/suites/regression.yml --accept --reason "S3-FIFO follows the paper's second edition"

            Every cell of the suite is run and compared with the stored cell of the same identity. Its counts have no \
            tolerance: they move only with a new result version, or a new version of a policy of your own. The suite's limits \
            ('floor', 'highest_loss' and others) hold for every version. A trace whose requests are not those of the stored \
            results is reported as another trace. --accept stores the results and keeps the reason in FOLDER/accepted.txt.

            A trace that cannot be read and a policy that is not known are errors of the report; all other runs are made.

            The exit code is 0 if the check is passed and 1 if it is not; the reports are then written. It is 64 for wrong \
            options, 65 for a suite or stored results that cannot be read, and 74 for a report that cannot be written: \
            nothing was checked.

            Experiments/suites/README.md describes the file with its limits, and has jobs for GitHub and GitLab.
            """)

    @Argument(help: "The YAML file of the suite.")
    var suite: String

    @Option(
        help:
            "The folder of the stored results. (default: the suite's 'results', or results/NAME with the name of the suite)"
    )
    var results: String?

    @Flag(help: "Check only the limits of the suite, without stored results.")
    var limitsOnly = false

    @Flag(
        help: """
            Store new results and, if the build has a higher result version, results that moved; remove all others from the \
            folder. Changes no limit. Needs --reason.
            """)
    var accept = false

    @Option(help: "With --accept: why the new results are right. The folder keeps the reason.")
    var reason: String?

    @Option(help: "Write the outcome as JUnit XML to this file.")
    var junit: String?

    @Option(help: "Write the outcome as Markdown to this file.")
    var markdown: String?

    @Option(help: "The number of parallel runs; by default one per core.")
    var threads: Int?

    func run() async throws {
        let report = try await reportingFailure {
            try validateOptions()
            let suite = try Suite(path: suite, catalogue: Program.catalogue, keepsUnusable: true)
            if limitsOnly, suite.experiments.allSatisfy(\.limits.isEmpty) {
                throw ReplayError.usage("\(self.suite) has no 'limits', so that --limits-only would check nothing.")
            }
            try verifyFiles(of: suite)
            let store = ResultStore(folder: suite.resultsFolder(results))
            var check = SuiteCheck(suite, store: limitsOnly ? nil : store)
            check.workers = threads
            let schedule = try check.schedule()
            let progress = check.makeProgress(schedule)
            let report = try await showingProgress(of: { progress.share }, requests: { progress.requests }) {
                try await check.run(schedule, progress: progress)
            }
            // Refused before anything is written.
            if accept { return try accept(report, store) }
            try Output.write(Data(report.text(emphasis: Terminal.allowsEmphasis).utf8), to: nil)
            try writeReports(report)
            return report
        }
        if !accept, !report.isPassed { throw Exit.failedCheck }
    }

    private func validateOptions() throws(ReplayError) {
        if let threads, threads < 1 { throw .usage("--threads \(threads): give at least 1.") }
        let hasReason = reason?.contains { !$0.isWhitespace } ?? false
        if accept, !hasReason { throw .usage("--accept needs --reason \"…\": why the new results are right.") }
        if !accept, reason != nil { throw .usage("--reason goes with --accept only.") }
        if accept, limitsOnly { throw .usage("--accept and --limits-only exclude each other: leave one out.") }
    }

    /// Verifies before the first run that the files can be written.
    private func verifyFiles(of suite: Suite) throws {
        // A path with a variable that is not set is found when the trace is read.
        let traces = suite.traces.flatMap { (try? $0.resolvedPaths(inFileAt: suite.path)) ?? [] }
            .map { ("trace", Optional($0)) }
        try CommandFiles(
            reads: [("suite", suite.path)] + traces,
            writes: [("--junit", junit), ("--markdown", markdown)]
        ).verify()
    }

    private func accept(_ report: CheckReport, _ store: ResultStore) throws -> CheckReport {
        let date = Date().formatted(.iso8601.year().month().day())
        let acceptance = try report.accept(into: store, reason: reason ?? "", date: date)
        var report = report
        report.isAccepted = true
        try Output.write(Data(report.text(emphasis: Terminal.allowsEmphasis).utf8), to: nil)
        try writeReports(report)
        let sentence =
            acceptance.map {
                "\($0.stored.counted("cell")) stored in \(store.folder), \($0.removed.grouped) removed."
            } ?? "Nothing to accept: \(store.folder) is unchanged."
        try Output.write(Data((sentence + "\n").utf8), to: nil)
        return report
    }

    private func writeReports(_ report: CheckReport) throws {
        if let junit { try Output.write(Data(report.junit.utf8), to: junit) }
        if let markdown { try Output.write(Data(report.markdown.utf8), to: markdown) }
    }
}
