import HalcyonTrace

/// The category labels of a trace handed to other objects: what is left of a gain under it owes nothing to which object
/// has which category.
///
/// Every object gets the labels of one other object (or keeps its own), each object's labels being handed out exactly
/// once. So an object's labels are as stable as its donor's, and as many objects as before carry each set of labels;
/// which requests, users and objects belong together is left alone. Where objects change their categories, an object
/// has at every moment what its donor has then: the set of the donor's latest request, or before the donor's first
/// request the set of that first one.
public struct LabelPermutation: Sendable {
    /// For each object, whose labels it gets.
    public let donors: [UInt32]

    /// One of many permutations, each equally likely (Fisher and Yates). O(objects).
    ///
    /// - Parameters:
    ///   - objects: how many objects there are.
    ///   - seed: the seed of all permutations.
    ///   - number: which of them.
    public init(objects: Int, seed: UInt64, number: Int) {
        var generator = SeededGenerator(seed: seed, stream: 0x1ABE1 &+ UInt64(number))
        var donors = (0..<objects).map { UInt32($0) }
        for index in stride(from: objects - 1, to: 0, by: -1) { donors.swapAt(index, generator.below(index + 1)) }
        self.donors = donors
    }

    /// A permutation as stated.
    ///
    /// - Parameter donors: each object once.
    init(donors: [UInt32]) { self.donors = donors }

    /// The same requests with the labels handed on. O(requests) where objects change their categories, else O(objects).
    ///
    /// - Parameter trace: a trace of as many objects.
    public func applied(to trace: Trace) -> Trace {
        precondition(donors.count == trace.objectCount, "a donor for each object")
        return Trace(
            entries: trace.entries, times: trace.times, users: trace.users, objectSizes: trace.objectSizes,
            requestSizes: trace.requestSizes,
            objectCategories: trace.objectCategories.isEmpty ? [] : donors.map { trace.objectCategories[Int($0)] },
            requestCategories: trace.requestCategories.isEmpty ? [] : requestSets(of: trace),
            categorySets: trace.categorySets, categoryCount: trace.categoryCount, userCount: trace.userCount,
            sizeUnit: trace.sizeUnit, names: trace.names, report: trace.report)
    }

    /// What each request's object gets from its donor at that moment.
    private func requestSets(of trace: Trace) -> [UInt32] {
        let unknown = UInt32.max
        var current = [UInt32](repeating: unknown, count: trace.objectCount)
        for (position, object) in trace.entries.enumerated() where current[Int(object)] == unknown {
            current[Int(object)] = trace.requestCategories[position]
        }
        for object in current.indices where current[object] == unknown { current[object] = 0 }
        return trace.entries.enumerated().map { position, object in
            current[Int(object)] = trace.requestCategories[position]
            return current[Int(donors[Int(object)])]
        }
    }
}
