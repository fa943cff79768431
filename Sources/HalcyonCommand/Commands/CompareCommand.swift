import ArgumentParser
import Foundation
import HalcyonExperiments
import HalcyonSimulation

/// `replay compare A B`: paired differences of stored results.
struct CompareCommand: AsyncParsableCommand {
    /// The forms of a comparison.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, json
    }

    static let configuration = CommandConfiguration(
        commandName: "compare", abstract: "Compare stored results: policies, parameters, builds or labels.",
        discussion: """
            A and B are policies (learned, 's3-fifo(small=0.2)'), fields (labels=without, prefetch=none, build=967d, \
            result_version=2, small=0.1) or two folders. Cells that are equal in all other fields are paired, and runs with \
            several seeds are averaged. Differences are A − B, with an interval for each cell, p-values for all cells \
            together (Holm), and means over traces.

            replay compare learned lru --results results/demo --fail-if-worse
            replay compare labels=given labels=without --results results/demo --where policy=learned
            replay compare results/before results/after

            --pairs FILE makes many comparisons in one call. FILE is JSON that names the cells of each pair; scripts and the \
            Python package choose cells in this way.

            The exit code is 1 with --fail-if-worse if A is worse: the interval over all traces lies below zero, or a cell \
            is significantly worse.
            """)

    @Argument(help: "Side A: a policy, field=value, or a folder.")
    var a: String?

    @Argument(help: "Side B.")
    var b: String?

    @Option(
        help: ArgumentHelp(
            "Compare the cells that a file pairs by their names (halcyon.comparison-request/1) instead of A and B; '-' is "
                + "standard input.", valueName: "file"))
    var pairs: String?

    @Option(
        help: ArgumentHelp(
            "The folder of the results. (default: the only folder of results in 'results')", valueName: "folder"))
    var results: String?

    @Option(name: .customLong("where"), help: WhereArguments.help)
    var conditions: [String] = []

    @Option(help: "The compared hit ratio: object or byte.")
    var measure: HitMeasure = .object

    @Flag(help: "Fail if A is worse than B.")
    var failIfWorse = false

    @Option(help: "The format of the result.")
    var format: Format = .table

    @Option(name: [.short, .long], help: "The file to write; by default standard output.")
    var output: String?

    func run() async throws {
        let losses: [String] = try await reportingFailure {
            try CommandFiles(reads: [("--pairs", pairs)], writes: [("--output", output)]).verify()
            if let pairs {
                let report = try compare(pairs: pairs)
                try Output.write(report.json(), to: output)
                return report.comparisons.flatMap(\.losses)
            }
            guard let a, let b else {
                throw ReplayError.usage("Give the two sides A and B, as in 'replay compare learned lru'.")
            }
            let comparison = try compare(a, b)
            let data =
                format == .json
                ? try comparison.json()
                : Data(comparison.text(emphasis: output == nil && Terminal.allowsEmphasis).utf8)
            try Output.write(data, to: output)
            return comparison.losses
        }
        guard failIfWorse, !losses.isEmpty else { return }
        for sentence in losses { Terminal.complain(sentence) }
        throw Exit.failedCheck
    }

    private func compare(pairs file: String) throws(ReplayError) -> ComparisonReport {
        if a != nil || results != nil || !conditions.isEmpty || measure != .object {
            throw .usage(
                "--pairs names the folders, the cells and the measure: leave out A, B, --results, --where and --measure."
            )
        }
        guard format == .json else { throw .usage("--pairs needs --format json.") }
        let isInput = file == "-"
        let name = isInput ? "standard input" : file
        let content =
            isInput ? (try? FileHandle.standardInput.readToEnd()) : FileManager.default.contents(atPath: file)
        guard let data = content else { throw .data("\(name): cannot be read.") }
        return try ComparisonRequest(json: data, source: name).run()
    }

    private func compare(_ a: String, _ b: String) throws(ReplayError) -> Comparison {
        let conditions = try WhereArguments.conditions(conditions)
        func rows(_ folder: String) throws(ReplayError) -> [ResultRow] {
            try ResultCondition.filter(
                try ResultStore(folder: folder).rows(), by: conditions, catalogue: Program.namedPolicies)
        }
        switch (Self.isResults(a), Self.isResults(b)) {
        case (true, true):
            if let results {
                throw .usage("A and B are folders, so --results \(results) has no meaning: leave it out.")
            }
            if Output.place(of: a) == Output.place(of: b) {
                throw .usage("A and B are the same folder, \(a): give two different sides.")
            }
            return try Comparison(
                .folder(a), .folder(b), rows: try rows(a), others: try rows(b), measure: measure,
                catalogue: Program.namedPolicies)
        case (true, false), (false, true):
            let (folder, other) = Self.isResults(a) ? (a, b) : (b, a)
            throw .usage(
                "\(folder) is a folder of results, and '\(other)' is not: give two folders, or name the folder with "
                    + "--results and give two policies or fields.")
        case (false, false):
            let (first, second) = (try ComparisonSelector(parsing: a), try ComparisonSelector(parsing: b))
            return try Comparison(
                first, second, rows: try rows(try folder()), measure: measure,
                catalogue: Program.namedPolicies)
        }
    }

    private func folder() throws(ReplayError) -> String {
        if let results { return results }
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: "results")) ?? []).sorted()
            .filter { Self.isResults("results/\($0)") }
        guard names.count == 1 else {
            let found = names.isEmpty ? "there is none" : "there are \(names.joined(separator: ", "))"
            throw .usage("--results is needed to name the folder of the results: in 'results' \(found).")
        }
        return "results/\(names[0])"
    }

    private static func isResults(_ path: String) -> Bool { ResultStore(folder: path).exists }
}

extension HitMeasure: ExpressibleByArgument {}
