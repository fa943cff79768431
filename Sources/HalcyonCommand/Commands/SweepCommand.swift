import ArgumentParser
import Foundation
import HalcyonExperiments
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// `replay sweep SUITE`: runs the cells of a suite whose results are not stored.
struct SweepCommand: AsyncParsableCommand {
    /// The forms of a schedule.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, json
    }

    static let configuration = CommandConfiguration(
        commandName: "sweep", abstract: "Run a suite of experiments and store the result of each cell.",
        discussion: """
            A suite is a YAML file: traces × policies × capacities × modes × prefetching × seeds × labels. Each cell is \
            stored as soon as it is run, as FOLDER/cells/HASH.json, and is not run again. A completed sweep packs all \
            cells into FOLDER/cells.jsonl.zst. Repeating the command continues an interrupted sweep. \
            'replay results' lists the stored cells, 'replay compare' compares them.

            The exit code is 1 if a cell could not be run; the other cells are still run and stored.
            """)

    @Argument(help: "The YAML file of the suite.")
    var suite: String

    @Option(
        help: "The folder of the results. (default: the suite's 'results', or results/NAME with the name of the suite)")
    var results: String?

    @Flag(help: "List the cells, the missing ones and an estimate, and run nothing.")
    var dryRun = false

    @Option(help: "With --dry-run: the format of the list.")
    var format: Format = .table

    @Option(help: ArgumentHelp("Run part i of n of the cells, such as 2/4, on one of n machines.", valueName: "i/n"))
    var shard: String?

    @Option(
        help: ArgumentHelp(
            "Run the per-user caches of part i of n of the users, such as 1/4. 'replay merge' adds up the parts.",
            valueName: "i/n"))
    var users: String?

    @Option(help: ArgumentHelp("Run the cell with this name. May be repeated.", valueName: "hash"))
    var cell: [String] = []

    @Option(help: ArgumentHelp("Use this trace of the suite. May be repeated. (default: all)", valueName: "name"))
    var trace: [String] = []

    @Option(help: "The number of parallel runs; by default one per core.")
    var threads: Int?

    @Option(
        help: ArgumentHelp(
            "The memory that parallel runs may take together by estimate, such as 8GB. (default: four fifths of the "
                + "machine's)", valueName: "size"))
    var memory: String?

    func run() async throws {
        let outcome: SuiteRun.Outcome? = try await reportingFailure {
            let suite = try Suite(path: suite, catalogue: Program.catalogue)
            let store = ResultStore(folder: suite.resultsFolder(results))
            let run = SuiteRun(suite, store: store, options: try options())
            let schedule = try run.schedule()
            if dryRun {
                let text =
                    format == .json ? try schedule.json() : Self.list(schedule, store: store, options: run.options)
                try Output.write(Data(text.utf8), to: nil)
                return nil
            }
            Interruption.expectToContinue()
            let progress = run.makeProgress(schedule)
            let outcome = try await showingProgress(of: { progress.share }, requests: { progress.requests }) {
                try await run.run(schedule, progress: progress)
            }
            try Output.write(Data(Self.summary(outcome, store: store).utf8), to: nil)
            return outcome
        }
        if outcome?.failures.isEmpty == false { throw Exit.failedCheck }
    }

    private func options() throws(ReplayError) -> SuiteRun.Options {
        var options = SuiteRun.Options()
        if !dryRun, format != .table { throw .usage("--format needs --dry-run: results are stored as JSON anyway.") }
        if let threads, threads < 1 { throw .usage("--threads \(threads) is too small: give at least 1.") }
        options.shard = try shard.map { text throws(ReplayError) in try Shard(parsing: text) }
        options.users = try users.map { text throws(ReplayError) in try UserPart(parsing: text) }
        options.cells = Set(cell)
        options.traces = Set(trace)
        options.workers = threads
        if let memory {
            guard let bytes = ByteCount(argument: memory)?.value, bytes > 0 else {
                throw .usage("--memory \(memory) cannot be read: give a size with a unit, such as 8GB.")
            }
            options.memory = Int(clamping: bytes)
        }
        return options
    }

    /// Returns the list of a schedule's cells with an estimate.
    static func list(_ schedule: SuiteSchedule, store: ResultStore, options: SuiteRun.Options) -> String {
        var lines: [String] = schedule.cells.map { cell in
            let parts = [
                cell.trace, cell.mode == .shared ? "shared cache" : "per-user caches", cell.label, cell.capacity,
                cell.knowledge.map { "\($0.rawValue) knowledge" }, cell.prefetch.map { "prefetch \($0)" },
                cell.pretrain.map { "trained on \($0)" },
                cell.labels == "given" ? nil : "labels \(cell.labels)", cell.seed.map { "seed \($0)" },
            ].compactMap { $0 }
            let state = cell.stored ? "stored" : "about \(duration(cell.estimatedSeconds))"
            return "\(cell.hash)  \(parts.joined(separator: ", ")): \(state)"
        }
        lines += failures(schedule.failures)
        let missing = schedule.missing
        let workers = Double(max(1, min(options.workers ?? coreCount, missing.count)))
        let seconds = missing.reduce(0) { $0 + $1.estimatedSeconds } / workers
        let memory = missing.map(\.estimatedBytes).max() ?? 0
        let cost =
            missing.isEmpty
            ? "" : ", about \(duration(seconds)) and up to \(max(1, memory / 1_000_000).grouped) MB for one of them"
        lines.append(
            "\(schedule.cells.count.counted("cell")): \(schedule.cells.count - missing.count) stored in \(store.folder), "
                + "\(missing.count) missing\(cost).")
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns what a sweep did, and what it could not do.
    static func summary(_ outcome: SuiteRun.Outcome, store: ResultStore) -> String {
        let lines =
            failures(outcome.failures) + [
                "\(outcome.ran.counted("cell")) run, \(outcome.storedBefore.grouped) stored before, "
                    + "\(outcome.failures.count.grouped) failed. Results: \(store.folder)"
            ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func failures(_ failures: [SuiteSchedule.Failure]) -> [String] {
        failures.map { "failed: \(([$0.trace] + [$0.cell].compactMap { $0 }).joined(separator: ", ")): \($0.sentence)" }
    }

    private static func duration(_ seconds: Double) -> String {
        if seconds < 1 { return "1 s" }
        if seconds < 90 { return "\(Int(seconds.rounded())) s" }
        return seconds < 5_400 ? "\(Int((seconds / 60).rounded())) min" : "\((seconds / 3_600).decimals(1)) h"
    }
}
