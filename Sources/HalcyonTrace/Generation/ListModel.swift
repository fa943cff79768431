import HalcyonSupport

/// A feed with a known truth: users are shown lists and open items by taste, quality, position and fatigue.
///
/// At each step a random user is shown a list of different objects, drawn evenly from the newest ones. With the probability
/// ``openShare`` the user opens one of them some seconds later. The chance of an item is in proportion to the product of
/// - e to the power of ``taste``, if the user prefers its group;
/// - e to the power of its quality, a normal number times ``quality``, which is the same for all users;
/// - its place, from 1, to the power of minus ``positionBias``;
/// - ``fatigue`` to the power of how often the user was shown it and did not open it;
/// - ``reopening``, if the user opened it before.
///
/// The trace shows a category, which is the group or, without ``categorySignal``, a random one. No other policy than one
/// that knows these chances opens more of the first k items of its order in the long run.
public struct ListModel: TraceGenerator, Equatable, Codable {
    /// The number of lists.
    public var lists = 20_000
    /// The number of items of a list.
    public var listLength = 12
    /// The number of users.
    public var users = 200
    /// The number of objects that can be shown at a time: the newest ones.
    public var catalogue = 400
    /// The number of new objects a list; each replaces the oldest one.
    public var arrivals = 0.5
    /// The number of groups, which is the number of categories.
    public var categories = 12
    /// The probability that an object's category is its group; otherwise it is drawn evenly from all categories.
    public var categorySignal = 1.0
    /// The number of groups that a user prefers.
    public var favourites = 2
    /// The weight of a preferred group; 0 is no taste.
    public var taste = 2.0
    /// The spread of the objects' quality, which makes some of them popular; 0 makes all equally popular.
    public var quality = 0.7
    /// The slope of the places in a list; 0 is no bias.
    public var positionBias = 0.5
    /// The factor by which a showing without an opening changes the chance of later ones.
    public var fatigue = 0.7
    /// The factor of the chance of an item that the user opened before.
    public var reopening = 0.2
    /// The share of the lists of which one item is opened.
    public var openShare = 0.7
    /// The mean number of seconds from one list to the next, over all users.
    public var interval = 20
    /// The mean number of seconds from a list to its opening.
    public var openDelay = 8
    /// The median size of an object in bytes, or 0 for no sizes: every object then has size 1.
    public var medianSize = 50_000.0
    /// The spread of sizes: the standard deviation of a size's natural logarithm.
    public var sizeSpread = 0.6

    /// Creates a model with the defaults: 20,000 lists of 12 items for 200 users.
    public init() {}

    /// Generates a trace. O(lists · listLength).
    public func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace {
        try generateWithTruth(seed: seed, names: names).trace
    }

    /// Generates a trace together with the chance of each item of its lists, given that one of the list is opened.
    package func generateWithTruth(seed: UInt64, names: Bool = true) throws(GenerationError)
        -> (trace: Trace, chances: [Double])
    {
        try validate()
        var feed = Feed(self, seed: seed)
        for _ in 0..<lists { feed.step() }
        return (feed.trace(names: names), feed.chances)
    }

    private func validate() throws(GenerationError) {
        try ParameterCheck.count(lists, "lists")
        try ParameterCheck.count(listLength, "listLength")
        try ParameterCheck.count(users, "users")
        try ParameterCheck.count(catalogue, "catalogue", atLeast: listLength)
        try ParameterCheck.range(arrivals, "arrivals", 0...1_000)
        try ParameterCheck.count(categories, "categories")
        try ParameterCheck.share(categorySignal, "categorySignal")
        try ParameterCheck.count(favourites, "favourites", atLeast: 0)
        try ParameterCheck.range(taste, "taste", -20...20)
        try ParameterCheck.range(quality, "quality", 0...5)
        try ParameterCheck.range(positionBias, "positionBias", 0...10)
        try ParameterCheck.share(fatigue, "fatigue")
        try ParameterCheck.share(reopening, "reopening")
        try ParameterCheck.share(openShare, "openShare")
        if openShare == 0 {
            throw GenerationError(parameter: "openShare", value: "0.0", accepted: "above 0 and at most 1")
        }
        try ParameterCheck.count(interval, "interval")
        try ParameterCheck.count(openDelay, "openDelay")
        try ParameterCheck.range(medianSize, "medianSize", 0...1e12)
        try ParameterCheck.range(sizeSpread, "sizeSpread", 0...10)
    }
}

/// The state of a feed while it is generated.
private struct Feed {
    private struct Event {
        var time: Int
        var user: Int
        var objects: [Int]
    }

    private let model: ListModel
    private var random: SeededGenerator
    private var second = 0
    private var arriving = 0.0
    /// The object in each place of the catalogue, and the places in a random order.
    private var catalogue: [Int] = []
    private var places: [Int]
    private var oldest = 0
    /// The group, the label, the weight by quality and the size of each object.
    private var groups: [Int] = []
    private var labels: [UInt32] = []
    private var weights: [Double] = []
    private var sizes: [UInt64] = []
    /// Whether each user prefers each group.
    private var prefers: [[Bool]] = []
    /// The number of showings without an opening and whether there was an opening, by user and object.
    private var history: [UInt64: (ignored: Int, isOpened: Bool)] = [:]
    private var lists: [Event] = []
    private var openings: [Event] = []
    /// The chance of each item.
    private(set) var chances: [Double] = []

    init(_ model: ListModel, seed: UInt64) {
        self.model = model
        random = SeededGenerator(seed: seed)
        places = Array(0..<model.catalogue)
        for _ in 0..<model.users {
            var groups = Array(0..<model.categories)
            var prefers = [Bool](repeating: false, count: model.categories)
            for index in 0..<min(model.favourites, model.categories) {
                groups.swapAt(index, index + random.below(model.categories - index))
                prefers[groups[index]] = true
            }
            self.prefers.append(prefers)
        }
        for _ in 0..<model.catalogue { catalogue.append(makeObject()) }
    }

    private mutating func makeObject() -> Int {
        let group = random.below(model.categories)
        let isTrue = random.chance(model.categorySignal)
        let other = random.below(model.categories)
        groups.append(group)
        labels.append(UInt32(isTrue ? group : other))
        weights.append(PortableMath.exp(model.quality * PortableMath.normal(using: &random)))
        let size = model.medianSize * PortableMath.exp(model.sizeSpread * PortableMath.normal(using: &random))
        sizes.append(UInt64(max(1, size)))
        return groups.count - 1
    }

    /// Shows a list, and opens an item of it or none.
    mutating func step() {
        arriving += model.arrivals
        while arriving >= 1 {
            arriving -= 1
            catalogue[oldest] = makeObject()
            oldest = (oldest + 1) % catalogue.count
        }
        second += 1 + random.below(2 * model.interval - 1)
        let user = random.below(model.users)
        var objects: [Int] = []
        var items: [Double] = []
        for place in 0..<model.listLength {
            places.swapAt(place, place + random.below(places.count - place))
            let object = catalogue[places[place]]
            let known = history[key(user, object)] ?? (0, false)
            var weight = weights[object] * PortableMath.pow(Double(place + 1), -model.positionBias)
            if prefers[user][groups[object]] { weight *= PortableMath.exp(model.taste) }
            for _ in 0..<min(known.ignored, 64) { weight *= model.fatigue }
            if known.isOpened { weight *= model.reopening }
            objects.append(object)
            items.append(weight)
        }
        var total = 0.0
        for weight in items { total += weight }
        lists.append(Event(time: second, user: user, objects: objects))
        chances += items.map { total > 0 ? $0 / total : 0 }
        var opened: Int?
        let isOpening = random.chance(model.openShare)
        var left = random.unit() * total
        if isOpening, total > 0 {
            for (place, weight) in items.enumerated() where weight > 0 {
                opened = objects[place]
                left -= weight
                if left < 0 { break }
            }
        }
        for object in objects {
            var known = history[key(user, object)] ?? (0, false)
            if object == opened { known.isOpened = true } else { known.ignored += 1 }
            history[key(user, object)] = known
        }
        let delay = 1 + random.below(2 * model.openDelay - 1)
        if let opened { openings.append(Event(time: second + delay, user: user, objects: [opened])) }
    }

    private func key(_ user: Int, _ object: Int) -> UInt64 { UInt64(user) << 32 | UInt64(object) }

    /// Returns the trace of all lists and openings.
    func trace(names: Bool) -> Trace {
        let order = openings.indices.sorted { (openings[$0].time, $0) < (openings[$1].time, $1) }
        var objects = FirstRequestOrder(capacity: groups.count)
        var visitors = FirstRequestOrder(capacity: model.users)
        let entries = order.map { objects.number(of: openings[$0].objects[0]) }
        let users = order.map { visitors.number(of: openings[$0].user) }
        let (objectCount, userCount) = (objects.originals.count, visitors.originals.count)
        var before = 0
        var elements = lists.map { list in
            while before < order.count, openings[order[before]].time <= list.time { before += 1 }
            return ShownLists.Element(
                position: before, time: Int64(list.time) * 1_000_000, user: visitors.number(of: list.user),
                objects: list.objects.map { objects.number(of: $0) }, categories: [])
        }
        let columns = LabelColumns(
            labels: objects.originals.map { labels[Int($0)] }, labelCount: model.categories)
        for list in elements.indices {
            elements[list].categories = elements[list].objects.map { columns.sets[Int($0)] }
        }
        let categoryCount = Set(columns.sets.prefix(objectCount)).count
        let hasSizes = model.medianSize > 0
        let all = objects.originals.map { hasSizes ? sizes[Int($0)] : 1 }
        var (requested, shown) = (TraceNames(), TraceNames())
        if names {
            for (number, object) in objects.originals.enumerated() {
                if number < objectCount { requested.keys.append("o\(object)") } else { shown.keys.append("o\(object)") }
            }
            for (number, user) in visitors.originals.enumerated() {
                if number < userCount { requested.users.append("u\(user)") } else { shown.users.append("u\(user)") }
            }
            for (number, label) in columns.order.enumerated() {
                let name = label < 10 ? "c0\(label)" : "c\(label)"
                if number < categoryCount { requested.categories.append(name) } else { shown.categories.append(name) }
            }
        }
        var report = LoadReport()
        report.noSizes = !hasSizes
        return Trace(
            entries: entries, times: TimeColumn(order.map { Int64(openings[$0].time) * 1_000_000 }), users: users,
            objectSizes: Array(all.prefix(objectCount)), objectCategories: Array(columns.sets.prefix(objectCount)),
            categorySets: columns.categorySets, categoryCount: categoryCount, userCount: userCount,
            sizeUnit: hasSizes ? .bytes : .objects, names: requested, report: report,
            lists: ShownLists(elements, shownOnlySizes: Array(all.dropFirst(objectCount)), names: shown))
    }
}
