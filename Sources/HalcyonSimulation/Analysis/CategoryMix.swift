import HalcyonTrace

/// How a trace's requests spread over categories, and how they keep to them.
public struct CategoryMix: Sendable, Codable, Equatable {
    /// The number of distinct categories.
    public let count: Int
    /// The share of requests that carry a category.
    public let categorised: Double
    /// The most requested categories. A request of several categories counts for each of them.
    public let top: [TraceInspection.Share]
    /// How requests follow the category of the user's previous one; nil if no two requests can be compared.
    public let persistence: Persistence?

    /// How often a request shares a category with the same user's previous one (in a trace without users, with the
    /// previous request). Requests without categories are left out.
    public struct Persistence: Sendable, Codable, Equatable {
        /// The pairs of successive requests.
        public let pairs: Int
        /// The share of pairs that have a category in common.
        public let sameAsPrevious: Double
        /// The same over pairs of different objects, as an object is always in its own category.
        public let sameAsPreviousOtherObject: Double
        /// How often two requests drawn at random from the whole trace have one in common: the sum of the squared
        /// shares where every request has one category.
        public let chance: Double
    }

    init?(of trace: Trace, top: Int) {
        guard trace.hasCategories else { return nil }
        count = trace.categoryCount
        let sets = trace.categorySets
        var setCounts = [Int](repeating: 0, count: sets.count)
        for index in 0..<trace.count { setCounts[Int(trace.categorySet(ofRequest: index))] += 1 }
        var categoryCounts = [Int](repeating: 0, count: trace.categoryCount)
        for (set, requests) in setCounts.enumerated() where requests > 0 {
            for category in sets[UInt32(set)] { categoryCounts[Int(category)] += requests }
        }
        let tagged = trace.count - setCounts[0]
        categorised = Double(tagged) / Double(max(1, trace.count))
        self.top = TraceInspection.largest(
            categoryCounts, of: trace.count, top: top, names: trace.names.categories)
        persistence = Persistence(of: trace, chance: CategoryMix.chance(setCounts: setCounts, sets: sets))
    }

    /// The probability that two independent requests with categories share one. O(sets · sets that share a category).
    private static func chance(setCounts: [Int], sets: CategorySets) -> Double {
        let total = Double(setCounts.dropFirst().reduce(0, +))
        guard total > 0 else { return 0 }
        var setsOfCategory: [UInt32: [Int]] = [:]
        for set in 1..<max(1, sets.count) where setCounts[set] > 0 {
            for category in sets[UInt32(set)] { setsOfCategory[category, default: []].append(set) }
        }
        var lastSeenFrom = [Int](repeating: 0, count: sets.count)
        var chance = 0.0
        for set in 1..<max(1, sets.count) where setCounts[set] > 0 {
            var sharing = 0
            for category in sets[UInt32(set)] {
                for other in setsOfCategory[category, default: []] where lastSeenFrom[other] != set {
                    lastSeenFrom[other] = set
                    sharing += setCounts[other]
                }
            }
            chance += Double(setCounts[set]) / total * (Double(sharing) / total)
        }
        return chance
    }
}

extension CategoryMix.Persistence {
    fileprivate init?(of trace: Trace, chance: Double) {
        var previous = [Int](repeating: -1, count: trace.hasUsers ? trace.userCount : 1)
        var pairs = 0
        var same = 0
        var otherPairs = 0
        var otherSame = 0
        for index in 0..<trace.count {
            let set = trace.categorySet(ofRequest: index)
            let user = trace.hasUsers ? trace.user(ofRequest: index) : 0
            if set == 0 || user == Trace.noUser { continue }
            let before = previous[Int(user)]
            previous[Int(user)] = index
            if before < 0 { continue }
            let beforeSet = trace.categorySet(ofRequest: before)
            let shares =
                set == beforeSet || trace.categorySets[set].contains { trace.categorySets[beforeSet].contains($0) }
            pairs += 1
            same += shares ? 1 : 0
            if trace.entries[index] != trace.entries[before] {
                otherPairs += 1
                otherSame += shares ? 1 : 0
            }
        }
        guard pairs > 0 else { return nil }
        self.pairs = pairs
        sameAsPrevious = Double(same) / Double(pairs)
        sameAsPreviousOtherObject = Double(otherSame) / Double(max(1, otherPairs))
        self.chance = chance
    }
}
