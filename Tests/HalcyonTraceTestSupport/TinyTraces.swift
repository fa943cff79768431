import HalcyonTrace

/// Traces small enough to work by hand.
public enum TinyTraces {
    /// Objects by number, one a second, each counting 1.
    public static func unit(_ entries: [UInt32], users: [UInt32] = []) -> Trace {
        Trace(
            entries: entries, times: TimeColumn(count: entries.count), users: users,
            objectSizes: Array(repeating: 1, count: Int(entries.max() ?? 0) + 1),
            userCount: Int(users.filter { $0 != Trace.noUser }.max().map { $0 + 1 } ?? 0))
    }

    /// Objects of these sizes in bytes.
    public static func sized(_ entries: [UInt32], sizes: [UInt64], times: [Int64]? = nil) -> Trace {
        Trace(
            entries: entries, times: times.map { TimeColumn($0) } ?? TimeColumn(count: entries.count),
            objectSizes: sizes, sizeUnit: .bytes)
    }

    /// A fixed sequence that looks random: squares modulo a prime, dense and in order of first request.
    public static func scrambled(count: Int, objects: UInt32, users: UInt32 = 0) -> Trace {
        var state: UInt64 = 12_345
        var numbers: [UInt32: UInt32] = [:]
        var entries: [UInt32] = []
        var owners: [UInt32] = []
        var ownerNumbers: [UInt32: UInt32] = [:]
        for _ in 0..<count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let draw = UInt32(truncatingIfNeeded: state >> 40)
            let object = min(draw % objects, (draw >> 8) % objects)
            let next = UInt32(numbers.count)
            entries.append(numbers[object, default: next])
            numbers[object] = entries[entries.count - 1]
            if users > 0 {
                let user = (draw >> 3) % users
                let nextUser = UInt32(ownerNumbers.count)
                owners.append(ownerNumbers[user, default: nextUser])
                ownerNumbers[user] = owners[owners.count - 1]
            }
        }
        return Trace(
            entries: entries, times: TimeColumn(count: count), users: owners,
            objectSizes: Array(repeating: 1, count: numbers.count), userCount: ownerNumbers.count)
    }
}

/// LRU by the book: an array, most recent first. Independent of the code under test.
public func bookLRUHits(_ entries: some Sequence<UInt32>, capacity: Int) -> [Bool] {
    var stack: [UInt32] = []
    return entries.map { entry in
        if let place = stack.firstIndex(of: entry) {
            stack.remove(at: place)
            stack.insert(entry, at: 0)
            return true
        }
        if stack.count == capacity { stack.removeLast() }
        stack.insert(entry, at: 0)
        return false
    }
}
