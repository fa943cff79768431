import ArgumentParser
import HalcyonEviction
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonSupport

/// The options for prefetching.
struct PrefetchArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Prefetch by a policy: " + PrefetchCatalogue.entries.map(\.name).joined(separator: ", ")
                + ", recorded (the prefetches of an access log) or none; several may be separated by commas, and 'none' among them is a run without prefetching. "
                + "Some have parameters: planner(price=0.05), announced(first=6). "
                + "(default: none)", valueName: "policy"))
    var prefetch: [String] = []

    @Option(
        help: ArgumentHelp(
            "With --prefetch: the budget of each cache, in objects or bytes per request, list, visit, minute, day or in total: "
                + "2/request,50MB/day. A visit may spend at its end what its requests did not. 0/request fetches nothing, as a "
                + "control: only the policy's choice of victims remains. (default: 2/request)", valueName: "limit,…"))
    var prefetchBudget: String?

    @Option(
        help: ArgumentHelp(
            "With --prefetch: the duration of each prefetch, such as 2s; 0 is ideal, and measured is the median of an object's fetches in an access log. "
                + "A request during a prefetch, or at the time stamp of its end, is a miss. "
                + "(default: that of --latency; measured if a log has durations; 150 ms and the size over 5 MB/s)",
            valueName: "time"))
    var fetchLatency: String?

    @Option(
        help: "With --prefetch planner: start with a model of 'replay train --prefetch planner', and continue learning."
    )
    var prefetchModel: String?

    /// Whether a prefetch policy other than `none` was given.
    var isOn: Bool { names.contains { $0 != "none" } }

    private var names: [String] { prefetch.flatMap(PolicySpec.split) }

    /// Returns the options of each requested prefetch policy; `nil` stands for `none`, a run without prefetching.
    ///
    /// - Parameter model: the latencies of `--latency`; `nil` for the default.
    func options(latency model: LatencyModel? = nil) throws -> [PrefetchOptions?] {
        if prefetch.isEmpty, prefetchBudget != nil || fetchLatency != nil || prefetchModel != nil {
            throw ReplayError.usage("--prefetch-budget, --fetch-latency and --prefetch-model need --prefetch.")
        }
        let budget = try PrefetchBudget(parsing: prefetchBudget ?? "2/request")
        let isMeasured = fetchLatency == "measured"
        let fixed = try fetchLatency.flatMap {
            isMeasured ? nil : FetchLatency.fixed(try TimeSpan(parsing: $0).microseconds)
        }
        let latency = isMeasured ? nil : fixed ?? model.map { FetchLatency.modelled($0) }
        var options: [PrefetchOptions?] = try names.map { name in
            name == "none" ? nil : try PrefetchOptions(policy: name, budget: budget, latency: latency)
        }
        if options.reduce(0, { $0 + ($1 == nil ? 1 : 0) }) > 1 {
            throw ReplayError.usage("--prefetch none is given twice: give it once.")
        }
        for index in options.indices { options[index]?.requiresMeasured = isMeasured }
        guard let prefetchModel else { return options }
        guard !isOn || options.contains(where: { $0?.isPlanner == true }) else {
            throw ReplayError.usage("--prefetch-model needs --prefetch planner.")
        }
        let pretrained = try PretrainedPlanner(contentsOf: prefetchModel)
        for index in options.indices {
            guard let planner = options[index], planner.isPlanner else { continue }
            if let fixed = planner.policy.settings.first(where: { ["hidden", "horizon"].contains($0.name) }) {
                throw ReplayError.usage("\(fixed.name) is set by the file of --prefetch-model: leave it out.")
            }
            options[index]?.pretrained = pretrained
        }
        return options
    }

    /// The notes for a report.
    var notes: [String] {
        guard let prefetchModel, isOn else { return [] }
        return ["planner starts with the model \(prefetchModel), and continues learning."]
    }
}
