import HalcyonEviction
import HalcyonTrace

/// The requests of a trace divided among the users' own caches.
///
/// Each user's objects are numbered densely from 0 in the order in which the user first asks for them, so that a
/// thousand small caches take the memory of their own objects and not of everybody's. Built once a trace, in
/// O(requests + objects); 8 bytes a request.
package struct FleetPlan: Sendable {
    /// The positions of all requests, user by user, in order of time within each.
    let positions: [UInt32]
    /// For each of ``positions`` the object as its user's cache numbers it.
    let entries: [EntryID]
    /// Where each user's requests begin in ``positions``; one more than there are users.
    let starts: [Int]
    /// The number of distinct objects of each user.
    let objectCounts: [Int]

    /// - Parameter trace: a trace in which every request has a user.
    package init(_ trace: Trace) {
        let userCount = trace.userCount
        var starts = [Int](repeating: 0, count: userCount + 1)
        for user in trace.users { starts[Int(user) + 1] += 1 }
        for user in 0..<userCount { starts[user + 1] += starts[user] }
        var next = starts
        var positions = [UInt32](repeating: 0, count: trace.count)
        for (position, user) in trace.users.enumerated() {
            positions[next[Int(user)]] = UInt32(truncatingIfNeeded: position)
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

    /// The number of caches.
    var userCount: Int { objectCounts.count }
}
