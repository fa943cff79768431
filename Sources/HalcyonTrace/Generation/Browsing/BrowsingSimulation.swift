import HalcyonSupport

/// The state of a browsing model while it is drawn from: a step makes one request.
struct BrowsingSimulation {
    struct Request {
        var user: Int
        var object: UInt32
        var second: Int64
    }

    private struct Session {
        var user: Int
        var group: Int
        /// The requests made so far.
        var made = 0
        /// Where a scan began in its group's catalogue; nil in ordinary sessions.
        var scanStart: Int?
    }

    private let model: BrowsingModel
    private let traits: GroupTraits
    private let activity: AliasTable
    private(set) var catalogue: BrowsingCatalogue
    private var users: BrowsingUsers
    private var sessions: [Session] = []
    private var inSession: [Bool]
    /// Seconds since the start, at first midnight.
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

    /// The next request.
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

    /// Exponential gaps at the rate of the time of day.
    private mutating func advanceClock() {
        let hour = (clock / 3600).truncatingRemainder(dividingBy: 24)
        // From -1 at midnight to 1 at noon and back, 0 on average.
        let daylight = 1 - abs(hour - 12) / 6
        let rate = model.requestsPerSecond * max(0.05, 1 + model.dailyRhythm * daylight)
        clock += -PortableMath.ln(1 - random.unit()) / rate
    }

    private mutating func arrive() {
        let group = random.below(model.categories)
        let depth = max(1, Int(model.arrivalDepth * Double(model.objectsPerCategory)))
        catalogue.arrive(in: group, atRank: random.below(depth))
    }

    /// Ends session `index` and begins another, or moves it to the group of its next request.
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

    /// A session of a user who is in none.
    private mutating func begin() -> Session {
        let user = idleUser()
        inSession[user] = true
        users.drift(user, using: &random)
        var session = Session(user: user, group: users.group(for: user, using: &random))
        if random.chance(model.scanShare) { session.scanStart = random.below(model.objectsPerCategory) }
        return session
    }

    /// A user who is in no session, by activity; the most active one, should a thousand draws find none.
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

/// The streams of random numbers of a browsing model, one for each concern.
enum BrowsingStream {
    static let setup: UInt64 = 1
    static let behaviour: UInt64 = 2
    static let labels: UInt64 = 3
    static let sizes: UInt64 = 4
}
