/// The result of a prefetch policy after an access.
public struct PrefetchPlan: Sendable, Equatable {
    /// The objects to fetch now, best first.
    public private(set) var proposals: [PrefetchProposal] = []
    /// The policy's current verdicts on objects of ``PrefetchOutlook/unused``. It may omit any of them.
    public private(set) var reconsiderations: [Reconsideration] = []

    /// The residents that leave next when room is needed, in this order, before the eviction policy is asked. They replace those of
    /// the plan before. Objects that the cache does not hold are skipped.
    public private(set) var releases: [UInt32] = []

    /// The objects of a list that is shown, best first: of those that the cache holds, the last leave before the first. If it is empty,
    /// the order of the list counts.
    public var ranking: [UInt32] = []

    /// Creates an empty plan.
    public init() {}

    /// Appends an object to the proposals.
    public mutating func propose(_ object: UInt32, probability: Float? = nil) {
        proposals.append(PrefetchProposal(object: object, probability: probability))
    }

    /// States whether an object of ``PrefetchOutlook/unused`` is still likely enough to keep.
    public mutating func reconsider(_ object: UInt32, isLikely: Bool) {
        reconsiderations.append(Reconsideration(object: object, isLikely: isLikely))
    }

    /// Names a resident that leaves next when room is needed, after those named before.
    public mutating func release(_ object: UInt32) { releases.append(object) }

    /// Empties the plan, and keeps the memory.
    public mutating func removeAll() {
        proposals.removeAll(keepingCapacity: true)
        reconsiderations.removeAll(keepingCapacity: true)
        releases.removeAll(keepingCapacity: true)
        ranking.removeAll(keepingCapacity: true)
    }
}

/// A verdict on a prefetched object that has not been requested yet.
public struct Reconsideration: Sendable, Equatable {
    /// The object's number.
    public var object: UInt32
    /// Whether the object is likely enough to keep. Otherwise the cache evicts it first.
    public var isLikely: Bool

    /// Creates a reconsideration.
    public init(object: UInt32, isLikely: Bool) {
        self.object = object
        self.isLikely = isLikely
    }
}

/// An object that is worth fetching.
public struct PrefetchProposal: Sendable, Equatable {
    /// The object's number.
    public var object: UInt32
    /// The probability that the user requests the object within the label window; `nil` if the policy states none.
    public var probability: Float?

    /// Creates a proposal.
    public init(object: UInt32, probability: Float? = nil) {
        self.object = object
        self.probability = probability
    }
}

/// What a prefetch policy may know of the cache for which it plans.
public struct PrefetchOutlook {
    /// The number of objects that may be fetched now. Further proposals are ignored.
    public var limit: Int
    /// The capacity that is free without an eviction, in the unit of `Access.size`.
    public var room: Int
    /// The capacity of the cache. It does not admit a larger object.
    public var capacity: Int
    /// Objects that were prefetched for the user, are in the cache and have not been requested since. There is at most one, and only if
    /// an object of the last request's size would not find room.
    public var unused: [UInt32]
    /// Returns whether an object is not to be proposed: it is in the cache, in flight, or cannot be fetched now.
    public var holds: (UInt32) -> Bool
    /// Returns whether an object is in the cache or in flight. In a replay, where all objects can be fetched, it is the same as
    /// ``holds``.
    public var isResident: (UInt32) -> Bool

    /// Creates an outlook.
    ///
    /// - Parameter isResident: by default the same as `holds`.
    public init(
        limit: Int, room: Int, capacity: Int = .max, unused: [UInt32] = [], isResident: ((UInt32) -> Bool)? = nil,
        holds: @escaping (UInt32) -> Bool
    ) {
        self.limit = limit
        self.room = room
        self.capacity = capacity
        self.unused = unused
        self.holds = holds
        // `??` would wrap both in closures of a generic type, which are called for every object of a plan.
        if let isResident { self.isResident = isResident } else { self.isResident = holds }
    }
}
