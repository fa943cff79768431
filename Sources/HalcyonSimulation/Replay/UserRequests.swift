import HalcyonEviction
import HalcyonTrace

/// The requests of a trace by user, for per-user caches.
///
/// The objects of each user are numbered densely from 0 by first request. A thousand small caches therefore use
/// memory for their own objects only. Built once per trace, in O(requests + objects); 8 bytes per request.
struct UserRequests: Sendable {
    /// The positions of all requests, user by user, in order of time within each. ``ReplayLimits/positions`` are the most.
    let positions: [UInt32]
    /// The entry of each of ``positions``: the object as the user's cache numbers it.
    let entries: [EntryID]
    /// The index in ``positions`` where each user's requests begin, and the total as the last element.
    let starts: [Int]
    /// The number of distinct objects of each user.
    let objectCounts: [Int]

    /// - Parameter trace: a trace in which every request has a user.
    init(_ trace: Trace) {
        let userCount = trace.userCount
        var starts = [Int](repeating: 0, count: userCount + 1)
        for user in trace.users { starts[Int(user) + 1] += 1 }
        for user in 0..<userCount { starts[user + 1] += starts[user] }
        var next = starts
        var positions = [UInt32](repeating: 0, count: trace.count)
        for (position, user) in trace.users.enumerated() {
            positions[next[Int(user)]] = UInt32(position)
            next[Int(user)] += 1
        }

        var entries = [EntryID](repeating: 0, count: trace.count)
        var objectCounts = [Int](repeating: 0, count: userCount)
        var number = [EntryID](repeating: 0, count: trace.objectCount)
        var owner = [UInt32](repeating: .max, count: trace.objectCount)
        for user in 0..<userCount {
            var distinct: EntryID = 0
            for index in starts[user]..<starts[user + 1] {
                let object = Int(trace.entries[Int(positions[index])])
                if owner[object] != UInt32(user) {
                    owner[object] = UInt32(user)
                    number[object] = distinct
                    distinct += 1
                }
                entries[index] = number[object]
            }
            objectCounts[user] = Int(distinct)
        }
        self.starts = starts
        self.positions = positions
        self.entries = entries
        self.objectCounts = objectCounts
    }

    /// The number of users.
    var userCount: Int { objectCounts.count }

    /// ``entries`` in order of time. O(requests).
    var entriesByTime: [EntryID] {
        var byTime = [EntryID](repeating: 0, count: entries.count)
        for (index, position) in positions.enumerated() { byTime[Int(position)] = entries[index] }
        return byTime
    }
}
