/// What a prefetch policy says after an access.
public struct PrefetchPlan: Sendable, Equatable {
    /// What is best fetched now, best first.
    public private(set) var proposals: [PrefetchProposal] = []
    /// What it thinks by now of objects that wait; nothing of those that are not among them.
    public private(set) var reconsiderations: [Reconsideration] = []

    /// Nothing is said yet.
    public init() {}

    /// Proposes another object to be fetched, after those before.
    public mutating func propose(_ object: UInt32, probability: Float? = nil) {
        proposals.append(PrefetchProposal(object: object, probability: probability))
    }

    /// Says whether an object of ``PrefetchOutlook/unused`` is still likely enough to keep.
    public mutating func reconsider(_ object: UInt32, isLikely: Bool) {
        reconsiderations.append(Reconsideration(object: object, isLikely: isLikely))
    }

    /// Takes everything back, keeping the memory.
    public mutating func removeAll() {
        proposals.removeAll(keepingCapacity: true)
        reconsiderations.removeAll(keepingCapacity: true)
    }
}

/// Whether an object that was fetched ahead, and that nobody has asked for yet, is still likely enough to keep.
public struct Reconsideration: Sendable, Equatable {
    /// Its number.
    public var object: UInt32
    /// If not, it is the first to go.
    public var isLikely: Bool

    /// A judgement.
    public init(object: UInt32, isLikely: Bool) {
        self.object = object
        self.isLikely = isLikely
    }
}

/// An object worth fetching.
public struct PrefetchProposal: Sendable, Equatable {
    /// Its number.
    public var object: UInt32
    /// The probability that the user asks for it within the horizon; `nil` from a policy that gives none.
    public var probability: Float?

    /// A proposal.
    public init(object: UInt32, probability: Float? = nil) {
        self.object = object
        self.probability = probability
    }
}

/// What a prefetch policy may know of the cache for which it plans.
public struct PrefetchOutlook {
    /// How many objects may be fetched now; no use in proposing more.
    public var limit: Int
    /// How much may come in without an entry having to leave, in the unit of ``Access/size``.
    public var room: Int
    /// The most that an entry may cost to be let in at all, however many others leave.
    public var capacity: Int
    /// Some of the objects that were fetched ahead for the user, are in the cache, and were not asked for since; at most
    /// ``UnusedPrefetches/mostAtOnce``, and only where another like the one just asked for would not find room.
    public var unused: [UInt32]
    /// Whether an object is in the cache or on its way there.
    public var holds: (UInt32) -> Bool

    /// An outlook.
    public init(
        limit: Int, room: Int, capacity: Int = .max, unused: [UInt32] = [], holds: @escaping (UInt32) -> Bool
    ) {
        self.limit = limit
        self.room = room
        self.capacity = capacity
        self.unused = unused
        self.holds = holds
    }
}
