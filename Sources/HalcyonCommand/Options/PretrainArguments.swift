import ArgumentParser
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// What the models of devices are trained on before the replay.
struct PretrainArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            With --per user and device knowledge: 'learned' and the planner begin with a model that is trained first, in \
            caches of the same capacity and with the same labels: other-users divides the users into two halves, each served by the model of the \
            other; or on all users of other traces, files that 'replay' reads without further options.
            """, valueName: "other-users|a.csv,b.csv"))
    var pretrain: String?

    /// The files of the other traces, each with its name in messages.
    var files: [(what: String, path: String?)] {
        get throws(ReplayError) { try names.map { ("trace to train on", $0) } }
    }

    private var names: [String] {
        get throws(ReplayError) { try pretraining()?.traceNames ?? [] }
    }

    /// Returns what was requested. Nil if no model is to be trained.
    func pretraining() throws(ReplayError) -> Pretraining? {
        try pretrain.map { text throws(ReplayError) in try Pretraining(parsing: text) }
    }

    /// Reads the other traces, by the names that they were given: their requests with a user.
    ///
    /// - Parameter replayed: the files whose users are served, which no model may be trained on.
    /// - Throws: `ReplayError` if one of them is among the other traces, or has no users; `TraceError`.
    func traces(besides replayed: [String]) throws -> [String: Trace] {
        let served = Set(replayed.map(Output.place))
        var traces: [String: Trace] = [:]
        for path in try names {
            if served.contains(Output.place(of: path)) {
                throw ReplayError.usage(
                    "\(path) is replayed, and no model is tested on users that it was trained on: give --pretrain other-users."
                )
            }
            traces[path] = try Self.users(of: path)
        }
        return traces
    }

    /// Reads the requests of a trace that have a user.
    ///
    /// - Parameter limit: the maximum number of requests; `nil` for no limit.
    static func users(of path: String, limit: Int? = nil) throws -> Trace {
        let trace = try Trace.load(path, TraceLoadOptions())
        guard trace.hasUsers else { throw ReplayError.data("\(path) has no users, which per-user caches need.") }
        return trace.selection(limit: limit, withUserOnly: true).trace.delayingOpenings().trace
    }
}
