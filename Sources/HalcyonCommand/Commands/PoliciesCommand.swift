import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation

/// `replay policies`: lists all policies.
struct PoliciesCommand: AsyncParsableCommand {
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case text, json
    }

    static let configuration = CommandConfiguration(
        commandName: "policies", abstract: "List the policies, with traits, parameters and source.")

    @Argument(help: "Only this policy; 'kingfisher' lists those of its two tiers.")
    var name: String?

    @Option(help: "The format of the list.")
    var format: Format = .text

    func run() async throws {
        try await reportingFailure {
            var entries = Program.namedPolicies.entries
            if let name {
                let tiers = TierOptions.kingfisher(disk: .number(1))
                let parts = [tiers.memoryPolicy, tiers.diskPolicy].compactMap { $0?.info.name }
                let wanted =
                    name.lowercased() == RequestedRuns.kingfisher
                    ? parts : [try Program.namedPolicies.policy(name).info.name]
                entries = entries.filter { wanted.contains($0.info.name) }
            }
            let list = PolicyList(entries)
            try Output.write(format == .json ? try JSONReport.data(list) : Data(list.text.utf8), to: nil)
        }
    }
}
