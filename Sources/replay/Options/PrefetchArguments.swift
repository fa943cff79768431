import ArgumentParser
import HalcyonEviction
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonSupport

/// What is fetched ahead of need.
struct PrefetchArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Fetch ahead of need: " + PrefetchCatalogue.entries.map(\.name).joined(separator: ", ")
                + " or none; several may be separated by commas. The planner has parameters: planner(price=0.05). "
                + "(default: none)", valueName: "policy"))
    var prefetch: [String] = []

    @Option(
        help: ArgumentHelp(
            "With --prefetch: what each cache may fetch ahead, in objects or bytes a request, a minute, a day or in total: "
                + "2/request,50MB/day. (default: 2/request)", valueName: "limit,…"))
    var prefetchBudget: String?

    @Option(
        help: ArgumentHelp(
            "With --prefetch: how long a fetch takes, such as 2s; what arrives after the request is no hit. (default: 0)",
            valueName: "time"))
    var fetchLatency: String?

    @Option(help: "With --prefetch planner: start with what 'replay train --planner' has learnt. It goes on learning.")
    var prefetchModel: String?

    /// Whether anything is fetched ahead.
    var isOn: Bool { !names.isEmpty }

    private var names: [String] { prefetch.flatMap(PolicySpec.split).filter { $0 != "none" } }

    /// One for each policy that was asked for.
    func options() throws -> [PrefetchOptions] {
        if prefetch.isEmpty, prefetchBudget != nil || fetchLatency != nil || prefetchModel != nil {
            throw ReplayError.usage("--prefetch-budget, --fetch-latency and --prefetch-model need --prefetch.")
        }
        let budget = try PrefetchBudget(parsing: prefetchBudget ?? "2/request")
        let latency = try fetchLatency.map { try TimeSpan(parsing: $0).microseconds } ?? 0
        var options = try names.map { try PrefetchOptions(policy: $0, budget: budget, fetchLatency: latency) }
        guard let prefetchModel else { return options }
        guard options.isEmpty || options.contains(where: \.isPlanner) else {
            throw ReplayError.usage("--prefetch-model needs --prefetch planner.")
        }
        let pretrained = try PretrainedPlanner(contentsOf: prefetchModel)
        for index in options.indices where options[index].isPlanner {
            if let fixed = options[index].policy.settings.first(where: { ["hidden", "horizon"].contains($0.name) }) {
                throw ReplayError.usage("\(fixed.name) is set by the file of --prefetch-model: leave it out.")
            }
            options[index].pretrained = pretrained
        }
        return options
    }

    /// What the reader of a report should know.
    var notes: [String] {
        guard let prefetchModel, isOn else { return [] }
        return ["planner starts with the model \(prefetchModel), and goes on learning."]
    }
}
