import ArgumentParser
import Foundation
import HalcyonExperiments
import HalcyonSimulation
import HalcyonTrace

/// `replay check TARGETS`: compares new replays with recorded hits and limits.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Compare hits with recorded targets; exits 1 when a target is missed.",
        discussion: """
            replay check Experiments/targets.yml --junit targets.xml --markdown targets.md
            replay check Experiments/targets.yml --update --reason "S3-FIFO follows the paper's second edition"

            Traces are found relative to the folder of the file. Exact hits have no tolerance: they move only with a new result
            version. Floors and highest losses hold for every version.
            """)

    @Argument(help: "The YAML file of targets.")
    var targets: String

    @Flag(
        help: """
            Record new targets and, if the build has a higher result version, hits that moved. Lowers no floor and raises no \
            highest loss. Needs --reason.
            """)
    var update = false

    @Option(help: "With --update: why the new values are right. The file keeps the reason.")
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
            let file = try TargetFile(path: targets)
            if !update { try file.requireLimits(path: targets) }
            try verifyFiles(of: file)
            let check = TargetCheck(file, path: targets)
            let progress = try check.makeProgress()
            let report = try await showingProgress(of: { progress.share }) {
                try await check.run(workers: threads, progress: progress)
            }
            // Refused before anything is written.
            let recorded = update ? try recording(report, in: file) : nil
            try Output.write(Data(report.text(emphasis: Terminal.allowsEmphasis).utf8), to: nil)
            if let junit { try Output.write(Data(report.junit.utf8), to: junit) }
            if let markdown { try Output.write(Data(report.markdown.utf8), to: markdown) }
            if let recorded { try write(recorded, in: file) }
            return report
        }
        if !update, !report.isPassed { throw Exit.failedCheck }
    }

    private func validateOptions() throws(ReplayError) {
        if let threads, threads < 1 { throw .usage("--threads \(threads): give at least 1.") }
        let hasReason = reason?.contains { !$0.isWhitespace } ?? false
        if update, !hasReason { throw .usage("--update needs --reason \"…\": why the new values are right.") }
        if !update, reason != nil { throw .usage("--reason goes with --update only.") }
    }

    /// Verifies before the first run that the files can be written. Only `--update` may write the targets.
    private func verifyFiles(of file: TargetFile) throws {
        let traces = try file.groups.map { ("trace", Optional(try $0.tracePath(inFileAt: targets))) }
        try CommandFiles(
            reads: [("targets", targets)] + traces,
            writes: [("--junit", junit), ("--markdown", markdown)]
        ).verify()
        if update {
            try AtomicFile.verify(targets)
            Interruption.expect([targets])
        }
    }

    /// Returns the file with the figures of `report`, and its text; `nil` for the text if nothing changes.
    private func recording(_ report: TargetReport, in file: TargetFile) throws -> (file: TargetFile, text: String?) {
        let date = Date().formatted(.iso8601.year().month().day())
        let recorded = try file.recording(report, reason: reason ?? "", date: date, path: targets)
        return (recorded, recorded.history == file.history ? nil : try recorded.verifiedText(file: targets))
    }

    private func write(_ recorded: (file: TargetFile, text: String?), in file: TargetFile) throws {
        guard let text = recorded.text, let entry = recorded.file.history.last else {
            try Output.write(Data("Nothing to record: \(targets) is unchanged.\n".utf8), to: nil)
            return
        }
        try Output.write(Data(text.utf8), to: targets)
        try Output.write(
            Data("\(entry.targets) of \(file.targetCount) targets recorded in \(targets).\n".utf8), to: nil)
    }
}
