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
        let objects = JoinedNumbers(first, self, \.keys)
        let owners = JoinedNumbers(first, self, \.users)
        let kinds = JoinedNumbers(first, self, \.categories)
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
        for (object, number) in objects.numbers.prefix(objectCount).enumerated() where Int(number) == sizes.count {
            sizes.append(objectSizes[object])
        }
        var requestSizes: [UInt32] = []
        if !first.requestSizes.isEmpty || !self.requestSizes.isEmpty {
            requestSizes = (0..<first.count).map { UInt32(clamping: first.size(ofRequest: $0)) }
            requestSizes += (0..<count).map { UInt32(clamping: size(ofRequest: $0)) }
        }
        // The categories that only lists have move behind those of the requests of both.
        var sets = CategorySets()
        for set in 0..<UInt32(first.categorySets.count) {
            _ = sets.number(of: first.categorySets[set].map { kinds.firstNumbers[Int($0)] })
        }
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
        let times = joinedTimes(after: first)
        var joined = Trace(
            entries: entries, times: times, users: users, objectSizes: sizes,
            requestSizes: requestSizes, objectCategories: objectSets, requestCategories: requestSets,
            lifetimes: lifetimes, categorySets: sets, categoryCount: kinds.names.count, userCount: owners.names.count,
            sizeUnit: sizeUnit,
            names: names, report: report,
            lists: joinedLists(after: first, times, objects, owners, kinds, setNumbers, noTimes: report.noTimes))
        joined.warmupCount = first.count
        return joined
    }

    /// Returns the lists of both traces. Each is at its time, or at the nearest between the requests around it.
    private func joinedLists(
        after first: Trace, _ times: TimeColumn, _ objects: JoinedNumbers, _ owners: JoinedNumbers,
        _ kinds: JoinedNumbers, _ sets: [UInt32], noTimes: Bool
    ) -> ShownLists? {
        if first.lists == nil, lists == nil { return nil }
        let shift = times[0] - first.times[0]
        var elements = (first.lists?.elements ?? []).map { list in
            var list = list
            list.objects = list.objects.map { objects.firstNumbers[Int($0)] }
            if list.user != Trace.noUser { list.user = owners.firstNumbers[Int(list.user)] }
            list.time += shift
            return list
        }
        for var list in lists?.elements ?? [] {
            list.position += first.count
            list.objects = list.objects.map { objects.numbers[Int($0)] }
            list.categories = list.categories.map { sets[Int($0)] }
            if list.user != Trace.noUser { list.user = owners.numbers[Int(list.user)] }
            elements.append(list)
        }
        let hasCategories = kinds.names.count + kinds.added.count > 0
        var latest = Int64.min
        for index in elements.indices {
            let position = elements[index].position
            if noTimes {
                elements[index].time = (Int64(position) - 1) * 1_000_000
            } else {
                if position < times.count { elements[index].time = min(elements[index].time, times[position]) }
                if position > 0 { latest = max(latest, times[position - 1]) }
                elements[index].time = max(elements[index].time, latest)
                latest = elements[index].time
            }
            if hasCategories, elements[index].categories.isEmpty {
                elements[index].categories = elements[index].objects.map { _ in 0 }
            }
        }
        var sizes = [UInt64](repeating: 0, count: objects.added.count)
        for (trace, numbers) in [(self, objects.numbers), (first, objects.firstNumbers)] {
            for (object, number) in numbers.enumerated() where Int(number) >= objects.names.count {
                sizes[Int(number) - objects.names.count] = trace.size(ofObject: UInt32(object))
            }
        }
        var names = TraceNames()
        (names.keys, names.users, names.categories) = (objects.added, owners.added, kinds.added)
        return ShownLists(elements, shownOnlySizes: sizes, names: names)
    }

    private func joinedTimes(after first: Trace) -> TimeColumn {
        if report.noTimes, first.report.noTimes { return TimeColumn(count: first.count + count) }
        let shift = Swift.min(0, times[0] - first.times[first.count - 1])
        return TimeColumn(first.times.map { $0 + shift } + times)
    }
}

/// The names of two traces in one table: those of requests, and after them those that only lists have.
private struct JoinedNumbers {
    /// The names of requests.
    var names: StringTable
    /// The names that only lists have; they are numbered after ``names``.
    var added = StringTable()
    /// The numbers of the first trace's names, and of those that only its lists have.
    var firstNumbers: [UInt32]
    /// The same of the second trace.
    var numbers: [UInt32] = []

    init(_ first: Trace, _ second: Trace, _ table: KeyPath<TraceNames, StringTable>) {
        names = first.names[keyPath: table]
        var known: [ArraySlice<UInt8>: UInt32] = [:]
        for number in 0..<UInt32(names.count) { known[names.utf8(number)] = number }
        firstNumbers = (0..<UInt32(names.count)).map { $0 }
        let others = second.names[keyPath: table]
        for number in 0..<UInt32(others.count) {
            let name = others.utf8(number)
            numbers.append(known[name] ?? names.append(utf8: name))
        }
        for number in UInt32(firstNumbers.count)..<UInt32(names.count) { known[names.utf8(number)] = number }
        func add(_ shown: StringTable?, to numbers: inout [UInt32]) {
            guard let shown else { return }
            for number in 0..<UInt32(shown.count) {
                let name = shown.utf8(number)
                let next = UInt32(names.count + added.count)
                numbers.append(known[name] ?? next)
                if numbers.last == next {
                    added.append(utf8: name)
                    known[name] = next
                }
            }
        }
        add(first.lists?.names[keyPath: table], to: &firstNumbers)
        add(second.lists?.names[keyPath: table], to: &numbers)
    }
}
