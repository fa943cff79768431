import HalcyonSimulation
import HalcyonTrace

/// One trace, in one mode, at several capacities.
package struct HypothesisField: Sendable {
    /// The kind of caches: one shared cache, or per-user caches.
    package let mode: ReplayMode
    /// The replayed trace.
    package let trace: Trace
    /// The capacities of the cache, or of each user's cache.
    package let capacities: [CapacityRequest]

    let distinct: Int

    /// Creates a field.
    ///
    /// - Parameters:
    ///   - trace: in `ReplayMode.perUser` every request must have a user, see
    ///     `Trace.selection(skip:limit:withUserOnly:)`.
    ///   - capacities: the capacities. The default for a shared cache is 1 %, 5 % and 10 % of the distinct objects. The
    ///     default for per-user caches is 20, 60 and 100 objects of average size.
    /// - Throws: `ReplayError` if there is no request, no user for per-user caches, no category,
    ///   or only one set of categories. Also if a capacity does not suit the trace or is given twice.
    package init(mode: ReplayMode, trace: Trace, capacities: [CapacityRequest]? = nil) throws(ReplayError) {
        guard trace.count > 0 else { throw .data("There is no request to replay.") }
        guard trace.hasCategories else {
            throw .data(
                "The trace has no categories, so there is nothing to test: give one with a category column.")
        }
        guard Self.labelsDiffer(trace) else {
            throw .data("Every object has the same categories, so there is nothing to test.")
        }
        if mode == .perUser {
            guard trace.hasUsers, !trace.users.contains(Trace.noUser) else {
                throw .data("Per-user caches need a user in every request.")
            }
        }
        distinct = Int(clamping: trace.distinctSize)
        self.capacities = capacities ?? Self.standardCapacities(mode, trace)
        var sizes: [Int: CapacityRequest] = [:]
        for capacity in self.capacities {
            let size = try capacity.resolved(unit: trace.sizeUnit, distinct: distinct)
            // The default shares may be equal in a tiny trace; the given ones may not.
            if let other = sizes.updateValue(capacity, forKey: size), capacities != nil {
                throw .usage(
                    "The capacities \(other.description) and \(capacity.description) are the same, which would count "
                        + "twice: give one of them.")
            }
        }
        self.mode = mode
        self.trace = trace
    }

    /// Returns a capacity in the trace's unit of sizes.
    func resolved(_ capacity: CapacityRequest) -> Int {
        // The initialiser has resolved every capacity once, so no resolution fails here.
        (try? capacity.resolved(unit: trace.sizeUnit, distinct: distinct)) ?? 0
    }

    /// Whether a cache of this capacity holds few objects, so that the right to refuse one matters.
    func isSmall(_ capacity: CapacityRequest) -> Bool {
        GapReferences.isSmall(resolved(capacity), objects: trace.objectCount, distinctSize: distinct)
    }

    private static func labelsDiffer(_ trace: Trace) -> Bool {
        let labels = trace.requestCategories.isEmpty ? trace.objectCategories : trace.requestCategories
        return labels.contains { $0 != labels[0] }
    }

    private static func standardCapacities(_ mode: ReplayMode, _ trace: Trace) -> [CapacityRequest] {
        switch mode {
        case .shared:
            return [1, 5, 10].map { .share(Double($0) / 100, text: "\($0)%") }
        case .perUser:
            let average = max(1, Int(clamping: trace.distinctSize) / max(1, trace.objectCount))
            return [20, 60, 100].map { .number($0 * average) }
        }
    }
}
