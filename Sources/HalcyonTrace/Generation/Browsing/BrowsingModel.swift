/// Users who browse a catalogue that is sorted into categories: the model behind the traces in `Traces/`.
///
/// Everything that drives an access is a hidden **group**: users prefer groups, sessions move between groups, an
/// object is popular within its group. What the trace shows is a **category** label. ``categorySignal`` says how much
/// the label tells of the group; nothing else depends on it, so that two traces that differ in this knob alone have
/// the very same accesses. `Traces/MODEL.md` states the model in full.
///
/// Its probabilities of what a request is add up as a cascade: a scan's next object, else a repeat view, else a
/// one-hit wonder, else an object by popularity.
public struct BrowsingModel: TraceGenerator, Equatable, Codable {
    /// The number of requests.
    public var requests = 100_000
    /// The number of users.
    public var users = 300
    /// The slope of the users' activity: the u-th user starts sessions in proportion to u to the power of minus this.
    public var userAlpha = 0.4
    /// How many users are in a session at the same time; at most ``users``.
    public var concurrentSessions = 6
    /// The mean number of requests a second, over all users.
    public var requestsPerSecond = 0.05
    /// How much busier the day is than the night: 0 not at all, 1 all but silent at midnight. A triangle wave over 24 hours.
    public var dailyRhythm = 0.6

    /// The number of groups, and so of categories.
    public var categories = 24
    /// How much the category tells: 0 nothing, 1 all. The probability that an object's label is its group; otherwise
    /// the label is drawn from all categories alike, from a random stream of its own.
    public var categorySignal = 1.0
    /// The names of the categories, in order; those beyond are called `c00`, `c01`, …
    public var categoryNames: [String] = []
    /// The slope of the groups' popularity among users.
    public var categoryAlpha = 0.6
    /// How differently groups are used: the shares of repeat views and of one-hit wonders differ between groups by up
    /// to this fraction of their mean, in opposite directions.
    public var categoryContrast = 0.6

    /// How many groups a user prefers; the i-th favourite has weight 1 / i.
    public var favourites = 3
    /// How often a user's choice of a group follows the favourites rather than the groups' popularity.
    public var preference = 0.8
    /// How often, at the start of a session, a user has dropped one favourite for another group.
    public var preferenceDrift = 0.1

    /// The mean number of requests in a session, geometrically distributed.
    public var sessionLength = 12.0
    /// How often the next request stays in the group of the last one.
    public var stay = 0.75
    /// Of the moves, how many go to a related group rather than to one by the user's preference.
    public var related = 0.6
    /// How many groups each group is related to; the i-th has weight 1 / i.
    public var relatedGroups = 3

    /// The number of objects in each group's catalogue at any time.
    public var objectsPerCategory = 300
    /// The slope of popularity within a group.
    public var popularityAlpha = 0.8
    /// How many new objects arrive a request, over all groups.
    public var arrivals = 0.02
    /// Where a new object enters its group's ranking: uniformly within this first share of it. The object at the end leaves
    /// the catalogue; everything between moves down one rank, which is how objects fade.
    public var arrivalDepth = 0.3

    /// The share of requests, outside scans, that repeat one of the user's own earlier views in the group.
    public var repeatShare = 0.35
    /// How many of a user's latest views in a group can be repeated; each is as likely, so what was seen more often is
    /// repeated more often.
    public var memory = 40
    /// The share of requests, outside scans and repeat views, for a new object that is in no catalogue: only a
    /// repeat view by the same user can bring it back.
    public var oneHitShare = 0.08
    /// The share of sessions that are scans: a walk through a group's catalogue in order of arrival.
    public var scanShare = 0.01
    /// The number of requests of a scan.
    public var scanLength = 60

    /// The median size of an object in bytes, or 0 for no sizes: every object then counts 1.
    public var medianSize = 0.0
    /// The spread of sizes within a group: the standard deviation of a size's natural logarithm.
    public var sizeSpread = 0.5
    /// How much sizes differ between groups: the ratio of the largest group's median to the smallest one's.
    public var categorySizeRatio = 8.0
    /// The smallest size in bytes; draws below are raised to it.
    public var smallestSize = 200
    /// The largest size in bytes; draws above are lowered to it.
    public var largestSize = 4_000_000

    /// A model with the defaults: 100,000 requests to a shop of 24 categories without sizes.
    public init() {}
}

extension BrowsingModel {
    /// Checks that every knob has a value that makes sense.
    func validate() throws(GenerationError) {
        try Knob.count(requests, "requests")
        try Knob.count(users, "users")
        try Knob.range(userAlpha, "userAlpha", 0...10)
        try Knob.count(concurrentSessions, "concurrentSessions")
        if concurrentSessions > users {
            throw GenerationError(
                knob: "concurrentSessions", value: "\(concurrentSessions)", accepted: "at most users (\(users))")
        }
        try Knob.range(requestsPerSecond, "requestsPerSecond", 1e-6...1e9)
        try Knob.share(dailyRhythm, "dailyRhythm")
        try Knob.count(categories, "categories")
        try Knob.share(categorySignal, "categorySignal")
        try Knob.range(categoryAlpha, "categoryAlpha", 0...10)
        try Knob.share(categoryContrast, "categoryContrast")
        try Knob.count(favourites, "favourites")
        try Knob.share(preference, "preference")
        try Knob.share(preferenceDrift, "preferenceDrift")
        try Knob.range(sessionLength, "sessionLength", 1...1e9)
        try Knob.share(stay, "stay")
        try Knob.share(related, "related")
        try Knob.count(relatedGroups, "relatedGroups")
        try Knob.count(objectsPerCategory, "objectsPerCategory")
        try Knob.range(popularityAlpha, "popularityAlpha", 0...10)
        try Knob.share(arrivals, "arrivals")
        try Knob.share(arrivalDepth, "arrivalDepth")
        try Knob.share(repeatShare, "repeatShare")
        try Knob.count(memory, "memory")
        try Knob.share(oneHitShare, "oneHitShare")
        try Knob.share(scanShare, "scanShare")
        try Knob.count(scanLength, "scanLength")
        try Knob.range(medianSize, "medianSize", 0...1e12)
        try Knob.range(sizeSpread, "sizeSpread", 0...10)
        try Knob.range(categorySizeRatio, "categorySizeRatio", 1...1e6)
        try Knob.count(smallestSize, "smallestSize")
        try Knob.count(largestSize, "largestSize", atLeast: smallestSize)
    }
}
