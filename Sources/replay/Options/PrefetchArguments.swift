import ArgumentParser
import HalcyonModel
import HalcyonSimulation

/// What is fetched ahead of need.
struct PrefetchArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Fetch ahead of need: " + PrefetchCatalogue.entries.map(\.name).joined(separator: ", ") + ", none.",
            valueName: "policy"))
    var prefetch = "none"

    @Option(
        help:
            "With --prefetch: what each cache may fetch ahead, objects or bytes a request, minute, day or in total: 2/request,50MB/day. (default: 2/request)"
    )
    var prefetchBudget: String?

    @Option(
        help:
            "With --prefetch: how long a fetch takes, such as 0.2s. One that arrives after the request is no hit. (default: 0)"
    )
    var fetchLatency: String?

    var isOn: Bool { prefetch != "none" }

    func options() throws -> PrefetchOptions? {
        guard isOn else {
            if prefetchBudget != nil || fetchLatency != nil {
                throw ReplayError.usage("--prefetch-budget and --fetch-latency need --prefetch.")
            }
            return nil
        }
        return try PrefetchOptions(
            policy: prefetch, budget: try PrefetchBudget(parsing: prefetchBudget ?? "2/request"),
            fetchLatency: try fetchLatency.map { try TimeSpan(parsing: $0).microseconds } ?? 0)
    }
}
