import HalcyonEviction
import HalcyonLearning

/// The history of each user: the last requests, the visits of each object, the evicted objects and the favourite
/// categories.
///
/// Users beyond ``bound`` share records. O(1) an access and category. Bytes: 100 a user, and 128 more for one whose
/// cache evicted anything. Also 24 a place of ``PairRows`` for each pair of user and object, at most ``pairBound`` of
/// them.
struct PlannerUsers: ~Copyable {
    static let bound: UInt32 = 1 << 20
    static let pairBound = 3 << 20
    /// The half-life of a user's counts of objects, in requests of the user.
    static let objectHalfLife: Float = 100
    static let evictedWidth = 16
    static let favouriteWidth = 6
    /// The requests of a user after which the scores of its favourites are lowered; see ``ScoreClock``.
    static let favouritePeriod = UInt32(ScoreClock.longest) * 200

    struct Record: BitwiseCopyable {
        /// The number of requests of the user.
        var requests: UInt32 = 0
        /// The time of the last request and the pause before it, in seconds; ``SessionContinuation/firstRequest`` for
        /// the first request.
        var seconds: UInt32 = 0
        var pause: UInt32 = 0
        /// The last two objects, latest first; repeated requests count once.
        var recent = UInt32.max
        var earlier = UInt32.max
        /// The number of evictions from the user's cache, and the ring of the last ones, if there were any.
        var evicted: UInt32 = 0
        var ring = UInt32.max
        /// The plans with candidates whose label is not known yet.
        var plans = PlanChain()
    }

    struct Visit: BitwiseCopyable {
        var count: UInt32 = 0
        /// The user's request number of the last access, and its time.
        var last: UInt32 = 0
        var seconds: UInt32 = 0
        var weight: Float = 0
        /// The user's likely next object.
        var successor = MajoritySuccessor()
    }

    private(set) var records = HeapArray(repeating: Record(), count: 0)
    private(set) var visits = PairRows(repeating: Visit(), bound: pairBound)
    /// The categories that a user requests most, by ``UserCategoryFeatures/weight(_:_:)`` scaled to a common time.
    private(set) var favourites = RankedLists(width: favouriteWidth)
    /// The rings of ``evictedWidth`` evicted objects for each user with evictions, and the user's request numbers at
    /// the evictions.
    private var evicted = HeapArray(repeating: UInt32.max, count: 0)
    private var evictionRequests = HeapArray<UInt32>(repeating: 0, count: 0)
    private var ringCount: UInt32 = 0
    /// The probability that users continue, by the length of their pause.
    private(set) var continuation = SessionContinuation()

    var byteCount: Int {
        records.byteCount + visits.byteCount + favourites.byteCount + evicted.byteCount
            + evictionRequests.byteCount + continuation.byteCount
    }

    /// Returns the index of a user. Unknown users share one.
    static func slot(_ user: UInt32) -> Int { Int((user &+ 1) & (bound - 1)) }

    /// Makes room for a user.
    mutating func prepare(_ slot: Int) {
        guard slot >= records.count else { return }
        records.grow(to: max(slot + 1, records.count * 2), filling: Record())
    }

    /// Updates the score of a category that the user has requested; `weight` is its decayed count.
    mutating func updateFavourite(_ category: UInt32, weight: Float, slot: Int) {
        let time = FastMath.float(records[slot].requests % Self.favouritePeriod) * UserProfiles.forgetting
        favourites.raise(category, to: FastMath.log2(weight) + time, in: slot)
    }

    /// Returns the user's likely successor of the last object, and the successor of that.
    func likelySuccessors(_ slot: Int) -> (first: MajoritySuccessor, second: MajoritySuccessor) {
        let first = successor(of: records[slot].recent, slot)
        return (first, successor(of: first.object, slot))
    }

    /// Returns the user's likely successor of an object, while it is recorded.
    @inline(__always)
    private func successor(of object: UInt32, _ slot: Int) -> MajoritySuccessor {
        object == .max
            ? MajoritySuccessor() : visits.value(UInt32(slot), object)?.pointee.successor ?? MajoritySuccessor()
    }

    /// Records an access to an object and makes it the user's last.
    mutating func finish(_ slot: Int, access: Access, seconds: UInt32) {
        let requests = records[slot].requests
        visits.update(UInt32(slot), access.object) { visit in
            let age = requests &- visit.last
            visit.weight = visit.weight * FastMath.exp2(-FastMath.float(age) / Self.objectHalfLife) + 1
            visit.count &+= 1
            visit.last = requests
            visit.seconds = seconds
        }
        var record = records[slot]
        if record.requests > 0 { continuation.noteNext(after: record.pause) }
        record.pause = record.requests == 0 ? SessionContinuation.firstRequest : seconds &- record.seconds
        continuation.note(record.pause)
        record.requests &+= 1
        if record.requests % Self.favouritePeriod == 0 { favourites.lower(by: Float(ScoreClock.longest), in: slot) }
        record.seconds = seconds
        // Repeated requests for one object are not a step.
        if record.recent != access.object {
            if record.recent != .max {
                visits.updateKnown(UInt32(slot), record.recent) { $0.successor.note(access.object) }
            }
            record.earlier = record.recent
            record.recent = access.object
        }
        records[slot] = record
    }

    /// Records that an object was evicted from the user's cache.
    mutating func evicted(_ object: UInt32, slot: Int) {
        if records[slot].ring == .max { addRing(slot) }
        let place = ring(slot) + Int(records[slot].evicted) % Self.evictedWidth
        evicted[place] = object
        evictionRequests[place] = records[slot].requests
        records[slot].evicted &+= 1
    }

    /// Returns the `index`-th last evicted object, or `UInt32.max` if it is not recorded.
    @inline(__always)
    func evicted(_ index: Int, slot: Int) -> UInt32 {
        let number = Int(records[slot].evicted) - 1 - index
        guard number >= 0 && index < Self.evictedWidth else { return .max }
        return evicted[ring(slot) + number % Self.evictedWidth]
    }

    /// Returns whether the requested object was evicted within the user's last `labelWindow` requests, and removes it from
    /// the ring.
    mutating func takeEviction(of object: UInt32, slot: Int, labelWindow: UInt32) -> Bool {
        guard records[slot].ring != .max else { return false }
        let objects = evicted.base + ring(slot)
        // Usually it is none of them, which this loop finds out without a branch for each.
        var isThere: UInt32 = 0
        for place in 0..<Self.evictedWidth { isThere |= objects[place] == object ? 1 : 0 }
        guard isThere != 0, let place = (0..<Self.evictedWidth).first(where: { objects[$0] == object }) else {
            return false
        }
        objects[place] = .max
        return records[slot].requests &- evictionRequests[ring(slot) + place] < labelWindow
    }

    @inline(__always)
    private func ring(_ slot: Int) -> Int { Int(records[slot].ring) * Self.evictedWidth }

    private mutating func addRing(_ slot: Int) {
        records[slot].ring = ringCount
        ringCount += 1
        let end = Int(ringCount) * Self.evictedWidth
        guard end > evicted.count else { return }
        let count = max(end, evicted.count * 2)
        evicted.grow(to: count, filling: .max)
        evictionRequests.grow(to: count, filling: 0)
    }
}

extension PlannerUsers {
    /// Returns the plans of a user whose candidates have no label yet.
    func chain(_ slot: Int) -> UnsafeMutablePointer<PlanChain> {
        UnsafeMutableRawPointer(records.base + slot)
            .advanced(by: MemoryLayout<Record>.offset(of: \.plans) ?? 0)
            .assumingMemoryBound(to: PlanChain.self)
    }
}

/// The probability that a user makes another request, by the length of the pause before the last one.
///
/// Pauses are divided into classes of a quarter of an octave. O(1). Bytes: 512.
struct SessionContinuation: ~Copyable {
    /// The pause of a first request.
    static let firstRequest = UInt32.max
    private static let kinds = 64
    /// The factor by which each request decays the counts of its class.
    private static let keep: Float = 1 - 1 / 5_000

    private let requests = HeapArray<Float>(repeating: 0, count: kinds)
    private let followed = HeapArray<Float>(repeating: 0, count: kinds)

    var byteCount: Int { requests.byteCount + followed.byteCount }

    /// Records a request after `pause` seconds.
    mutating func note(_ pause: UInt32) {
        let kind = Self.kind(pause)
        requests[kind] = requests[kind] * Self.keep + 1
        followed[kind] *= Self.keep
    }

    /// Records another request of a user whose last one came after `pause` seconds.
    mutating func noteNext(after pause: UInt32) { followed[Self.kind(pause)] += 1 }

    /// Returns the share of requests after such a pause that were followed by another of the same user.
    func probability(after pause: UInt32) -> Float {
        let kind = Self.kind(pause)
        return min((followed[kind] + 1) / (requests[kind] + 2), 1)
    }

    private static func kind(_ pause: UInt32) -> Int {
        pause == firstRequest ? kinds - 1 : min(Int(FastMath.log2(FastMath.float(pause) + 1) * 4), kinds - 2)
    }
}
