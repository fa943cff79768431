import HalcyonSupport

/// An app's images of four kinds, whose rates of reuse differ by a known factor: for a map of when categories pay.
///
/// The kinds are, by falling rate of reuse, avatars (8 kB), thumbnails (20 kB), tiles of a map (25 kB) and full pictures
/// (250 kB). Users make requests in sessions, each for a kind drawn evenly. With the kind's rate of reuse the request
/// repeats one of the user's latest objects of the kind, each equally likely. Otherwise it is for an object that the user
/// has not requested before. The rates of successive kinds differ by one factor, from avatars to pictures by
/// ``reuseRatio``, and their mean is ``reuse``. In per-user caches the shares of re-requests are these rates, except at a
/// user's first requests.
public struct KindsModel: TraceGenerator, Equatable, Codable {
    /// The number of requests.
    public var requests = 100_000
    /// The number of users.
    public var users = 50
    /// The mean number of requests in a session, geometrically distributed.
    public var sessionLength = 15.0
    /// The factor R by which the rates of reuse of avatars and pictures differ; 1 makes all kinds alike.
    public var reuseRatio = 8.0
    /// The mean rate of reuse of the four kinds.
    public var reuse = 0.4
    /// The number of a user's latest objects of a kind that can be requested again.
    public var memory = 60
    /// The share of the objects, among those that are new to a user, that this user never requests again.
    public var oneHitShare = 0.3
    /// The share of the requests for objects new to a user that are for one of the kind's ``shared`` popular objects, unless
    /// the user knows it; all others are for an object that no user has requested.
    public var sharedShare = 0.3
    /// The number of popular objects of a kind.
    public var shared = 2_000
    /// The slope of their popularity.
    public var popularityAlpha = 0.8
    /// The probability that an object's category is its kind; otherwise it is drawn evenly from the four.
    public var categorySignal = 1.0
    /// The spread of sizes within a kind, as the standard deviation of a size's natural logarithm; below 0 is no sizes: every
    /// object then has size 1.
    public var sizeSpread = 0.4

    /// The names of the kinds, by falling rate of reuse.
    package static let kinds = ["avatars", "thumbnails", "tiles", "pictures"]
    private static let medianSizes = [8_000.0, 20_000, 25_000, 250_000]

    /// Creates a model with the defaults: 100,000 requests of 50 users, rates of reuse that differ by a factor of 8.
    public init() {}

    /// The rate of reuse of each kind.
    package var rates: [Double] {
        let last = Self.kinds.count - 1
        let factors = (0...last).map { PortableMath.pow(reuseRatio, Double(last - $0) / Double(last)) }
        let sum = factors.reduce(0, +)
        return factors.map { reuse * Double(factors.count) * $0 / sum }
    }

    /// Generates a trace. O(requests).
    public func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace {
        try validate()
        let count = Self.kinds.count
        let (rates, popularity) = (rates, AliasTable.zipf(count: shared, alpha: popularityAlpha))
        var random = SeededGenerator(seed: seed)
        // Objects below count · shared are the popular ones, kind by kind.
        var kinds = (0..<(count * shared)).map { UInt32($0 / shared) }
        var known: Set<UInt64> = []
        var latest = [[UInt32]](repeating: [], count: users * count)
        var next = [Int](repeating: 0, count: users * count)
        var (objects, visitors) = (FirstRequestOrder(capacity: kinds.count), FirstRequestOrder(capacity: users))
        var (entries, owners, seconds): ([UInt32], [UInt32], [Int64]) = ([], [], [])
        var (user, second) = (0, 0)
        for _ in 0..<requests {
            if random.chance(1 / sessionLength) {
                user = random.below(users)
                second += 30
            }
            second += random.below(5)
            let kind = random.below(count)
            let place = user * count + kind
            let object: Int
            if random.chance(rates[kind]), !latest[place].isEmpty {
                object = Int(latest[place][random.below(latest[place].count)])
            } else {
                var fresh = kinds.count
                if random.chance(sharedShare) {
                    let popular = kind * shared + popularity.draw(using: &random)
                    if !known.contains(UInt64(user) << 32 | UInt64(popular)) { fresh = popular }
                }
                if fresh == kinds.count { kinds.append(UInt32(kind)) }
                known.insert(UInt64(user) << 32 | UInt64(fresh))
                if !random.chance(oneHitShare) {
                    if latest[place].count < memory {
                        latest[place].append(UInt32(fresh))
                    } else {
                        latest[place][next[place]] = UInt32(fresh)
                        next[place] = (next[place] + 1) % memory
                    }
                }
                object = fresh
            }
            entries.append(objects.number(of: object))
            owners.append(visitors.number(of: user))
            seconds.append(Int64(second))
        }
        return trace(
            entries, owners, seconds, kinds: objects.originals.map { kinds[Int($0)] }, objects, visitors, names, &random
        )
    }

    private func trace(
        _ entries: [UInt32], _ owners: [UInt32], _ seconds: [Int64], kinds: [UInt32], _ objects: FirstRequestOrder,
        _ visitors: FirstRequestOrder, _ names: Bool, _ random: inout SeededGenerator
    ) -> Trace {
        let sizes = kinds.map { kind in
            let factor = PortableMath.exp(max(0, sizeSpread) * PortableMath.normal(using: &random))
            return sizeSpread < 0 ? 1 : UInt64(max(1, Self.medianSizes[Int(kind)] * factor))
        }
        let labels = kinds.map { kind in
            let isTrue = random.chance(categorySignal)
            let other = UInt32(random.below(Self.kinds.count))
            return isTrue ? kind : other
        }
        let columns = LabelColumns(labels: labels, labelCount: Self.kinds.count)
        var tables = TraceNames()
        if names {
            for object in objects.originals { tables.keys.append("o\(object)") }
            for user in visitors.originals { tables.users.append("u\(user)") }
            for label in columns.order { tables.categories.append(Self.kinds[Int(label)]) }
        }
        var report = LoadReport()
        report.noSizes = sizeSpread < 0
        return Trace(
            entries: entries, times: TimeColumn(seconds.map { $0 * 1_000_000 }), users: owners, objectSizes: sizes,
            objectCategories: columns.sets, categorySets: columns.categorySets, categoryCount: columns.order.count,
            userCount: visitors.originals.count, sizeUnit: sizeSpread < 0 ? .objects : .bytes, names: tables,
            report: report)
    }

    private func validate() throws(GenerationError) {
        try ParameterCheck.count(requests, "requests")
        try ParameterCheck.count(users, "users")
        try ParameterCheck.range(sessionLength, "sessionLength", 1...1e9)
        try ParameterCheck.range(reuseRatio, "reuseRatio", 1...1e6)
        try ParameterCheck.share(reuse, "reuse")
        if rates[0] > 1 {
            throw GenerationError(
                parameter: "reuse", value: "\(reuse)", accepted: "at most \(reuse / rates[0]) with this reuse-ratio")
        }
        try ParameterCheck.count(memory, "memory")
        try ParameterCheck.share(oneHitShare, "oneHitShare")
        try ParameterCheck.share(sharedShare, "sharedShare")
        try ParameterCheck.count(shared, "shared")
        try ParameterCheck.range(popularityAlpha, "popularityAlpha", 0...10)
        try ParameterCheck.share(categorySignal, "categorySignal")
        try ParameterCheck.range(sizeSpread, "sizeSpread", -1...10)
    }
}
