import ArgumentParser
import Foundation
import HalcyonSimulation
import HalcyonTrace

/// `replay generate MODEL`: synthetic traces of documented models.
struct GenerateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Generate a synthetic trace from a documented model.",
        discussion: """
            Models: \(ModelName.all.joined(separator: ", ")).
            'replay generate <model> --parameters' lists the parameters. The same model, parameters and seed give the same bytes.
            """)

    @Argument(help: "The model.")
    var model: String

    @Option(name: .customLong("set"), help: ArgumentHelp("Set a parameter. May be repeated.", valueName: "name=value"))
    var settings: [String] = []

    @Option(help: "The seed.")
    var seed: UInt64 = 1

    @Flag(help: "List the model's parameters with their values, and generate nothing.")
    var parameters = false

    @Option(
        name: [.short, .long],
        help:
            "The file to write: .csv or .oracleGeneral, optionally .gz or .zst; by default CSV on standard output.")
    var output: String?

    func run() async throws {
        try await reportingFailure {
            guard var generator = ModelName.generator(model) else {
                throw ReplayError.usage(
                    "There is no model '\(model)': write one of \(ModelName.all.joined(separator: ", ")).")
            }
            for setting in settings {
                let sides = setting.split(separator: "=", maxSplits: 1).map(String.init)
                guard sides.count == 2 else {
                    throw ReplayError.usage("'\(setting)' does not set a parameter: write name=value.")
                }
                generator = try generator.setting(sides[0], to: sides[1])
            }
            if parameters {
                let lines = generator.parameters.map { "\($0.name)=\($0.value)\n" }.joined()
                return try Output.write(Data(lines.utf8), to: output)
            }
            let file = output ?? "-"
            let format = try Output.traceFormat(nil, for: file)
            try CommandFiles(writes: [("--output", file)]).verify()
            if let model = generator as? BrowsingModel, format == .csv {
                // Written as it is generated: the trace of a million users would not fit into memory.
                return Terminal.sayWritten(try model.writeCSV(seed: seed, to: file), to: file)
            }
            let trace = try generator.generate(seed: seed)
            try TraceWriter.write(trace, to: file, format: format)
            Terminal.sayWritten(trace, to: file, format: format)
        }
    }
}

/// The models, by their name on the command line.
enum ModelName {
    static let all =
        BrowsingModel.presetNames + ["zipf", "loop", "loop-block", "loop-key-value", "scan", "lists", "kinds"]

    static func generator(_ name: String) -> (any TraceGenerator & Codable)? {
        switch name {
        case "zipf": ZipfModel()
        case "loop": LoopModel()
        case "loop-block": LoopModel.block
        case "loop-key-value": LoopModel.keyValue
        case "scan": ScanModel()
        case "lists": ListModel()
        case "kinds": KindsModel()
        default: BrowsingModel.preset(named: name)
        }
    }
}
