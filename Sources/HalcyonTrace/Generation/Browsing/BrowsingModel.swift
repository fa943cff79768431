import HalcyonSupport

/// Users who browse a catalogue that is sorted into categories: the model behind the traces in `Traces/`.
///
/// A hidden **group** drives every access: users prefer groups, sessions move between groups, and an object is popular
/// within its group. The trace shows a **category** label. ``categorySignal`` sets how much information the label
/// carries about the group, and nothing else depends on it. Two traces that differ in this parameter alone have the
/// same accesses. `Traces/MODEL.md` states the model in full.
///
/// A request is decided by a cascade: the next object of a scan, else a repeat view, else a one-hit wonder, else an
/// object by popularity.
public struct BrowsingModel: TraceGenerator, Equatable, Codable {
    /// The number of requests.
    public var requests = 100_000
    /// The number of users.
    public var users = 300
    /// The slope of the users' activity: the u-th user starts sessions in proportion to u to the power of minus this.
    public var userAlpha = 0.4
    /// The number of users that are in a session at the same time; at most ``users``.
    public var concurrentSessions = 6
    /// The mean number of requests a second, over all users.
    public var requestsPerSecond = 0.05
    /// The amplitude of the daily rhythm, a triangle wave over 24 hours: 0 is constant, 1 nearly silent at midnight.
    public var dailyRhythm = 0.6

    /// The number of groups, which is the number of categories.
    public var categories = 24
    /// The probability that an object's label is its group: 0 is no information, 1 is all. Otherwise the label is
    /// drawn uniformly from all categories, with a separate random stream.
    public var categorySignal = 1.0
    /// The names of the categories, in order. Categories beyond the list are named `c00`, `c01`, …
    public var categoryNames: [String] = []
    /// The slope of the groups' popularity among users.
    public var categoryAlpha = 0.6
    /// The contrast in use between groups. The shares of repeat views and of one-hit wonders differ between groups by
    /// up to this fraction of their mean, in opposite directions.
    public var categoryContrast = 0.6

    /// The number of groups that a user prefers; the i-th favourite has weight 1 / i.
    public var favourites = 3
    /// The probability that a user chooses a group from the favourites rather than by the groups' popularity.
    public var preference = 0.8
    /// The probability that a user replaces one favourite by another group at the start of a session.
    public var preferenceDrift = 0.1

    /// The mean number of requests in a session, geometrically distributed.
    public var sessionLength = 12.0
    /// The probability that the next request stays in the group of the last one.
    public var stay = 0.75
    /// The share of moves that go to a related group rather than to a group of the user's preference.
    public var related = 0.6
    /// The number of groups that each group is related to; the i-th has weight 1 / i.
    public var relatedGroups = 3

    /// The number of objects in each group's catalogue at any time.
    public var objectsPerCategory = 300
    /// The slope of popularity within a group.
    public var popularityAlpha = 0.8
    /// The number of new objects that arrive a request, over all groups.
    public var arrivals = 0.02
    /// The first share of its group's ranking in which a new object enters, at a uniformly drawn rank. The objects
    /// behind it move down one rank, and the last one leaves the catalogue.
    public var arrivalDepth = 0.3

    /// The share of requests, outside scans, that repeat one of the user's earlier views in the group.
    public var repeatShare = 0.35
    /// The number of a user's latest views in a group that can be repeated. Each view is equally likely, so an object
    /// with more views is repeated more often.
    public var memory = 40
    /// The share of requests, outside scans and repeat views, for a new object that is in no catalogue. Only a repeat
    /// view by the same user can request it again.
    public var oneHitShare = 0.08
    /// The share of sessions that are scans, which request a group's catalogue in order of arrival.
    public var scanShare = 0.01
    /// The number of requests of a scan.
    public var scanLength = 60

    /// The median size of an object in bytes, or 0 for no sizes: every object then has size 1.
    public var medianSize = 0.0
    /// The spread of sizes within a group: the standard deviation of a size's natural logarithm.
    public var sizeSpread = 0.5
    /// The ratio of the largest median size of a group to the smallest.
    public var categorySizeRatio = 8.0
    /// The smallest size in bytes; smaller draws are raised to it.
    public var smallestSize = 200
    /// The largest size in bytes; larger draws are lowered to it.
    public var largestSize = 4_000_000

    /// Creates a model with the defaults: 100,000 requests to a shop of 24 categories without sizes.
    public init() {}

    /// Generates a trace. O(requests · (1 + arrivals · objectsPerCategory)).
    public func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace {
        try generateWithTruth(seed: seed, names: names).trace
    }

    /// Generates a trace together with the hidden groups.
    package func generateWithTruth(seed: UInt64, names: Bool = true) throws(GenerationError) -> BrowsingOutcome {
        try validate()
        var simulation = BrowsingSimulation(model: self, seed: seed)
        var objects = FirstRequestOrder(capacity: simulation.catalogue.count)
        var visitors = FirstRequestOrder(capacity: users)
        var entries: [UInt32] = []
        var requesters: [UInt32] = []
        var seconds: [UInt32] = []
        entries.reserveCapacity(requests)
        requesters.reserveCapacity(requests)
        seconds.reserveCapacity(requests)
        for _ in 0..<requests {
            let request = simulation.step()
            entries.append(objects.number(of: Int(request.object)))
            requesters.append(visitors.number(of: request.user))
            seconds.append(UInt32(clamping: request.second))
        }
        let groups = objects.originals.map { simulation.catalogue.groups[Int($0)] }
        let labels = labels(of: simulation.catalogue, seed: seed)
        let columns = LabelColumns(labels: objects.originals.map { labels[Int($0)] }, labelCount: categories)
        let sizes = sizes(of: simulation, seed: seed)

        var tables = TraceNames()
        if names {
            for original in objects.originals { tables.keys.append("o\(original)") }
            for original in visitors.originals { tables.users.append("u\(original)") }
            for label in columns.order { tables.categories.append(categoryName(Int(label))) }
        }
        var report = LoadReport()
        report.noSizes = sizes.isEmpty
        let trace = Trace(
            entries: entries, times: TimeColumn(base: 0, unit: 1_000_000, offsets: seconds), users: requesters,
            objectSizes: objects.originals.map { sizes.isEmpty ? 1 : sizes[Int($0)] },
            objectCategories: columns.sets, categorySets: columns.categorySets, categoryCount: columns.order.count,
            userCount: visitors.originals.count, sizeUnit: sizes.isEmpty ? .objects : .bytes, names: tables,
            report: report)
        return BrowsingOutcome(trace: trace, groups: groups, groupOfCategory: columns.order)
    }

    /// Returns the name of the category that stands for `group`.
    package func categoryName(_ group: Int) -> String {
        if group < categoryNames.count { return categoryNames[group] }
        return group < 10 ? "c0\(group)" : "c\(group)"
    }

    /// Returns the label of each object: its group with the probability of the signal, else a random category.
    private func labels(of catalogue: BrowsingCatalogue, seed: UInt64) -> [UInt32] {
        var labels = BrowsingLabels(model: self, seed: seed)
        labels.draw(for: catalogue)
        return labels.values
    }

    /// Returns the size of each object, drawn by its group; empty without sizes.
    private func sizes(of simulation: BrowsingSimulation, seed: UInt64) -> [UInt64] {
        var sizes = BrowsingSizes(model: self, logMedians: simulation.logMedians, seed: seed)
        sizes.draw(for: simulation.catalogue)
        return sizes.values
    }

    /// Throws an error if a parameter has an invalid value.
    func validate() throws(GenerationError) {
        try ParameterCheck.count(requests, "requests")
        try ParameterCheck.count(users, "users")
        try ParameterCheck.range(userAlpha, "userAlpha", 0...10)
        try ParameterCheck.count(concurrentSessions, "concurrentSessions")
        if concurrentSessions > users {
            throw GenerationError(
                parameter: "concurrentSessions", value: "\(concurrentSessions)", accepted: "at most users (\(users))")
        }
        try ParameterCheck.range(requestsPerSecond, "requestsPerSecond", 1e-6...1e9)
        try ParameterCheck.share(dailyRhythm, "dailyRhythm")
        try ParameterCheck.count(categories, "categories")
        try ParameterCheck.share(categorySignal, "categorySignal")
        try ParameterCheck.range(categoryAlpha, "categoryAlpha", 0...10)
        try ParameterCheck.share(categoryContrast, "categoryContrast")
        try ParameterCheck.count(favourites, "favourites")
        try ParameterCheck.share(preference, "preference")
        try ParameterCheck.share(preferenceDrift, "preferenceDrift")
        try ParameterCheck.range(sessionLength, "sessionLength", 1...1e9)
        try ParameterCheck.share(stay, "stay")
        try ParameterCheck.share(related, "related")
        try ParameterCheck.count(relatedGroups, "relatedGroups")
        try ParameterCheck.count(objectsPerCategory, "objectsPerCategory")
        try ParameterCheck.range(popularityAlpha, "popularityAlpha", 0...10)
        try ParameterCheck.share(arrivals, "arrivals")
        try ParameterCheck.share(arrivalDepth, "arrivalDepth")
        try ParameterCheck.share(repeatShare, "repeatShare")
        try ParameterCheck.count(memory, "memory")
        try ParameterCheck.share(oneHitShare, "oneHitShare")
        try ParameterCheck.share(scanShare, "scanShare")
        try ParameterCheck.count(scanLength, "scanLength")
        try ParameterCheck.range(medianSize, "medianSize", 0...1e12)
        try ParameterCheck.range(sizeSpread, "sizeSpread", 0...10)
        try ParameterCheck.range(categorySizeRatio, "categorySizeRatio", 1...1e6)
        try ParameterCheck.count(smallestSize, "smallestSize")
        try ParameterCheck.count(largestSize, "largestSize", atLeast: smallestSize)
    }
}

/// A generated trace and the hidden groups behind it.
package struct BrowsingOutcome: Sendable {
    /// The observable trace.
    package let trace: Trace
    /// The hidden group of each object of the trace, by object number.
    package let groups: [UInt32]
    /// The group that each category stands for, by the trace's category number.
    package let groupOfCategory: [UInt32]
}

/// The label of each object, drawn in the order in which objects are created.
struct BrowsingLabels {
    private(set) var values: [UInt32] = []
    private let model: BrowsingModel
    private var random: SeededGenerator

    init(model: BrowsingModel, seed: UInt64) {
        self.model = model
        random = SeededGenerator(seed: seed, stream: BrowsingStream.labels)
    }

    /// Draws the labels of the objects that were created since the last call.
    mutating func draw(for catalogue: BrowsingCatalogue) {
        while values.count < catalogue.count {
            let isTrue = random.chance(model.categorySignal)
            let other = UInt32(random.below(model.categories))
            values.append(isTrue ? catalogue.groups[values.count] : other)
        }
    }
}

/// The size of each object, drawn in the order in which objects are created; empty if the model has no sizes.
struct BrowsingSizes {
    private(set) var values: [UInt64] = []
    private let model: BrowsingModel
    private let logMedians: [Double]
    private var random: SeededGenerator

    init(model: BrowsingModel, logMedians: [Double], seed: UInt64) {
        self.model = model
        self.logMedians = logMedians
        random = SeededGenerator(seed: seed, stream: BrowsingStream.sizes)
    }

    /// Draws the sizes of the objects that were created since the last call.
    mutating func draw(for catalogue: BrowsingCatalogue) {
        if logMedians.isEmpty { return }
        while values.count < catalogue.count {
            let median = logMedians[Int(catalogue.groups[values.count])]
            let size = PortableMath.exp(median + model.sizeSpread * PortableMath.normal(using: &random))
            values.append(UInt64(min(max(size, Double(model.smallestSize)), Double(model.largestSize))))
        }
    }
}

/// The category columns of a trace, from the labels of its objects.
struct LabelColumns {
    /// The labels, by the trace's category number.
    private(set) var order: [UInt32] = []
    /// The category set of each object.
    private(set) var sets: [UInt32] = []
    private(set) var categorySets = CategorySets()

    init(labels: [UInt32], labelCount: Int) {
        var numbers = FirstRequestOrder(capacity: labelCount)
        sets.reserveCapacity(labels.count)
        for label in labels { sets.append(categorySets.number(of: [numbers.number(of: Int(label))])) }
        order = numbers.originals
    }
}
