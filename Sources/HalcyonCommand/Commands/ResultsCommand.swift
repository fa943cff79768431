import ArgumentParser
import Foundation
import HalcyonExperiments
import HalcyonSimulation

/// `replay results FOLDER`: lists and exports stored results.
struct ResultsCommand: AsyncParsableCommand {
    /// The forms of a list.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, csv, json, jsonl, parquet
    }

    static let configuration = CommandConfiguration(
        commandName: "results", abstract: "List, filter and export the stored results of suites.",
        discussion: """
            The table has one row for the runs that differ only in their seed, with the mean and its standard error over \
            seeds. csv, json and jsonl have one row per cell, with all counts, parameters (p_NAME) and how it was run.

            replay results results/demo --where trace=shop,capacity=1% --sort-by hit_ratio
            replay results results/demo --where 'policy=s3-fifo(small=0.1)' --format csv --output demo.csv

            --pack puts the cells that an interrupted sweep left as files of their own into FOLDER/cells.jsonl.zst, as \
            'replay sweep' and 'replay merge' do at their end.
            """)

    @Argument(help: "The folder of the results.")
    var folder: String

    @Option(name: .customLong("where"), help: WhereArguments.help)
    var conditions: [String] = []

    @Option(
        help: ArgumentHelp(
            "Order the rows of the table by this column: \(ResultTable.columns.joined(separator: ", ")).",
            valueName: "column"))
    var sortBy: String?

    @Option(help: "The format of the result.")
    var format: Format = .table

    @Option(name: [.short, .long], help: "The file to write; by default standard output.")
    var output: String?

    @Flag(help: "Pack the stored cells into one file, and list nothing.")
    var pack = false

    func run() async throws {
        try await reportingFailure {
            if pack {
                guard conditions.isEmpty, sortBy == nil, output == nil, format == .table else {
                    throw ReplayError.usage("--pack packs all cells and lists none: leave the other options out.")
                }
                let store = ResultStore(folder: folder)
                let count = try store.hashes().count
                try store.pack()
                return try Output.write(Data("\(count.counted("cell")) in \(store.packPath)\n".utf8), to: nil)
            }
            if format == .parquet {
                throw ReplayError.usage(
                    "Parquet is written by the Python package: python -m lab export \(folder) out.parquet.")
            }
            if sortBy != nil, format != .table { throw ReplayError.usage("--sort-by needs --format table.") }
            try CommandFiles(writes: [("--output", output)]).verify()
            let rows = try ResultStore(folder: folder).rows()
            let conditions = try WhereArguments.conditions(conditions)
            let table = ResultTable(
                try ResultCondition.filter(rows, by: conditions, catalogue: Program.namedPolicies))
            let data: Data =
                switch format {
                case .table:
                    Data(try table.text(sortedBy: sortBy, emphasis: output == nil && Terminal.allowsEmphasis).utf8)
                case .csv: table.csv
                case .json: try table.json()
                case .jsonl, .parquet: try table.jsonLines()
                }
            try Output.write(data, to: output)
        }
    }
}

/// The option `--where`, which several commands have.
enum WhereArguments {
    /// The help of the option.
    static let help = ArgumentHelp(
        "Use the cells that meet these conditions only, such as trace=shop,policy=lru,capacity=1%. Fields: "
            + "\(ResultCondition.fields.joined(separator: ", ")), or a parameter of a policy. May be repeated.",
        valueName: "field=value,…")

    /// Reads the values of the option.
    static func conditions(_ texts: [String]) throws(ReplayError) -> [ResultCondition] {
        var conditions: [ResultCondition] = []
        for text in texts { conditions += try ResultCondition.list(parsing: text) }
        return conditions
    }
}
