import HalcyonSupport

extension Trace {
    /// The delay by default: 2 s, in which a look at a list and a fetch of some of its images fit.
    package static let standardOpenDelay = TimeSpan(microseconds: 2_000_000)

    /// Returns the trace with openings that have the time of their list moved later, and how many these are.
    ///
    /// A request is such an opening if the last list of its user before it that contains its object has its time. A source
    /// that records one time for both does not say how long its user looked at the list, and no fetch takes no time. The
    /// requests are sorted again (equal times keep their order) and renumbered; lists keep their times. A trace without
    /// lists or without times is returned as it is. O(items + requests · log requests) expected.
    ///
    /// - Parameter delay: the time between a list and such an opening; 0 changes nothing.
    package func delayingOpenings(by delay: TimeSpan = standardOpenDelay) -> (trace: Trace, moved: Int) {
        guard let lists, delay.microseconds > 0, !report.noTimes else { return (self, 0) }
        var shown: [UInt64: Int64] = [:]
        var list = 0
        var moved = 0
        var newTimes = Array(times)
        for request in 0..<count {
            while list < lists.count, lists.positions[list] <= request {
                let user = UInt64(lists.users[list]) << 32
                for object in lists.objects[lists.items(of: list)] { shown[user | UInt64(object)] = lists.times[list] }
                list += 1
            }
            let key = UInt64(user(ofRequest: request)) << 32 | UInt64(entries[request])
            guard shown[key] == times[request] else { continue }
            newTimes[request] += delay.microseconds
            moved += 1
        }
        if moved == 0 { return (self, 0) }
        let order = newTimes.indices.sorted { (newTimes[$0], $0) < (newTimes[$1], $1) }
        var before = 0
        let placed = lists.elements.map { list in
            while before < count, (newTimes[order[before]], order[before]) < (list.time, list.position) { before += 1 }
            var list = list
            list.position = before
            return list
        }
        return (part(order, times: newTimes, lists: placed), moved)
    }
}
