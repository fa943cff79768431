import HalcyonSupport
import HalcyonTrace

/// The distribution of a trace's requests over categories, and how often successive requests share one.
package struct CategoryMix: Sendable, Codable, Equatable {
    /// The number of distinct categories.
    package let count: Int
    /// The ratio of requests with a category to all requests.
    package let categorised: Double
    /// The most requested categories. A request with several categories counts for each.
    package let top: [TraceInspection.Share]
    /// The category persistence of successive requests. Nil if no two requests can be compared.
    package let persistence: Persistence?
    /// How much the rates of reuse differ between categories. Nil if no request that counts has a category.
    package let reuse: Reuse?

    /// How often a request shares a category with the same user's previous one; in a trace without users, with the
    /// previous request. Requests without categories are skipped.
    package struct Persistence: Sendable, Codable, Equatable {
        /// The number of pairs of successive requests.
        package let pairs: Int
        /// The ratio of pairs with a common category to all pairs.
        package let sameAsPrevious: Double
        /// The same ratio over pairs of different objects, because an object always shares its own category.
        package let sameAsPreviousOtherObject: Double
        /// The probability that two random requests of the trace have a common category. If every request has one
        /// category, this is the sum of the squared shares.
        package let chance: Double
    }

    /// The rates of reuse of categories: of the requests for a category, the share whose object was requested before, by the same
    /// user if the trace has users. A request with several categories counts for each; requests without a user do not count if
    /// others have one.
    ///
    /// Categories are sorted by rate and weighted by their requests, so that rare categories with extreme rates do not decide.
    package struct Reuse: Sendable, Codable, Equatable {
        /// The lowest rate such that categories of at most this rate have at least 10 % of the requests.
        package let low: Double
        /// The same for 90 %.
        package let high: Double
        /// ``high`` / ``low``: the factor R by which rates of reuse differ. Nil if ``low`` is 0.
        package let ratio: Double?
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
        reuse = Reuse(of: trace)
    }

    /// Returns the probability that two independent requests with categories share one. O(sets · sets that share a
    /// category).
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

extension CategoryMix.Reuse {
    /// Measures the rates. O(requests + categories · log categories).
    fileprivate init?(of trace: Trace) {
        var requests = [Int](repeating: 0, count: trace.categoryCount)
        var repeated = [Int](repeating: 0, count: trace.categoryCount)
        // User by user, so that one number an object says who requested it last.
        var order = Array(0..<trace.count)
        if trace.hasUsers {
            var starts = [Int](repeating: 0, count: trace.userCount + 1)
            for user in trace.users where user != Trace.noUser { starts[Int(user) + 1] += 1 }
            for user in 0..<trace.userCount { starts[user + 1] += starts[user] }
            order = Array(repeating: 0, count: starts[trace.userCount])
            for (request, user) in trace.users.enumerated() where user != Trace.noUser {
                order[starts[Int(user)]] = request
                starts[Int(user)] += 1
            }
        }
        var owner = [UInt32?](repeating: nil, count: trace.objectCount)
        for request in order {
            let (user, object) = (trace.user(ofRequest: request), Int(trace.entries[request]))
            let isRepeat = owner[object] == user
            owner[object] = user
            for category in trace.categorySets[trace.categorySet(ofRequest: request)] {
                requests[Int(category)] += 1
                if isRepeat { repeated[Int(category)] += 1 }
            }
        }
        let total = requests.reduce(0, +)
        if total == 0 { return nil }
        let rates = requests.indices.filter { requests[$0] > 0 }
            .map { (rate: Double(repeated[$0]) / Double(requests[$0]), requests: requests[$0]) }
            .sorted { $0 < $1 }
        func percentile(_ percent: Int) -> Double {
            var sum = 0
            for (rate, count) in rates {
                sum += count
                if sum * 100 >= total * percent { return rate }
            }
            return 0
        }
        (low, high) = (percentile(10), percentile(90))
        ratio = low > 0 ? high / low : nil
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

/// The distribution of a trace's requests over users, and how often users request an object again.
package struct UserMix: Sendable, Codable, Equatable {
    /// The number of distinct users.
    package let count: Int
    /// The number of requests without a user.
    package let requestsWithoutUser: Int
    /// The users with the most requests.
    package let top: [TraceInspection.Share]
    /// Among the requests with a user, the share whose object that user requested before.
    package let reaccess: Double
    /// Among the requests with a user, the share that repeats the object of that user's previous request.
    package let immediateRepeats: Double

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

/// The slope α of Zipf's law, fitted to a trace.
///
/// The fit is a least-squares line through ln(frequency) against ln(rank). It uses the objects that are requested at
/// least ``minimumCount`` times. Each rank is weighted by 1 / rank, so that every octave of ranks has the same
/// weight. Rarer objects are excluded, because their ranks depend more on the trace's length than on their
/// popularity.
package struct PopularitySlope: Sendable, Codable, Equatable {
    /// The fitted α: the frequency of the object of rank r is proportional to r to the power of -α.
    package let alpha: Double
    /// The share of the weighted variance that the line explains, 0…1.
    package let rSquared: Double
    /// The number of objects in the fit.
    package let objects: Int

    /// The minimum number of requests of an object in the fit.
    package static let minimumCount = 5

    /// Fits the slope to the request counts of objects; `nil` if fewer than three qualify. O(n log n).
    package init?(counts: [Int]) {
        let frequent = counts.filter { $0 >= PopularitySlope.minimumCount }.sorted(by: >)
        guard frequent.count >= 3 else { return nil }
        var weights = 0.0
        var meanX = 0.0
        var meanY = 0.0
        for (index, count) in frequent.enumerated() {
            let weight = 1 / Double(index + 1)
            weights += weight
            meanX += weight * PortableMath.ln(Double(index + 1))
            meanY += weight * PortableMath.ln(Double(count))
        }
        meanX /= weights
        meanY /= weights
        var xx = 0.0
        var xy = 0.0
        var yy = 0.0
        for (index, count) in frequent.enumerated() {
            let weight = 1 / Double(index + 1)
            let x = PortableMath.ln(Double(index + 1)) - meanX
            let y = PortableMath.ln(Double(count)) - meanY
            xx += weight * x * x
            xy += weight * x * y
            yy += weight * y * y
        }
        alpha = xy == 0 ? 0 : -xy / xx
        rSquared = yy == 0 ? 1 : xy * xy / (xx * yy)
        objects = frequent.count
    }
}
