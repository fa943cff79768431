import ArgumentParser
import HalcyonSimulation

extension Knowledge: ExpressibleByArgument {}

/// What the learners and the prefetch policies of per-user caches see.
struct KnowledgeArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            For per-user caches: device, a model and a prefetch policy for each user, which see the requests of this user alone, \
            as on a phone; or server, one model and one prefetch policy, which learn from the live requests of all users. \
            (default: device)
            """))
    var knowledge: Knowledge?

    @Option(help: .hidden)
    var models: String?

    /// Refuses the option that ``knowledge`` replaced.
    func validateNames() throws(ReplayError) {
        if models != nil {
            throw .usage("There is no --models: give --knowledge device (one model a user) or --knowledge server.")
        }
    }
}
