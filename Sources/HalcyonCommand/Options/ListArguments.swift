import ArgumentParser
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// The options for how lists are read.
struct ListArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "For a log of single images that were shown: lists of a user that begin within this time of the first one are one list, "
                + "known when the first is shown; 0 joins none.", valueName: "duration"))
    var joinLists = "0s"
    @Option(
        help: ArgumentHelp(
            "For lists: where a request has the time of the list that showed its object, take it to come this much later, because a "
                + "fetch takes time; 0 changes nothing.", valueName: "duration"))
    var openDelay = TimeSpan(microseconds: Trace.standardOpenDelay.microseconds).description.filter { $0 != " " }

    @Flag(
        help: ArgumentHelp(
            "For lists: leave out all requests but the first for each item of the list last shown to its user, so that "
                + "the hit ratio is the share of openings that are hits. Those of a warm-up trace stay."))
    var openingsOnly = false

    private var durations: (delay: TimeSpan, join: TimeSpan) {
        get throws {
            guard let delay = TimeSpan(argument: openDelay) else {
                throw ReplayError.usage("'\(openDelay)' is not a delay of openings: write a duration such as 2s, or 0.")
            }
            guard let join = TimeSpan(argument: joinLists) else {
                throw ReplayError.usage("'\(joinLists)' is not a time for lists: write a duration such as 1d, or 0.")
            }
            return (delay, join)
        }
    }

    /// Returns the trace with its lists joined and its openings selected and delayed, and adds a note on each that was done.
    ///
    /// - Parameter isWarmup: whether it is a warm-up trace, which keeps all requests.
    func applied(to trace: Trace, isWarmup: Bool = false, _ notes: inout [String]) throws -> Trace {
        let (delay, join) = try durations
        let joined = trace.joiningLists(within: join)
        if let (before, after) = trace.lists.map({ ($0.count, joined.lists?.count ?? 0) }), after < before {
            notes.append(
                "\(before.counted("list")) of single users within \(join) are \(after.counted("list")) here: all items of one are "
                    + "taken to be known when its first is shown.")
        }
        guard openingsOnly, !isWarmup else { return joined.delayingOpenings(by: delay, &notes) }
        let openings = joined.keepingOpenings()
        if openings.count == 0 {
            throw ReplayError.data("No request opens an item of a list: leave --openings-only out.")
        }
        notes.append(
            "\(openings.count.grouped) of \(joined.count.counted("request")) open an item of a list; the others are left out."
        )
        return openings.delayingOpenings(by: delay, &notes)
    }
}
