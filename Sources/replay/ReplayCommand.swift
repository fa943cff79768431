import ArgumentParser
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
        version: Halcyon.version,
        subcommands: [
            RunCommand.self, InspectCommand.self, CurveCommand.self, ConvertCommand.self, GenerateCommand.self,
            PoliciesCommand.self, CheckCommand.self, HypothesisCommand.self,
        ],
        defaultSubcommand: RunCommand.self)
}
