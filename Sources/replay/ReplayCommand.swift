import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation

/// `replay`: recorded accesses in, exact hit ratios out.
@main
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Replays recorded accesses through cache eviction policies and measures hit ratios.",
        usage: """
            replay <trace> [--policy <policy> ...] [--capacity <capacities>]
            replay <subcommand>
            """,
        discussion: """
            replay Traces/shop.csv --policy learned
            replay Traces/shop.csv --policy 's3-fifo(small=0.2)' --policy arc --capacity 1%,5%,1000 --only
            replay Traces/shop.csv --policy learned --per user --capacity 20
            """,
        version: BuildInfo.current.sentence,
        subcommands: [
            RunCommand.self, InspectCommand.self, CurveCommand.self, ConvertCommand.self, GenerateCommand.self,
            PoliciesCommand.self, CheckCommand.self, HypothesisCommand.self, TrainCommand.self,
            ExplainCommand.self,
        ],
        defaultSubcommand: RunCommand.self)
}

extension ReplayCommand {
    /// Runs the requested command. Reports an invalid argument as one sentence. An interruption leaves no unfinished
    /// files.
    static func main() async {
        signal(SIGPIPE, SIG_DFL)
        let interruption = Interruption()
        defer { interruption.cancel() }
        if let fault = PortableKernels.environmentFault {
            Terminal.say("replay: \(fault)")
            exit(withError: Exit.usage)
        }
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            guard !(error is ExitCode), exitCode(for: error) == .validationFailure, CommandLine.arguments.count > 1
            else {
                exit(withError: error)
            }
            let sentence = message(for: error)
            Terminal.say("replay: \(sentence)\(sentence.last == "." ? "" : ".") See 'replay --help'.")
            exit(withError: Exit.usage)
        }
    }
}
