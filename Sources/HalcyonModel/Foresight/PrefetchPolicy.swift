import HalcyonEviction

/// Says, after each access, what to fetch before anybody asks for it.
///
/// Like an eviction policy it sees dense integers, never keys, and it must be causal and deterministic. Objects have
/// numbers that all caches agree on (``Access/object``); categories are told set by set, before the first access or
/// announcement that carries one. Whoever runs it (the replayer, the live prefetcher) calls, for each request, first
/// ``note(_:isHit:)``, then ``evicted(_:from:)`` for each entry that had to leave, then ``plan(after:outlook:into:)``; tells the cache
/// what is likely no longer, and fetches the proposals in their order as far as the budget goes.
///
/// One instance serves all users of a fleet, so that what one does serves the next. It is used by one thread at a time.
public protocol PrefetchPolicy: AnyObject {
    /// What the members of a category set are; told once. By default of no account.
    func define(categorySet: CategorySetID, members: [UInt32])

    /// An object exists from now on, though nobody has asked for it yet. By default of no account.
    func announce(_ object: AnnouncedObject)

    /// Somebody asked for an object.
    ///
    /// - Parameter isHit: whether the cache held it.
    func note(_ access: Access, isHit: Bool)

    /// An object that had been asked for left the cache of `user` to make room. By default of no account.
    func evicted(_ object: UInt32, from user: UInt32)

    /// Adds what is best fetched now to the proposals of `plan`, best first. None of it is in the cache. May judge what waits
    /// there.
    ///
    /// - Parameter access: the last that was noted.
    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan)

    /// How well its probabilities agree with what happened. By default empty: it gives none.
    var calibration: [CalibrationBin] { get }

    /// The heap bytes it holds.
    var metadataBytes: Int { get }

    /// Named quantities that it publishes. By default none.
    var metrics: [PolicyMetric] { get }
}

extension PrefetchPolicy {
    public func define(categorySet: CategorySetID, members: [UInt32]) {}
    public func announce(_ object: AnnouncedObject) {}
    public func evicted(_ object: UInt32, from user: UInt32) {}
    public var calibration: [CalibrationBin] { [] }
    public var metrics: [PolicyMetric] { [] }
}

/// An object of which the owner of a catalogue says that it exists.
public struct AnnouncedObject: Sendable, Equatable {
    /// Its number.
    public var object: UInt32
    /// Its categories.
    public var categories: CategorySetID
    /// What it takes of a cache: bytes, or 1.
    public var cost: Int
    /// Since when it exists, in microseconds.
    public var time: Int64

    /// An object; one that has existed for ever has the time 0.
    public init(object: UInt32, categories: CategorySetID = 0, cost: Int = 1, time: Int64 = 0) {
        self.object = object
        self.categories = categories
        self.cost = cost
        self.time = time
    }
}

/// What a prefetch policy may know of the cache for which it plans.
public struct PrefetchOutlook {
    /// How many objects may be fetched now; no use in proposing more.
    public var limit: Int
    /// Whether there is room for another entry without one having to leave.
    public var hasRoom: Bool
    /// Some of the objects that were fetched ahead for the user, are in the cache, and were not asked for since; at most
    /// ``WaitingObjects/mostAtOnce``, and only where one has to leave.
    public var waiting: [UInt32]
    /// Whether an object is in the cache or on its way there.
    public var holds: (UInt32) -> Bool

    /// An outlook.
    public init(limit: Int, hasRoom: Bool, waiting: [UInt32] = [], holds: @escaping (UInt32) -> Bool) {
        self.limit = limit
        self.hasRoom = hasRoom
        self.waiting = waiting
        self.holds = holds
    }
}

/// What a prefetch policy says after an access.
public struct PrefetchPlan: Sendable, Equatable {
    /// What is best fetched now, best first.
    public private(set) var proposals: [PrefetchProposal] = []
    /// What it thinks by now of objects that wait; nothing of those that are not among them.
    public private(set) var judgements: [WaitingJudgement] = []

    /// Nothing is said yet.
    public init() {}

    /// Proposes another object to be fetched, after those before.
    public mutating func propose(_ object: UInt32, probability: Float? = nil) {
        proposals.append(PrefetchProposal(object: object, probability: probability))
    }

    /// Says whether an object of ``PrefetchOutlook/waiting`` is still likely enough to keep.
    public mutating func judge(_ object: UInt32, isLikely: Bool) {
        judgements.append(WaitingJudgement(object: object, isLikely: isLikely))
    }

    /// Takes everything back, keeping the memory.
    public mutating func removeAll() {
        proposals.removeAll(keepingCapacity: true)
        judgements.removeAll(keepingCapacity: true)
    }
}

/// Whether an object that was fetched ahead, and that nobody has asked for yet, is still likely enough to keep.
public struct WaitingJudgement: Sendable, Equatable {
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

/// What came of the objects that were given probabilities between two bounds.
public struct CalibrationBin: Sendable, Codable, Equatable {
    /// The lower bound.
    public var from: Double
    /// The upper bound.
    public var to: Double
    /// How many there were.
    public var count: Int
    /// Their mean predicted probability; 0 where there are none.
    public var predicted: Double
    /// The share of them that were asked for within the horizon; 0 where there are none.
    public var observed: Double

    /// A bin.
    public init(from: Double, to: Double, count: Int, predicted: Double, observed: Double) {
        self.from = from
        self.to = to
        self.count = count
        self.predicted = predicted
        self.observed = observed
    }
}
