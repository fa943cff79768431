import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// `replay pretrain TRACE… --output model.safetensors`: trains a model on the devices of many users.
struct PretrainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pretrain",
        abstract: "Train one model on the users of several traces, each seen alone, to be shipped with an app.",
        discussion:
            "replay pretrain a.csv b.csv --capacity 20,60 --output model.safetensors; replay c.csv --per user --model "
            + "model.safetensors. With --prefetch, the model of the prefetch planner, whose file --prefetch-model takes. Users without a name are left out. The same traces, options and seed give the same file."
    )

    @Argument(help: "The traces: files that 'replay' reads without further options, with users.")
    var traces: [String]

    @Option(name: [.short, .long], help: "The capacities of a cache, in turn: 20,60,100 objects.")
    var capacity = "20,60,100"

    @Option(name: [.short, .long], help: "The policy, with parameters if any.")
    var policy = "learned(workload=on)"

    @Option(
        help:
            "The training steps, at least: the part of a trace that takes the last one is replayed to its end. (default: 40000)"
    )
    var steps: Int?

    @Option(
        help: ArgumentHelp(
            "Save the model of this prefetch planner instead: planner, planner(visits=on). All users are replayed once.",
            valueName: "policy"))
    var prefetch: String?

    @Option(help: ArgumentHelp("With --prefetch: the duration of each prefetch. (default: 1s)", valueName: "time"))
    var fetchLatency: String?

    @Option(
        help: ArgumentHelp("With --prefetch: the budget of each cache. (default: 2/request)", valueName: "limit,…"))
    var prefetchBudget: String?

    @Option(help: "Read at most this number of requests of each trace.")
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            """
            Train on part i, from 1, of n parts of the users of each trace, divided by a hash of their numbers. Those of another \
            part can then test the model.
            """, valueName: "i/n"))
    var users: String?

    @Option(help: "The seed of all random choices.")
    var seed: UInt64 = 1

    @Option(name: [.short, .long], help: "The file to write.")
    var output: String

    func run() async throws {
        try await reportingFailure {
            guard prefetch != nil || fetchLatency == nil && prefetchBudget == nil else {
                throw ReplayError.usage("--fetch-latency and --prefetch-budget need --prefetch.")
            }
            if prefetch != nil, steps != nil {
                throw ReplayError.usage("With --prefetch all users are replayed once: leave --steps out.")
            }
            try CommandFiles(reads: traces.map { ("a trace", $0) }, writes: [("--output", output)]).verify()
            if let limit, limit < 1 { throw ReplayError.usage("--limit \(limit) leaves nothing: give at least 1.") }
            let capacities = try capacity.split(separator: ",", omittingEmptySubsequences: false).map {
                try CapacityRequest(parsing: String($0))
            }
            let parameters = try LearnerArguments.parameters(policy)
            let users = try users.map { text throws(ReplayError) in try UserPart(parsing: text) }
            let training = try DeviceTraining(
                traces: traces.map { try PretrainArguments.users(of: $0, limit: limit) }, users: users,
                parameters: parameters, capacities: capacities, seed: seed)
            if let prefetch { return try train(prefetch, training) }
            let model = try training.train(steps: steps ?? 40_000)
            try Output.write(try model.data(), to: output)
            Terminal.say(
                "\(output): learned from \(model.trainingSamples.counted("sample")) in "
                    + "\(model.trainingSteps.counted("step"))")
        }
    }

    private func train(_ prefetch: String, _ training: DeviceTraining) throws {
        let options = try PrefetchOptions(
            policy: prefetch, budget: try PrefetchBudget(parsing: prefetchBudget ?? "2/request"),
            latency: .fixed(try TimeSpan(parsing: fetchLatency ?? "1s").microseconds))
        let model = try training.trainPlanner(options)
        try Output.write(try model.data(), to: output)
        Terminal.say("\(output): learned in \(model.trainingSteps.counted("step"))")
    }
}
