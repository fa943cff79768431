import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation

/// `replay`: recorded accesses in, exact hit ratios out.
struct ReplayCommand: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        let name = Program.current.name
        return CommandConfiguration(
            commandName: name,
            abstract: "Replays recorded accesses through cache eviction policies and measures hit ratios.",
            usage: """
                \(name) <trace> [--policy <policy> ...] [--capacity <capacities>]
                \(name) <subcommand>
                """,
            discussion: """
                \(name) Traces/shop.csv --policy learned
                \(name) Traces/shop.csv --policy 's3-fifo(small=0.2)' --policy arc --capacity 1%,5%,1000 --only
                \(name) Traces/shop.csv --policy learned --per user --capacity 20

                '\(name) run --help' lists the options for replaying a trace.
                """,
            version: BuildInfo.current.sentence,
            subcommands: [
                RunCommand.self, InspectCommand.self, CurveCommand.self, ConvertCommand.self, GenerateCommand.self,
                PoliciesCommand.self, CheckCommand.self, SweepCommand.self, ResultsCommand.self, CompareCommand.self,
                MergeCommand.self, HypothesisCommand.self, TrainCommand.self, PretrainCommand.self,
                ExplainCommand.self,
            ],
            defaultSubcommand: RunCommand.self)
    }
}

extension ReplayCommand {
    /// Runs the requested command. Reports an invalid argument as one sentence. An interruption leaves no unfinished
    /// files.
    static func main() async {
        signal(SIGPIPE, SIG_DFL)
        let interruption = Interruption()
        defer { interruption.cancel() }
        if let fault = PortableKernels.environmentFault {
            Terminal.complain(fault)
            exit(withError: Exit.usage)
        }
        let arguments = CommandLineSentence.joiningNegativeNumbers(Array(CommandLine.arguments.dropFirst()))
        let line = CommandLineSentence(
            arguments: arguments, subcommands: configuration.subcommands.compactMap { $0.configuration.commandName })
        if let sentence = line.misspelling {
            Terminal.complain(sentence)
            exit(withError: Exit.usage)
        }
        do {
            var command = try parseAsRoot(arguments)
            if var asynchronous = command as? AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            guard !(error is ExitCode), exitCode(for: error) == .validationFailure, !arguments.isEmpty else {
                exit(withError: error)
            }
            Terminal.complain(line.sentence(for: message(for: error)))
            exit(withError: Exit.usage)
        }
    }
}
