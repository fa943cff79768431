import HalcyonEviction

/// Says, after each access, what to fetch before anybody asks for it.
///
/// Like an eviction policy it sees dense integers, never keys, and it must be causal and deterministic. Objects have
/// numbers that all caches agree on (``Access/object``); categories are told set by set, before the first access or
/// announcement that carries one. Whoever runs it (the replayer, the live prefetcher) calls, for each request, first
/// ``note(_:isHit:)``, then ``evicted(_:from:)`` or ``dropped(_:)`` for each entry that had to leave, then ``plan(after:outlook:into:)``; tells the
/// cache what is likely no longer, and fetches the proposals in their order as far as the budget goes.
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

    /// An object that had been fetched ahead left before anybody asked for it. By default of no account.
    func dropped(_ object: UInt32)

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
    public func dropped(_ object: UInt32) {}
    public var calibration: [CalibrationBin] { [] }
    public var metrics: [PolicyMetric] { [] }
}

/// What a prefetch policy is told when it is made.
public struct PrefetchContext: Sendable {
    /// The seed of everything random.
    public var seed: UInt64
    /// How many objects to make room for from the start; 0 where nobody knows.
    public var objects: Int
    /// The object whose key is the number after that of an object's key, whether anybody has asked for it or not; `nil` where
    /// keys are no numbers. Only ``NextKeyPrefetch`` looks at it.
    public var nextByKey: (@Sendable (UInt32) -> UInt32?)?

    /// How long a fetch takes, in microseconds; 0 where nobody knows. What is asked for sooner was not worth a fetch.
    public var fetchLatency: Int64

    /// Whether each user has a cache, so that what left one is missed by that user alone. Otherwise one cache serves all.
    public var cachesPerUser: Bool

    /// A context; everything has a neutral default.
    public init(
        seed: UInt64 = 1, objects: Int = 0, nextByKey: (@Sendable (UInt32) -> UInt32?)? = nil, fetchLatency: Int64 = 0,
        cachesPerUser: Bool = false
    ) {
        self.seed = seed
        self.objects = objects
        self.nextByKey = nextByKey
        self.fetchLatency = fetchLatency
        self.cachesPerUser = cachesPerUser
    }
}

/// An object of which the owner of a catalogue says that it exists.
public struct AnnouncedObject: Sendable, Equatable {
    /// Its number.
    public var object: UInt32
    /// Its categories.
    public var categories: CategorySetID
    /// What it takes of a cache: bytes, or 1.
    public var size: Int
    /// Since when it exists, in microseconds.
    public var time: Int64

    /// An object; one that has existed for ever has the time 0.
    public init(object: UInt32, categories: CategorySetID = 0, size: Int = 1, time: Int64 = 0) {
        self.object = object
        self.categories = categories
        self.size = size
        self.time = time
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
