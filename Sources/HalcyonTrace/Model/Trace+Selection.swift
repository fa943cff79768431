extension Trace {
    /// A part of the trace as a trace of its own, renumbered as if it had been loaded alone.
    ///
    /// - Parameters:
    ///   - skip: how many requests to leave out from the start, of those that remain.
    ///   - limit: how many to keep at most.
    ///   - withUserOnly: whether requests without a user are left out before anything is counted.
    /// - Returns: the part, and how many requests were left out for want of a user. O(requests).
    public func selection(skip: Int = 0, limit: Int? = nil, withUserOnly: Bool = false)
        -> (trace: Trace, withoutUser: Int)
    {
        var positions: [Int] = []
        var withoutUser = 0
        if withUserOnly {
            for position in 0..<count {
                if user(ofRequest: position) == Trace.noUser { withoutUser += 1 } else { positions.append(position) }
            }
        } else {
            positions = Array(0..<count)
        }
        let kept = positions.dropFirst(max(0, skip)).prefix(max(0, limit ?? .max))
        if kept.count == count { return (self, 0) }
        return (part(Array(kept)), withoutUser)
    }

    private func part(_ positions: [Int]) -> Trace {
        var objects = Renumbering(count: objectCount)
        var owners = Renumbering(count: userCount)
        let entries = positions.map { objects.number(self.entries[$0]) }
        let users = hasUsers ? positions.map { owners.number(self.users[$0]) } : []
        var names = TraceNames()
        names.categories = self.names.categories
        if self.names.keys.count > 0 {
            for object in objects.kept { names.keys.append(utf8: self.names.keys.utf8(object)) }
        }
        if self.names.users.count > 0 {
            for user in owners.kept { names.users.append(utf8: self.names.users.utf8(user)) }
        }
        return Trace(
            entries: entries, times: TimeColumn(positions.map { times[$0] }), users: users,
            objectSizes: objects.kept.map { objectSizes[Int($0)] },
            requestSizes: requestSizes.isEmpty ? [] : positions.map { requestSizes[$0] },
            objectCategories: objectCategories.isEmpty ? [] : objects.kept.map { objectCategories[Int($0)] },
            requestCategories: requestCategories.isEmpty ? [] : positions.map { requestCategories[$0] },
            categorySets: categorySets, categoryCount: categoryCount, userCount: owners.kept.count,
            sizeUnit: sizeUnit, names: names, report: report)
    }
}

/// Numbers given anew, in the order in which the old ones are met.
private struct Renumbering {
    private var numbers: [UInt32]
    private(set) var kept: [UInt32] = []

    init(count: Int) { numbers = Array(repeating: .max, count: count) }

    /// The new number of `old`; `UInt32.max` stays what it is.
    mutating func number(_ old: UInt32) -> UInt32 {
        if old == .max { return old }
        if numbers[Int(old)] == .max {
            numbers[Int(old)] = UInt32(kept.count)
            kept.append(old)
        }
        return numbers[Int(old)]
    }
}
