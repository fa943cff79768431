import CProcessor
import HalcyonEviction
import HalcyonLearning

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
    /// What would have left next, had the eviction policy not been asked.
    var wouldRelease: UInt32?
    /// Pairs of which the first left, or would have left, in place of the second.
    var rivals: [Rivals] = []
    static let maxRivals = 16

    struct Rivals {
        var ours: UInt32
        var theirs: UInt32
        var visit: Int32
        var isBetweenVisits: Bool
    }

    /// The examples of the last plan, and the visit before which it was made.
    var examples: [Float] = []
    var exampleObjects: [UInt32] = []
    var exampleVisit: Int32 = 0
}

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

/// The statistics of visits behind the inputs of ``NextVisitModel``.
struct VisitHistory {
    private static let microsecondsPerDay: Float = 86_400e6
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

    /// Reads the statistics of an object into the processor's cache.
    @inline(__always)
    func prefetchIntoCPUCache(_ object: UInt32) {
        objects.withUnsafeBytes { objects in
            guard let first = objects.baseAddress else { return }
            halcyon_prefetch(first + Int(object) * MemoryLayout<VisitObject>.stride)
        }
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

    /// Writes the inputs for an object.
    @inline(__always)
    func describe(_ item: VisitItem, at moment: Moment, into first: UnsafeMutablePointer<Float>) {
        let time = moment.time
        let object = objects[Int(item.object)]
        let isOwn: Float = item.visits > 0 ? 1 : 0
        let age = Self.days(from: item.lastTime, to: time)
        let expected = Self.popularity(object, at: time) * moment.expectedShare
        let returns = (object.returns + 1) / (object.visits + 5)
        first[0] = 1
        first[1] = isOwn
        first[2] = FastMath.log2(expected.x + 1e-4) * 0.2
        first[3] = FastMath.log2(expected.y + 1e-4) * 0.2
        first[4] = isOwn * first[3]
        first[5] = FastMath.log2(returns)
        first[6] = moment.size
        first[7] = moment.returning
        first[8] = isOwn * first[5]
        var share: Float = 0
        var categoryReturns: Float = 0
        if object.set > 0 {
            for category in moment.categories where category.set == object.set {
                share = category.count / moment.categoryTotal
            }
            if Int(object.set) < sets.count {
                let set = sets[Int(object.set)]
                categoryReturns = FastMath.log2((set.returns + 1) / (set.visits + 5)) + 2
            }
            share = FastMath.log2(share + 0.01) * 0.3
        }
        first[9] = share
        first[10] = categoryReturns
        first[11] = FastMath.log2(1 + Self.days(from: object.firstTime, to: time)) * 0.2
        for input in 12..<NextVisitModel.inputs { first[input] = 0 }
        guard item.visits > 0 else { return }
        let decayed = SIMD3<Float>(
            item.counts.x * FastMath.exp2(-age / Self.ownHalfLives.x),
            item.counts.y * FastMath.exp2(-age / Self.ownHalfLives.y),
            item.counts.z * FastMath.exp2(-age / Self.ownHalfLives.z))
        let since = Float(moment.visit - item.lastVisit)
        first[12] = FastMath.log2(Float(item.visits)) * 0.5
        first[13] = Float(item.visits) / Float(moment.visit - item.firstVisit + 1)
        first[14] = FastMath.log2(decayed.x + 0.05) * 0.3
        first[15] = FastMath.log2(decayed.y + 0.05) * 0.3
        first[16] = FastMath.log2(decayed.z + 0.05) * 0.3
        first[17] = 1 / (1 + since)
        first[18] = FastMath.log2(1 + since) * 0.3
        first[19] = FastMath.log2(1 + age) * 0.2
        if item.visits > 1 {
            let gap = Self.days(from: item.firstTime, to: item.lastTime) / Float(item.visits - 1)
            let ratio = max(-4, min(4, FastMath.log2((age + 0.05) / (gap + 0.05))))
            first[20] = ratio * 0.3
            first[21] = ratio * ratio * 0.1
        }
    }
}
