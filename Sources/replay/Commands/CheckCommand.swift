import ArgumentParser
import Foundation
import HalcyonSimulation
import HalcyonTrace

/// `replay check TARGETS`: whether recorded hit ratios still hold.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check hit ratios against recorded targets; exits 1 when one is missed.",
        discussion: """
            replay check Experiments/targets.yml --junit targets.xml --markdown targets.md
            replay check Experiments/targets.yml --update --reason "S3-FIFO follows the paper's second edition"

            Traces are found relative to the folder of the file.
            """)

    @Argument(help: "The YAML file of targets.")
    var targets: String

    @Flag(help: "Record what was measured in place of what moved, was missed or was never recorded; needs --reason.")
    var update = false

    @Option(help: "With --update: why the new values are right; it is kept in the file.")
    var reason: String?

    @Option(help: "Write the outcome as JUnit XML to this file.")
    var junit: String?

    @Option(help: "Write the outcome as Markdown to this file.")
    var markdown: String?

    @Option(help: "How many runs go on at once; by default one a core.")
    var threads: Int?

    func run() async throws {
        let report = try await reportingFailure {
            try validateOptions()
            let file = try TargetFile(path: targets)
            if !update { try file.requireBounds(path: targets) }
            try verifyFiles(of: file)
            let report = try await TargetCheck(file, path: targets).run(workers: threads)
            try Output.write(Data(report.text(emphasis: Terminal.allowsEmphasis).utf8), to: nil)
            if let junit { try Output.write(Data(report.junit.utf8), to: junit) }
            if let markdown { try Output.write(Data(report.markdown.utf8), to: markdown) }
            if update { try record(report, in: file) }
            return report
        }
        if !update, !report.missed.isEmpty { throw Exit.failedCheck }
    }

    private func validateOptions() throws(ReplayError) {
        if let threads, threads < 1 { throw .usage("--threads \(threads): give at least 1.") }
        let hasReason = reason?.contains { !$0.isWhitespace } ?? false
        if update, !hasReason { throw .usage("--update needs --reason \"…\": why the new values are right.") }
        if !update, reason != nil { throw .usage("--reason goes with --update only.") }
    }

    /// Throws at once what writing would after all runs. Only `--update` may write the targets.
    private func verifyFiles(of file: TargetFile) throws {
        try CommandFiles(
            reads: [("targets", targets)] + file.groups.map { ("trace", $0.tracePath(inFileAt: targets)) },
            writes: [("--junit", junit), ("--markdown", markdown)]
        ).verify()
        if update { try AtomicFile.verify(targets) }
    }

    private func record(_ report: TargetReport, in file: TargetFile) throws {
        let date = Date().formatted(.iso8601.year().month().day())
        let recorded = file.recording(report, reason: reason ?? "", date: date)
        guard recorded.history != file.history, let entry = recorded.history.last else {
            try Output.write(Data("Nothing to record: \(targets) is left as it is.\n".utf8), to: nil)
            return
        }
        try Output.write(Data(recorded.verifiedText(file: targets).utf8), to: targets)
        try Output.write(
            Data("\(entry.targets) of \(file.targetCount) targets recorded in \(targets).\n".utf8), to: nil)
    }
}
