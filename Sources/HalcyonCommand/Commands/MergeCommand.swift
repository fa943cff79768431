import ArgumentParser
import Foundation
import HalcyonExperiments
import HalcyonSimulation

/// `replay merge INTO FROM…`: puts the results of several machines together.
struct MergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge", abstract: "Merge the stored results of several folders into one.",
        discussion: """
            Copies every cell and how it was run. Results of several builds, different results of one cell and broken files \
            are refused before anything is written. Parts of a cell (replay sweep --users i/n) are added up once all n are \
            there. The cells are then packed into INTO/cells.jsonl.zst.

            replay merge results/all results/machine-1 results/machine-2 --suite Experiments/suites/demo.yml

            The exit code is 1 with --suite if cells of the suite are missing.
            """)

    @Argument(help: "The folder that receives the results.")
    var into: String

    @Argument(help: "The folders to copy from.")
    var from: [String]

    @Option(help: "The YAML file of a suite whose missing cells are listed.")
    var suite: String?

    @Flag(help: "Accept results of several builds with the same result version.")
    var acceptBuilds = false

    func run() async throws {
        let isComplete: Bool = try await reportingFailure {
            let suite = try suite.map { try Suite(path: $0, catalogue: Program.catalogue) }
            let store = ResultStore(folder: into)
            let outcome = try ResultMerge(
                into: store, from: from.map { ResultStore(folder: $0) }, acceptsBuilds: acceptBuilds
            ).run()
            var lines = Self.lines(outcome, folder: into)
            var isComplete = true
            if let suite {
                let schedule = try SuiteRun(suite, store: store).schedule()
                isComplete = schedule.missing.isEmpty && schedule.failures.isEmpty
                lines += Self.lines(schedule)
            }
            try Output.write(Data((lines.joined(separator: "\n") + "\n").utf8), to: nil)
            return isComplete
        }
        if !isComplete { throw Exit.failedCheck }
    }

    private static func lines(_ outcome: ResultMerge.Outcome, folder: String) -> [String] {
        var facts = ["\(outcome.added.counted("cell")) added", "\(outcome.storedBefore.grouped) there before"]
        if outcome.summed > 0 { facts.append("\(outcome.summed.grouped) summed from parts of the users") }
        if outcome.withoutProvenance > 0 {
            facts.append("\(outcome.withoutProvenance.grouped) without a file that says how they were run")
        }
        return outcome.incomplete.map { "incomplete: \($0)" } + ["\(facts.joined(separator: ", ")). Results: \(folder)"]
    }

    private static func lines(_ schedule: SuiteSchedule) -> [String] {
        let missing = schedule.missing.map { cell in
            let parts = [
                cell.trace, cell.mode == .shared ? "shared cache" : "per-user caches", cell.label, cell.capacity,
                cell.knowledge.map { "\($0.rawValue) knowledge" }, cell.prefetch.map { "prefetch \($0)" },
                cell.pretrain.map { "trained on \($0)" },
                cell.labels == "given" ? nil : "labels \(cell.labels)", cell.seed.map { "seed \($0)" },
            ].compactMap { $0 }
            return "missing: \(cell.hash)  \(parts.joined(separator: ", "))"
        }
        let failures = schedule.failures.map {
            "failed: \(([$0.trace] + [$0.cell].compactMap { $0 }).joined(separator: ", ")): \($0.sentence)"
        }
        let sum =
            "Suite \(schedule.suite): \((schedule.cells.count - schedule.missing.count).grouped) of "
            + "\(schedule.cells.count.counted("cell")) stored, \(schedule.missing.count.grouped) missing"
            + (schedule.failures.isEmpty ? "." : ", \(schedule.failures.count.grouped) cannot be run.")
        return missing + failures + [sum]
    }
}
