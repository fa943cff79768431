import HalcyonTrace

/// A permutation of the category labels of a trace among its objects. A gain that remains under it does not depend on
/// which object has which category.
///
/// Every object gets the labels of one donor object, and each object is a donor exactly once. An object's labels are
/// therefore as stable as its donor's, and each set of labels has as many objects as before. The assignment of
/// requests to users and objects does not change. If objects change their categories, an object has at every moment
/// the donor's current set: that of the donor's latest request. Before the donor's first request, it is the set of
/// that first request.
package struct LabelPermutation: Sendable {
    /// The donor of each object.
    package let donors: [UInt32]

    /// Creates one of many permutations, each equally likely (Fisher and Yates). O(objects).
    ///
    /// - Parameters:
    ///   - objects: the number of objects.
    ///   - seed: the seed of all permutations.
    ///   - number: the number of the permutation.
    package init(objects: Int, seed: UInt64, number: Int) {
        var generator = SeededGenerator(seed: seed, stream: 0x1ABE1 &+ UInt64(number))
        var donors = (0..<objects).map { UInt32($0) }
        for index in stride(from: objects - 1, to: 0, by: -1) { donors.swapAt(index, generator.below(index + 1)) }
        self.donors = donors
    }

    /// Creates one of many permutations within strata, each equally likely. O(objects).
    ///
    /// - Parameters:
    ///   - strata: the strata; an object's donor is in its stratum.
    ///   - seed: the seed of all permutations.
    ///   - number: the number of the permutation.
    init(within strata: LabelStrata, objects: Int, seed: UInt64, number: Int) {
        var generator = SeededGenerator(seed: seed, stream: 0x1ABE1 &+ UInt64(number))
        var donors = (0..<objects).map { UInt32($0) }
        for members in strata.members {
            var order = members
            for index in stride(from: order.count - 1, to: 0, by: -1) {
                order.swapAt(index, generator.below(index + 1))
            }
            for (object, donor) in zip(members, order) { donors[Int(object)] = donor }
        }
        self.donors = donors
    }

    /// Returns the share of the objects whose donor has other labels than they at its first request, 0…1. O(objects).
    func shareChanged(in trace: Trace) -> Double {
        let labels = trace.objectCategories
        guard labels.count == donors.count, !donors.isEmpty else { return 0 }
        let changed = donors.indices.count { labels[$0] != labels[Int(donors[$0])] }
        return Double(changed) / Double(donors.count)
    }

    /// Creates a permutation from its donors.
    ///
    /// - Parameter donors: the donor of each object, each object once.
    init(donors: [UInt32]) { self.donors = donors }

    /// Returns the same requests with permuted labels. O(requests) if objects change their categories, otherwise
    /// O(objects).
    ///
    /// - Parameter trace: a trace with the same number of objects.
    package func applied(to trace: Trace) -> Trace {
        precondition(donors.count == trace.objectCount, "a donor for each object")
        var permuted = Trace(
            entries: trace.entries, times: trace.times, users: trace.users, objectSizes: trace.objectSizes,
            requestSizes: trace.requestSizes,
            objectCategories: trace.objectCategories.isEmpty ? [] : donors.map { trace.objectCategories[Int($0)] },
            requestCategories: trace.requestCategories.isEmpty ? [] : requestSets(of: trace),
            lifetimes: trace.lifetimes,
            categorySets: trace.categorySets, categoryCount: trace.categoryCount, userCount: trace.userCount,
            sizeUnit: trace.sizeUnit, names: trace.names, report: trace.report)
        permuted.warmupCount = trace.warmupCount
        return permuted
    }

    /// Returns the set of each request: that of its donor at that moment.
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

extension Trace {
    /// Returns the same requests with one category for all objects: what a learner knows without labels. O(objects).
    func withOneCategory() -> Trace {
        var sets = CategorySets()
        let only = sets.number(of: [0])
        var relabelled = Trace(
            entries: entries, times: times, users: users, objectSizes: objectSizes, requestSizes: requestSizes,
            objectCategories: Array(repeating: only, count: objectCount), lifetimes: lifetimes, categorySets: sets,
            categoryCount: 1,
            userCount: userCount, sizeUnit: sizeUnit, names: names, report: report)
        relabelled.warmupCount = warmupCount
        return relabelled
    }
}
