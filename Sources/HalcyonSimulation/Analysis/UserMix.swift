import HalcyonTrace

/// How a trace's requests spread over users, and how far users come back to what they have seen.
public struct UserMix: Sendable, Codable, Equatable {
    /// The number of distinct users.
    public let count: Int
    /// The requests whose user is not known.
    public let requestsWithoutUser: Int
    /// The users with the most requests.
    public let top: [TraceInspection.Share]
    /// The share of the requests with a user whose object that user has requested before.
    public let reaccess: Double
    /// The share of the requests with a user that ask for the very object of that user's previous request.
    public let immediateRepeats: Double

    init?(of trace: Trace, top: Int) {
        guard trace.hasUsers else { return nil }
        count = trace.userCount
        var counts = [Int](repeating: 0, count: trace.userCount)
        var last = [UInt32](repeating: .max, count: trace.userCount)
        var pairs: [UInt64] = []
        pairs.reserveCapacity(trace.count)
        var repeats = 0
        for index in 0..<trace.count {
            let user = trace.users[index]
            if user == Trace.noUser { continue }
            let entry = trace.entries[index]
            counts[Int(user)] += 1
            if last[Int(user)] == entry { repeats += 1 }
            last[Int(user)] = entry
            pairs.append(UInt64(user) << 32 | UInt64(entry))
        }
        pairs.sort()
        var distinct = pairs.isEmpty ? 0 : 1
        for index in pairs.indices.dropFirst() where pairs[index] != pairs[index - 1] { distinct += 1 }
        let known = Double(max(1, pairs.count))
        requestsWithoutUser = trace.count - pairs.count
        self.top = TraceInspection.largest(counts, of: trace.count, top: top, names: trace.names.users)
        reaccess = Double(pairs.count - distinct) / known
        immediateRepeats = Double(repeats) / known
    }
}
