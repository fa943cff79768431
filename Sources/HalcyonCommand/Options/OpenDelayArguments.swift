import ArgumentParser
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// The option for lists whose openings have their time.
struct OpenDelayArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "For lists: where a request has the time of the list that showed its object, take it to come this much later, because a "
                + "fetch takes time; 0 changes nothing.", valueName: "duration"))
    var openDelay = TimeSpan(microseconds: Trace.standardOpenDelay.microseconds).description.filter { $0 != " " }

    func validate() throws { _ = try delay }

    /// The delay.
    private var delay: TimeSpan {
        get throws {
            guard let delay = TimeSpan(argument: openDelay) else {
                throw ReplayError.usage("'\(openDelay)' is not a delay of openings: write a duration such as 2s, or 0.")
            }
            return delay
        }
    }

    /// Returns the trace with its openings delayed, and adds a note if any is.
    func applied(to trace: Trace, _ notes: inout [String]) throws -> Trace {
        trace.delayingOpenings(by: try delay, &notes)
    }
}
