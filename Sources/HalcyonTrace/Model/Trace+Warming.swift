extension Trace {
    /// Returns the requests of a warm-up trace, then those of this trace, as one trace with one numbering of keys,
    /// users and categories.
    ///
    /// Both traces need their names (``TraceLoadOptions/names``): objects with equal keys are one object, which keeps
    /// the size and the categories of its first request as in one file. If the warm-up trace ends after this trace
    /// begins, its times are
    /// moved back so that its last request is at the time of this trace's first. Two traces without times get one
    /// second a request. ``warmupCount`` is the number of requests of the warm-up trace. O(requests).
    ///
    /// - Parameter first: the warm-up trace. An empty one changes nothing.
    /// - Throws: ``TraceError`` if one trace has sizes and the other has none, or the keys are not known.
    public func warmed(by first: Trace) throws(TraceError) -> Trace {
        if first.count == 0 || count == 0 { return self }
        guard first.sizeUnit == sizeUnit else {
            let (with, without) =
                sizeUnit == .bytes ? ("the trace", "the warm-up trace") : ("the warm-up trace", "the trace")
            throw TraceError(
                file: "",
                message: "\(with) has sizes and \(without) has none: give both, or count objects with --sizes unit")
        }
        guard first.names.keys.count == first.objectCount, names.keys.count == objectCount,
            first.names.users.count == first.userCount, names.users.count == userCount
        else { throw TraceError(file: "", message: "a warm-up trace needs the names of keys and users") }
        var names = TraceNames()
        let objects = JoinedNumbers(first.names.keys, self.names.keys)
        let owners = JoinedNumbers(first.names.users, self.names.users)
        let kinds = JoinedNumbers(first.names.categories, self.names.categories)
        (names.keys, names.users, names.categories) = (objects.names, owners.names, kinds.names)
        let entries = first.entries + self.entries.map { objects.numbers[Int($0)] }
        var users: [UInt32] = []
        if first.hasUsers || hasUsers {
            users = (0..<first.count).map { first.user(ofRequest: $0) }
            users += (0..<count).map { index in
                let user = user(ofRequest: index)
                return user == Trace.noUser ? user : owners.numbers[Int(user)]
            }
        }
        var sizes = first.objectSizes
        for (object, number) in objects.numbers.enumerated() where Int(number) == sizes.count {
            sizes.append(objectSizes[object])
        }
        var requestSizes: [UInt32] = []
        if !first.requestSizes.isEmpty || !self.requestSizes.isEmpty {
            requestSizes = (0..<first.count).map { UInt32(clamping: first.size(ofRequest: $0)) }
            requestSizes += (0..<count).map { UInt32(clamping: size(ofRequest: $0)) }
        }
        var sets = first.categorySets
        let setNumbers = (0..<UInt32(categorySets.count)).map { set in
            sets.number(of: categorySets[set].map { kinds.numbers[Int($0)] })
        }
        let hasCategories = kinds.names.count > 0
        var objectSets = [UInt32](repeating: .max, count: hasCategories ? sizes.count : 0)
        var requestSets: [UInt32] = []
        if hasCategories {
            requestSets = (0..<first.count).map { first.categorySet(ofRequest: $0) }
            requestSets += (0..<count).map { setNumbers[Int(categorySet(ofRequest: $0))] }
            for (entry, set) in zip(entries, requestSets) where objectSets[Int(entry)] == .max {
                objectSets[Int(entry)] = set
            }
            if zip(entries, requestSets).allSatisfy({ objectSets[Int($0)] == $1 }) { requestSets = [] }
        }
        var lifetimes: [UInt32] = []
        if !first.lifetimes.isEmpty || !self.lifetimes.isEmpty {
            lifetimes = first.lifetimes.isEmpty ? Array(repeating: 0, count: first.count) : first.lifetimes
            lifetimes += self.lifetimes.isEmpty ? Array(repeating: 0, count: count) : self.lifetimes
        }
        var report = report
        report.noTimes = report.noTimes && first.report.noTimes
        var joined = Trace(
            entries: entries, times: joinedTimes(after: first), users: users, objectSizes: sizes,
            requestSizes: requestSizes, objectCategories: objectSets, requestCategories: requestSets,
            lifetimes: lifetimes, categorySets: sets, categoryCount: kinds.names.count, userCount: owners.names.count,
            sizeUnit: sizeUnit,
            names: names, report: report)
        joined.warmupCount = first.count
        return joined
    }

    private func joinedTimes(after first: Trace) -> TimeColumn {
        if report.noTimes, first.report.noTimes { return TimeColumn(count: first.count + count) }
        let shift = Swift.min(0, times[0] - first.times[first.count - 1])
        return TimeColumn(first.times.map { $0 + shift } + times)
    }
}

/// The names of two tables in one, and the numbers in it of the second table's names.
private struct JoinedNumbers {
    var names: StringTable
    var numbers: [UInt32] = []

    init(_ first: StringTable, _ second: StringTable) {
        names = first
        var known: [ArraySlice<UInt8>: UInt32] = [:]
        for number in 0..<UInt32(first.count) { known[first.utf8(number)] = number }
        for number in 0..<UInt32(second.count) {
            let name = second.utf8(number)
            if let number = known[name] {
                numbers.append(number)
            } else {
                numbers.append(names.append(utf8: name))
            }
        }
    }
}
