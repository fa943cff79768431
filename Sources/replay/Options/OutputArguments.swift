import ArgumentParser

/// The form of a result, and where it goes.
struct OutputArguments: ParsableArguments {
    /// The forms a result can have.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, json, csv, jsonl
    }

    @Option(help: "The form of the result.")
    var format: Format = .table

    @Option(name: [.short, .long], help: "The file to write; by default standard output.")
    var output: String?
}
