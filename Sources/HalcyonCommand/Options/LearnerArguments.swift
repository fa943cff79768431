import ArgumentParser
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTrace

/// The options for one run of `learned` whose model is kept or explained.
struct LearnerArguments: ParsableArguments {
    enum PerUser: String, CaseIterable, ExpressibleByArgument {
        case user
    }

    @Option(name: [.short, .long], help: "The policy, with parameters if any: 'learned(hidden=16,category=off)'.")
    var policy: String = "learned"

    @Option(name: [.short, .long], help: "The capacity: 5%, 64MB, or a number of bytes or objects (1000, 64k).")
    var capacity: String = "5%"

    @Option(
        help:
            "Give each 'user' a separate cache of the stated capacity. One model learns from all users (server knowledge)."
    )
    var per: PerUser?

    @Option(help: "Replay at most this number of requests.")
    var limit: Int?

    @Option(help: "Skip this number of requests at the start.")
    var skip: Int = 0

    @OptionGroup var opening: ListArguments

    @Option(help: "The seed of all random choices.")
    var seed: UInt64 = 1

    /// Returns the parameters of the policy that a text names.
    static func parameters(_ policy: String) throws -> LearnedParameters {
        let spec = try PolicySpec(parsing: policy)
        guard spec.name == LearnedPolicy.info.name else {
            throw ReplayError.usage("'\(spec.name)' does not train a model: write learned.")
        }
        return try LearnedParameters().applying(spec.settings, policy: spec.name)
    }

    /// Returns the run over a trace, and the notes for a report.
    func load(_ trace: TraceArguments, names: NameKinds = []) throws -> (replay: LearnerReplay, notes: [String]) {
        if let limit, limit < 1 { throw ReplayError.usage("--limit \(limit) leaves nothing: give at least 1.") }
        if skip < 0 { throw ReplayError.usage("--skip \(skip) is negative: give 0 or more.") }
        let parameters = try Self.parameters(policy)
        let capacity = try CapacityRequest(parsing: capacity)
        var options = try trace.options(names: names)
        if per == nil {
            options.limit = limit
            options.skip = skip
        }
        var (requests, notes) = (try Trace.load(trace.path, options), [String]())
        if per == .user {
            let part = requests.selection(skip: skip, limit: limit, withUserOnly: true)
            if part.withoutUser > 0 { notes = ["\(part.withoutUser.grouped) requests without a user are left out."] }
            guard requests.hasUsers else {
                throw ReplayError.data("\(trace.trace) has no users, which per-user caches need.")
            }
            requests = part.trace
        }
        requests = try opening.applied(to: requests, &notes)
        let replay = try LearnerReplay(
            trace: requests, parameters: parameters, capacity: capacity, mode: per == .user ? .perUser : .shared,
            seed: seed)
        return (replay, notes)
    }
}
