import HalcyonEviction
import HalcyonLearning

/// What each user did last, how often with each object, and which categories the user likes best.
///
/// Users share records beyond ``bound`` of them. O(1) an access and category. Bytes: 100 a user, 128 more for one from whose cache
/// anything was evicted; 24 a place of ``PairRows`` for what each user did with each object, of which there are at most ``pairBound``.
struct PlannerUsers: ~Copyable {
    static let bound: UInt32 = 1 << 20
    static let pairBound = 3 << 20
    /// The half-life of the counts of a user's objects, in requests of the user.
    static let objectHalfLife: Float = 100
    static let evictedWidth = 16
    static let favouriteWidth = 6

    struct Record: BitwiseCopyable {
        /// How many requests the user made.
        var requests: UInt32 = 0
        /// When the last was made, in seconds, and how long after the one before; ``OnwardRates/first`` where there was
        /// none.
        var seconds: UInt32 = 0
        var pause: UInt32 = 0
        /// The last two objects, the latest first; the same one again counts once.
        var recent = UInt32.max
        var earlier = UInt32.max
        /// How many entries were evicted from the user's cache, and where the last of them are, once there was one.
        var evicted: UInt32 = 0
        var ring = UInt32.max
        /// The plans whose candidates wait for their label.
        var plans = PlanChain()
    }

    struct Visit: BitwiseCopyable {
        var count: UInt32 = 0
        /// The user's request of the last access, and when that was.
        var last: UInt32 = 0
        var seconds: UInt32 = 0
        var weight: Float = 0
        /// What the user went on to from it.
        var follower = Follower()
    }

    private(set) var records = HeapArray(repeating: Record(), count: 0)
    private(set) var visits = PairRows(repeating: Visit(), bound: pairBound)
    /// The categories that a user asks for most, by ``HabitFeatures/weight(_:_:)``, brought to a common time.
    private(set) var favourites = RankedLists(width: favouriteWidth)
    /// ``evictedWidth`` places for each user from whose cache anything was evicted: the objects, and the user's requests at which they left.
    private var evicted = HeapArray(repeating: UInt32.max, count: 0)
    private var departures = HeapArray<UInt32>(repeating: 0, count: 0)
    private var ringCount: UInt32 = 0
    /// Whether users go on, by how long they had paused.
    private(set) var onward = OnwardRates()

    var byteCount: Int {
        records.byteCount + visits.byteCount + favourites.byteCount + evicted.byteCount
            + departures.byteCount + onward.byteCount
    }

    /// The place of a user; one who is unknown has one, too.
    static func slot(_ user: UInt32) -> Int { Int((user &+ 1) & (bound - 1)) }

    /// Makes room for a user.
    mutating func prepare(_ slot: Int) {
        guard slot >= records.count else { return }
        records.grow(to: max(slot + 1, records.count * 2), filling: Record())
    }

    /// The user has asked for a category, and for it so often of late.
    mutating func favour(_ category: UInt32, weight: Float, slot: Int) {
        let time = FastMath.float(records[slot].requests) * UserProfiles.forgetting
        favourites.raise(category, to: FastMath.log2(weight) + time, in: slot)
    }

    /// What the user went on to from the last object in the past, and from that.
    func followers(_ slot: Int) -> (first: Follower, second: Follower) {
        let first = follower(of: records[slot].recent, slot)
        return (first, follower(of: first.object, slot))
    }

    /// What the user went on to from an object, as long as that is known.
    @inline(__always)
    private func follower(of object: UInt32, _ slot: Int) -> Follower {
        object == .max ? Follower() : visits.value(UInt32(slot), object)?.pointee.follower ?? Follower()
    }

    /// Takes an access to an object into account, and makes it the user's last.
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
        if record.requests > 0 { onward.noteNext(after: record.pause) }
        record.pause = record.requests == 0 ? OnwardRates.first : seconds &- record.seconds
        onward.note(record.pause)
        record.requests &+= 1
        record.seconds = seconds
        // A repeated access to one object is no step.
        if record.recent != access.object {
            if record.recent != .max {
                visits.updateKnown(UInt32(slot), record.recent) { $0.follower.note(access.object) }
            }
            record.earlier = record.recent
            record.recent = access.object
        }
        records[slot] = record
    }

    /// An object left the user's cache.
    mutating func evicted(_ object: UInt32, slot: Int) {
        if records[slot].ring == .max { addRing(slot) }
        let place = ring(slot) + Int(records[slot].evicted) % Self.evictedWidth
        evicted[place] = object
        departures[place] = records[slot].requests
        records[slot].evicted &+= 1
    }

    /// The `index`-th last object that left, if it is remembered; otherwise `UInt32.max`.
    @inline(__always)
    func evicted(_ index: Int, slot: Int) -> UInt32 {
        let number = Int(records[slot].evicted) - 1 - index
        guard number >= 0 && index < Self.evictedWidth else { return .max }
        return evicted[ring(slot) + number % Self.evictedWidth]
    }

    /// Whether an object that the user asks for now left within the user's last `horizon` requests; it is then forgotten.
    mutating func takeEviction(of object: UInt32, slot: Int, horizon: UInt32) -> Bool {
        guard records[slot].ring != .max else { return false }
        let objects = evicted.base + ring(slot)
        // Mostly it is none of them: seen without a branch for each.
        var isThere: UInt32 = 0
        for place in 0..<Self.evictedWidth { isThere |= objects[place] == object ? 1 : 0 }
        guard isThere != 0, let place = (0..<Self.evictedWidth).first(where: { objects[$0] == object }) else {
            return false
        }
        objects[place] = .max
        return records[slot].requests &- departures[ring(slot) + place] < horizon
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
        departures.grow(to: count, filling: 0)
    }
}

extension PlannerUsers {
    /// The plans of a user whose candidates wait for their label.
    func chain(_ slot: Int) -> UnsafeMutablePointer<PlanChain> {
        UnsafeMutableRawPointer(records.base + slot)
            .advanced(by: MemoryLayout<Record>.offset(of: \.plans) ?? 0)
            .assumingMemoryBound(to: PlanChain.self)
    }
}
