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

    /// Returns the share of the objects whose donor has other labels than they at its first row, 0…1. O(objects).
    func shareChanged(in trace: Trace) -> Double {
        let labels = trace.firstCategories
        guard labels.count == donors.count, !donors.isEmpty else { return 0 }
        let changed = donors.indices.count { labels[$0] != labels[Int(donors[$0])] }
        return Double(changed) / Double(donors.count)
    }

    /// Creates a permutation from its donors.
    ///
    /// - Parameter donors: the donor of each object, each object once.
    init(donors: [UInt32]) { self.donors = donors }

    /// Returns the same requests and lists with permuted labels. O(requests + items) if objects change their categories,
    /// otherwise O(objects + items).
    ///
    /// - Parameter trace: a trace with the same number of objects, those that are only shown included.
    package func applied(to trace: Trace) -> Trace {
        precondition(donors.count == trace.allObjectCount, "a donor for each object")
        let labels = trace.firstCategories
        let lists = trace.lists.flatMap { $0.categories.isEmpty ? nil : $0 }
        let areStable =
            trace.requestCategories.isEmpty
            && (lists.map { zip($0.objects, $0.categories).allSatisfy { labels[Int($0)] == $1 } } ?? true)
        var objects = labels.isEmpty ? [] : donors.prefix(trace.objectCount).map { labels[Int($0)] }
        var requests: [UInt32] = []
        var items = lists.map { $0.objects.map { labels[Int(donors[Int($0)])] } } ?? []
        if !areStable {
            (requests, items) = sets(of: trace, lists)
            if trace.requestCategories.isEmpty {
                // The labels of requests are as stable as before unless they now follow those of a list.
                for (position, object) in trace.entries.enumerated().reversed() {
                    objects[Int(object)] = requests[position]
                }
                if zip(trace.entries, requests).allSatisfy({ objects[Int($0)] == $1 }) { requests = [] }
            }
        }
        return trace.relabelled(
            objects: trace.objectCategories.isEmpty && requests.isEmpty ? [] : objects, requests: requests,
            items: items, trace.categorySets, count: trace.categoryCount)
    }

    /// Returns the set of each request and of each item of a list: that of its donor at that moment.
    private func sets(of trace: Trace, _ lists: ShownLists?) -> (requests: [UInt32], items: [UInt32]) {
        var current = trace.firstRowCategories
        var requests: [UInt32] = []
        var items: [UInt32] = []
        var list = 0
        for position in 0...trace.count {
            while let lists, list < lists.count, lists.positions[list] <= position {
                let range = lists.items(of: list)
                for item in range { current[Int(lists.objects[item])] = lists.categories[item] }
                items += range.map { current[Int(donors[Int(lists.objects[$0])])] }
                list += 1
            }
            if position == trace.count { break }
            let object = Int(trace.entries[position])
            current[object] = trace.categorySet(ofRequest: position)
            requests.append(current[Int(donors[object])])
        }
        return (requests, items)
    }
}

extension Trace {
    /// The category set of each object by its first request, or by its first showing if it is only shown; empty if no row has
    /// categories. O(objects + items).
    fileprivate var firstCategories: [UInt32] {
        let shown = lists?.categories ?? []
        if objectCategories.isEmpty, shown.isEmpty { return [] }
        var sets = objectCategories.isEmpty ? Array(repeating: 0, count: objectCount) : objectCategories
        sets += Array(repeating: .max, count: allObjectCount - objectCount)
        for (object, set) in zip(lists?.objects ?? [], shown) where sets[Int(object)] == .max {
            sets[Int(object)] = set
        }
        return sets.map { $0 == .max ? 0 : $0 }
    }

    /// The category set of each object in its first row, a request or an item of a list. O(requests + items).
    fileprivate var firstRowCategories: [UInt32] {
        var sets = [UInt32](repeating: .max, count: allObjectCount)
        let shown = lists?.categories ?? []
        var list = 0
        for position in 0...count {
            while let lists, !shown.isEmpty, list < lists.count, lists.positions[list] <= position {
                for item in lists.items(of: list) where sets[Int(lists.objects[item])] == .max {
                    sets[Int(lists.objects[item])] = shown[item]
                }
                list += 1
            }
            if position < count, sets[Int(entries[position])] == .max {
                sets[Int(entries[position])] = categorySet(ofRequest: position)
            }
        }
        return sets.map { $0 == .max ? 0 : $0 }
    }

    /// Returns the same requests and lists with other labels.
    fileprivate func relabelled(
        objects: [UInt32], requests: [UInt32], items: [UInt32], _ sets: CategorySets, count: Int
    ) -> Trace {
        var relabelled = Trace(
            entries: entries, times: times, users: users, objectSizes: objectSizes, requestSizes: requestSizes,
            objectCategories: objects, requestCategories: requests, lifetimes: lifetimes, categorySets: sets,
            categoryCount: count, userCount: userCount, sizeUnit: sizeUnit, names: names, report: report,
            lists: lists?.relabelled(items))
        relabelled.warmupCount = warmupCount
        return relabelled
    }

    /// Returns the same requests and lists with one category for all objects: what a learner knows without labels.
    /// O(objects + items).
    func withOneCategory() -> Trace {
        var sets = CategorySets()
        let only = sets.number(of: [0])
        return relabelled(
            objects: Array(repeating: only, count: objectCount), requests: [],
            items: Array(repeating: only, count: lists?.itemCount ?? 0), sets, count: 1)
    }
}
