import HalcyonSupport

/// The state of a browsing model during generation; each step makes one request.
struct BrowsingSimulation {
    struct Request {
        var user: Int
        var object: UInt32
        var second: Int64
    }

    private struct Session {
        var user: Int
        var group: Int
        /// The number of requests made so far.
        var made = 0
        /// The position in its group's catalogue where the scan began; `nil` in ordinary sessions.
        var scanStart: Int?
    }

    private let model: BrowsingModel
    private let traits: GroupTraits
    private let activity: AliasTable
    private(set) var catalogue: BrowsingCatalogue
    private var users: BrowsingUsers
    private var sessions: [Session] = []
    private var inSession: [Bool]
    /// The time in seconds since the start, which is midnight.
    private var clock = 0.0
    private var random: SeededGenerator

    init(model: BrowsingModel, seed: UInt64) {
        self.model = model
        var setup = SeededGenerator(seed: seed, stream: BrowsingStream.setup)
        traits = GroupTraits(model: model, random: &setup)
        users = BrowsingUsers(model: model, random: &setup)
        activity = AliasTable.zipf(count: model.users, alpha: model.userAlpha)
        catalogue = BrowsingCatalogue(
            groupCount: model.categories, objectsPerGroup: model.objectsPerCategory, alpha: model.popularityAlpha)
        inSession = Array(repeating: false, count: model.users)
        random = SeededGenerator(seed: seed, stream: BrowsingStream.behaviour)
        for _ in 0..<model.concurrentSessions { sessions.append(begin()) }
    }

    /// The natural logarithm of each group's median size; empty without sizes.
    var logMedians: [Double] { traits.logMedians }

    /// Makes the next request.
    mutating func step() -> Request {
        advanceClock()
        if random.chance(model.arrivals) { arrive() }
        let index = random.below(sessions.count)
        if sessions[index].made > 0 { proceed(index) }
        sessions[index].made += 1
        let session = sessions[index]
        let object = choose(for: session)
        users.remember(object, of: session.group, by: session.user)
        return Request(user: session.user, object: object, second: Int64(clock))
    }

    /// Advances the clock by an exponentially distributed gap at the rate of the time of day.
    private mutating func advanceClock() {
        let hour = (clock / 3600).truncatingRemainder(dividingBy: 24)
        // Rises from -1 at midnight to 1 at noon and falls back; the mean is 0.
        let daylight = 1 - abs(hour - 12) / 6
        let rate = model.requestsPerSecond * max(0.05, 1 + model.dailyRhythm * daylight)
        clock += -PortableMath.ln(1 - random.unit()) / rate
    }

    private mutating func arrive() {
        let group = random.below(model.categories)
        let depth = max(1, Int(model.arrivalDepth * Double(model.objectsPerCategory)))
        catalogue.arrive(in: group, atRank: random.below(depth))
    }

    /// Replaces session `index` if it has ended; otherwise chooses the group of its next request.
    private mutating func proceed(_ index: Int) {
        let session = sessions[index]
        if session.scanStart != nil {
            if session.made >= model.scanLength { replace(index) }
        } else if random.chance(1 / model.sessionLength) {
            replace(index)
        } else if !random.chance(model.stay) {
            sessions[index].group =
                random.chance(model.related)
                ? traits.neighbour(of: session.group, using: &random) : users.group(for: session.user, using: &random)
        }
    }

    private mutating func replace(_ index: Int) {
        inSession[sessions[index].user] = false
        sessions[index] = begin()
    }

    /// Starts a session of an idle user.
    private mutating func begin() -> Session {
        let user = idleUser()
        inSession[user] = true
        users.drift(user, using: &random)
        var session = Session(user: user, group: users.group(for: user, using: &random))
        if random.chance(model.scanShare) { session.scanStart = random.below(model.objectsPerCategory) }
        return session
    }

    /// Draws an idle user by activity. After 1,000 draws without one, returns the most active idle user.
    private mutating func idleUser() -> Int {
        for _ in 0..<1_000 {
            let user = activity.draw(using: &random)
            if !inSession[user] { return user }
        }
        return inSession.firstIndex(of: false) ?? 0
    }

    private mutating func choose(for session: Session) -> UInt32 {
        let group = session.group
        if let start = session.scanStart { return catalogue.scanned(in: group, at: start + session.made - 1) }
        if random.chance(traits.repeatShares[group]),
            let object = users.recall(of: group, by: session.user, using: &random)
        {
            return object
        }
        if random.chance(traits.oneHitShares[group]) { return catalogue.create(in: group) }
        return catalogue.draw(from: group, using: &random)
    }
}

/// The random streams of a browsing model, one for each concern.
enum BrowsingStream {
    static let setup: UInt64 = 1
    static let behaviour: UInt64 = 2
    static let labels: UInt64 = 3
    static let sizes: UInt64 = 4
}

/// The properties that differ between groups: related groups, shares of repeat views and one-hit wonders, and sizes.
struct GroupTraits {
    /// The groups that each group is related to, the closest first.
    private let neighbours: [[UInt32]]
    private let neighbourWeights: AliasTable
    /// The probability that a view in each group is a repeat view.
    let repeatShares: [Double]
    /// The probability that any other view in each group is of a one-hit wonder.
    let oneHitShares: [Double]
    /// The natural logarithm of each group's median size; empty without sizes.
    let logMedians: [Double]

    init(model: BrowsingModel, random: inout SeededGenerator) {
        let count = model.categories
        neighbourWeights = AliasTable.zipf(count: model.relatedGroups, alpha: 1)
        neighbours = (0..<count).map { _ in (0..<model.relatedGroups).map { _ in UInt32(random.below(count)) } }

        // Each group has a place on a scale from -1 to 1, independent of its popularity.
        let loyalty = GroupTraits.scale(count, using: &random)
        repeatShares = loyalty.map { min(1, model.repeatShare * (1 + model.categoryContrast * $0)) }
        oneHitShares = loyalty.map { min(1, model.oneHitShare * (1 - model.categoryContrast * $0)) }

        let sizes = GroupTraits.scale(count, using: &random)
        if model.medianSize > 0 {
            let middle = PortableMath.ln(model.medianSize)
            let half = PortableMath.ln(model.categorySizeRatio) / 2
            logMedians = sizes.map { middle + half * $0 }
        } else {
            logMedians = []
        }
    }

    /// Draws a group that `group` is related to.
    func neighbour(of group: Int, using random: inout SeededGenerator) -> Int {
        Int(neighbours[group][neighbourWeights.draw(using: &random)])
    }

    /// Returns evenly spaced numbers from -1 to 1 in random order (Fisher and Yates); 0 if `count` is 1.
    private static func scale(_ count: Int, using random: inout SeededGenerator) -> [Double] {
        var values = (0..<count).map { count == 1 ? 0 : 2 * Double($0) / Double(count - 1) - 1 }
        for last in stride(from: count - 1, to: 0, by: -1) { values.swapAt(last, random.below(last + 1)) }
        return values
    }
}

/// The objects of all groups: the ranking of each catalogue, and the group of every object ever created.
struct BrowsingCatalogue {
    /// The group of each object, in order of creation.
    private(set) var groups: [UInt32] = []
    /// The objects of each group from the most to the least popular.
    private var rankings: [[UInt32]]
    /// The present and former objects of each group's ranking, in order of arrival.
    private var arrivals: [[UInt32]]

    private let popularity: AliasTable

    /// Creates a full catalogue for each group.
    init(groupCount: Int, objectsPerGroup: Int, alpha: Double) {
        popularity = AliasTable.zipf(count: objectsPerGroup, alpha: alpha)
        rankings = Array(repeating: [], count: groupCount)
        arrivals = rankings
        for group in 0..<groupCount {
            for _ in 0..<objectsPerGroup {
                let object = create(in: group)
                rankings[group].append(object)
                arrivals[group].append(object)
            }
        }
    }

    /// The number of objects ever created.
    var count: Int { groups.count }

    /// Creates an object that is in no ranking, so that no other user requests it.
    mutating func create(in group: Int) -> UInt32 {
        groups.append(UInt32(group))
        return UInt32(groups.count - 1)
    }

    /// Draws an object of `group` by popularity.
    func draw(from group: Int, using random: inout SeededGenerator) -> UInt32 {
        rankings[group][popularity.draw(using: &random)]
    }

    /// Inserts a new object into the ranking of `group` at `rank` and removes the last one. O(objects of the group).
    mutating func arrive(in group: Int, atRank rank: Int) {
        let object = create(in: group)
        rankings[group].removeLast()
        rankings[group].insert(object, at: min(rank, rankings[group].count))
        arrivals[group].append(object)
    }

    /// Returns an object of `group` in order of arrival, among the latest that fill one catalogue; wraps around at the
    /// end.
    func scanned(in group: Int, at position: Int) -> UInt32 {
        let length = rankings[group].count
        return arrivals[group][arrivals[group].count - length + position % length]
    }
}

/// The favourites and the earlier views of users. Bytes: 4 a favourite, a view and a user, and 12 a group that a user has
/// viewed.
struct BrowsingUsers {
    /// Each user's favourite groups, in descending order of preference.
    private var favourites: [UInt32]
    /// Each user's latest views by group. The oldest of a full list is overwritten first.
    private var views: [ViewLists]

    private let model: BrowsingModel
    private let groupPopularity: AliasTable
    private let favouriteWeights: AliasTable

    init(model: BrowsingModel, random: inout SeededGenerator) {
        self.model = model
        groupPopularity = AliasTable.zipf(count: model.categories, alpha: model.categoryAlpha)
        favouriteWeights = AliasTable.zipf(count: model.favourites, alpha: 1)
        views = Array(repeating: ViewLists(), count: model.users)
        favourites = []
        favourites.reserveCapacity(model.users * model.favourites)
        for _ in 0..<model.users * model.favourites {
            favourites.append(UInt32(groupPopularity.draw(using: &random)))
        }
    }

    /// Replaces one favourite of `user` by another group, with the probability of a drift.
    mutating func drift(_ user: Int, using random: inout SeededGenerator) {
        if random.chance(model.preferenceDrift) {
            let place = random.below(model.favourites)
            favourites[user * model.favourites + place] = UInt32(groupPopularity.draw(using: &random))
        }
    }

    /// Draws a group by the preference of `user`.
    func group(for user: Int, using random: inout SeededGenerator) -> Int {
        random.chance(model.preference)
            ? Int(favourites[user * model.favourites + favouriteWeights.draw(using: &random)])
            : groupPopularity.draw(using: &random)
    }

    /// Adds `object` of `group` to the views of `user`.
    mutating func remember(_ object: UInt32, of group: Int, by user: Int) {
        views[user].add(object, to: UInt32(group), memory: model.memory)
    }

    /// Draws one of the latest views of `user` in `group` uniformly; `nil` if there is none.
    func recall(of group: Int, by user: Int, using random: inout SeededGenerator) -> UInt32? {
        views[user].draw(from: UInt32(group), using: &random)
    }
}

/// The latest views of one user, as one list for each group that the user has viewed. All lists are in one array, so that
/// a million users take one allocation each. Operations are O(groups viewed + views).
private struct ViewLists {
    /// For each group: its number, the place of the oldest view in a full list, the number of views, the views.
    private var words: [UInt32] = []
    private static let header = 3

    /// Returns the start of the list of a group.
    private func start(of group: UInt32) -> Int? {
        var start = 0
        while start < words.count {
            if words[start] == group { return start }
            start += ViewLists.header + Int(words[start + 2])
        }
        return nil
    }

    /// Adds a view; a full list of `memory` views loses the oldest one.
    mutating func add(_ object: UInt32, to group: UInt32, memory: Int) {
        // Small steps: most lists stay small, and doubling would waste half.
        if words.count + ViewLists.header >= words.capacity { words.reserveCapacity(words.count + 20) }
        guard let start = start(of: group) else {
            words.append(contentsOf: [group, 0, 1, object])
            return
        }
        let count = Int(words[start + 2])
        if count < memory {
            words.insert(object, at: start + ViewLists.header + count)
            words[start + 2] += 1
        } else {
            let oldest = Int(words[start + 1])
            words[start + ViewLists.header + oldest] = object
            words[start + 1] = UInt32((oldest + 1) % memory)
        }
    }

    /// Draws one of the views of a group uniformly; `nil` if there is none.
    func draw(from group: UInt32, using random: inout SeededGenerator) -> UInt32? {
        guard let start = start(of: group) else { return nil }
        return words[start + ViewLists.header + random.below(Int(words[start + 2]))]
    }
}
