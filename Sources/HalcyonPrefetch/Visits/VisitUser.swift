import HalcyonEviction

/// What is remembered of a user and an object.
struct VisitItem: BitwiseCopyable {
    var object: UInt32
    /// The number of visits with a request for the object.
    var visits: UInt32 = 0
    var firstVisit: Int32 = 0
    var lastVisit: Int32 = 0
    /// The places of its first and last request in the last of these visits, from 1.
    var firstPlace: Int32 = 0
    var lastPlace: Int32 = 0
    var firstTime: Int64 = 0
    var lastTime: Int64 = 0
    /// The numbers of visits, halved every 14, 60 and 240 days, as of the last request.
    var counts = SIMD3<Float>(0, 0, 0)
    /// The probability of a request in the next visit by the last plan; negative before.
    var probability: Float = -1
}

/// A user's visits.
struct VisitUser {
    var items: [VisitItem] = []
    var visit: Int32 = 0
    var requests: Int32 = 0
    var lastRequest = Int64.min
    /// The means over visits: distinct objects, and the share of them that earlier visits had requested.
    var size: Float = 0
    var returning: Float = 0
    /// The distinct objects of this visit, and those of them that earlier visits had requested.
    var distinct: Float = 0
    var returned: Float = 0
    /// How often visits requested an object of each category set, for the first 64 sets of the user.
    var categories: [(set: CategorySetID, count: Float)] = []
    var categoryTotal: Float = 0
    /// The victim that the planner would have chosen where the eviction policy chose.
    var shadowVictim: UInt32?
    /// The pairs of which no object was requested yet.
    var pendingPairs: [VictimPair] = []
    static let maxPendingPairs = 16

    /// The planner's victim, and the object kept in its place: the eviction policy's victim, or the object fetched.
    struct VictimPair {
        var victim: UInt32
        var kept: UInt32
        /// The visit in which the planner chose.
        var visit: Int32
        /// Whether the object kept was fetched between visits.
        var isBetweenVisits: Bool
    }

    /// The examples of the last plan, and the visit before which it was made.
    var examples: [Float] = []
    var exampleObjects: [UInt32] = []
    var exampleVisit: Int32 = 0
}
