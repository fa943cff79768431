import HalcyonEviction
import HalcyonLearning

/// What is remembered of an object, or of a category set, over all users.
struct VisitObject: BitwiseCopyable {
    /// The counts of visits, halved every 3 and 21 days, as of ``time``.
    var counts = SIMD2<Float>(0, 0)
    var time: Int64 = 0
    var firstTime: Int64 = 0
    /// The visits with a request, and those of users that had requested it in an earlier visit.
    var visits: Float = 0
    var returns: Float = 0
    var set: CategorySetID = 0
    var size = 1
}

/// The statistics of visits behind ``VisitInputColumns``.
struct VisitHistory {
    static let microsecondsPerDay: Float = 86_400e6
    static let ownHalfLives = SIMD3<Float>(14, 60, 240)
    static let commonHalfLives = SIMD2<Float>(3, 21)

    private(set) var objects: [VisitObject] = []
    private(set) var sets: [VisitObject] = []
    private(set) var total = VisitObject()

    static func days(from start: Int64, to end: Int64) -> Float {
        Float(max(end &- start, 0)) / microsecondsPerDay
    }

    /// Counts the first request for an object in a visit.
    mutating func count(_ access: Access, isReturn: Bool) {
        while objects.count <= Int(access.object) { objects.append(VisitObject()) }
        if objects[Int(access.object)].visits == 0 { objects[Int(access.object)].firstTime = access.time }
        objects[Int(access.object)].set = access.categories
        objects[Int(access.object)].size = access.size
        Self.count(&objects[Int(access.object)], at: access.time, isReturn: isReturn)
        Self.count(&total, at: access.time, isReturn: isReturn)
        guard access.categories > 0, access.categories < BaselineBounds.categories else { return }
        while sets.count <= Int(access.categories) { sets.append(VisitObject()) }
        Self.count(&sets[Int(access.categories)], at: access.time, isReturn: isReturn)
    }

    private static func count(_ what: inout VisitObject, at time: Int64, isReturn: Bool) {
        what.counts = popularity(what, at: time) + 1
        what.time = max(what.time, time)
        what.visits += 1
        if isReturn { what.returns += 1 }
    }

    /// Returns the counts of an object's visits as of a time.
    static func popularity(_ what: VisitObject, at time: Int64) -> SIMD2<Float> {
        let age = days(from: what.time, to: time)
        return SIMD2(
            what.counts.x * FastMath.exp2(-age / commonHalfLives.x),
            what.counts.y * FastMath.exp2(-age / commonHalfLives.y))
    }

    /// What the inputs of all of a user's objects have in common at a time.
    struct Moment {
        let time: Int64
        let visit: Int32
        let expectedShare: SIMD2<Float>
        let size: Float
        let returning: Float
        let categories: [(set: CategorySetID, count: Float)]
        let categoryTotal: Float
    }

    func moment(of user: VisitUser, at time: Int64) -> Moment {
        Moment(
            time: time, visit: user.visit, expectedShare: max(user.size, 1) / (Self.popularity(total, at: time) + 1),
            size: FastMath.log2(max(user.size, 1)) * 0.3, returning: user.returning, categories: user.categories,
            categoryTotal: max(user.categoryTotal, 1))
    }
}
