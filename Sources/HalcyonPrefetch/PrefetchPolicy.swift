import HalcyonEviction

/// A prefetch policy: it proposes, after each access, objects to fetch before they are requested.
///
/// Like an eviction policy it sees dense integers, never keys, and it must be causal and deterministic. All caches
/// number objects alike (`Access.object`). Each category set is defined before the first access or announcement that
/// carries it.
///
/// One driver calls it, in the replay engine and in the live prefetcher. It performs these steps for each request:
///
/// 1. ``note(_:isHit:)``;
/// 2. ``evicted(_:from:)`` or ``dropped(_:)`` for each entry that was evicted;
/// 3. ``plan(after:outlook:into:)``;
/// 4. the plan's reconsiderations are passed to the cache, and its proposals are fetched in order within the budget.
///
/// Before the first request that follows a moment such as the end of a visit, it calls ``plan(at:outlook:into:)`` and does the same
/// with that plan. When a list of objects is shown to a user, it calls ``plan(on:outlook:into:)`` in the same way.
///
/// One instance serves all users, so it can apply what it learns from one user to the next. It is used by one thread
/// at a time.
public protocol PrefetchPolicy: AnyObject {
    /// Defines the members of a category set, once. Ignored by default.
    func define(categorySet: CategorySetID, members: [UInt32])

    /// Announces an object that exists from now on. Usually it has not been requested. Objects of a list come one after the
    /// other in its order; see ``AnnouncedObject/rank``. Ignored by default.
    func announce(_ object: AnnouncedObject)

    /// Takes over what a server knows of all users' openings of lists, in place of earlier ones. Ignored by default.
    func announce(_ rates: CategoryRates)

    /// Records a request for an object.
    ///
    /// - Parameter isHit: whether the cache held the object.
    func note(_ access: Access, isHit: Bool)

    /// Records that an object that had been requested was evicted from the cache of `user`. Ignored by default.
    func evicted(_ object: UInt32, from user: UInt32)

    /// Records that a prefetched object was evicted before its first request. Ignored by default.
    func dropped(_ object: UInt32)

    /// Appends proposals to `plan`, best first. None of the proposed objects is in the cache. May also reconsider
    /// objects of ``PrefetchOutlook/unused``.
    ///
    /// - Parameter access: the access that was recorded last.
    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan)

    /// Whether ``plan(at:outlook:into:)`` may propose anything. False by default.
    var plansBetweenRequests: Bool { get }

    /// Appends proposals at a moment between requests, best first. None of the proposed objects is in the cache. Proposes nothing by
    /// default.
    ///
    /// - Parameters:
    ///   - moment: a moment no earlier than the last recorded access.
    ///   - outlook: ``PrefetchOutlook/limit`` is what the visit has left; ``PrefetchOutlook/unused`` is empty.
    func plan(at moment: PlanningMoment, outlook: PrefetchOutlook, into plan: inout PrefetchPlan)

    /// Whether ``plan(on:outlook:into:)`` may propose anything. False by default.
    var plansOnLists: Bool { get }

    /// Records a list that is shown to a user, and appends proposals from it, best first. None of the proposed objects is in
    /// the cache. Proposes nothing by default.
    ///
    /// - Parameters:
    ///   - list: a list that is shown no earlier than the last recorded access.
    ///   - outlook: ``PrefetchOutlook/limit`` is what the list may fetch; ``PrefetchOutlook/unused`` is empty.
    func plan(on list: ShownList, outlook: PrefetchOutlook, into plan: inout PrefetchPlan)

    /// Whether the policy has learned enough to propose objects after an access. True by default.
    var isReady: Bool { get }

    /// Whether the policy has learned enough to propose objects at a moment between requests. True by default.
    var isReadyBetweenRequests: Bool { get }

    /// The calibration of the policy's probabilities. Empty by default, for a policy that states none.
    var calibration: [CalibrationBin] { get }

    /// The heap memory that the policy occupies, in bytes.
    var metadataBytes: Int { get }

    /// The named quantities that the policy publishes. Empty by default.
    var metrics: [PolicyMetric] { get }
}

extension PrefetchPolicy {
    public func define(categorySet: CategorySetID, members: [UInt32]) {}
    public func announce(_ object: AnnouncedObject) {}
    public func announce(_ rates: CategoryRates) {}
    public func evicted(_ object: UInt32, from user: UInt32) {}
    public func dropped(_ object: UInt32) {}
    public var plansBetweenRequests: Bool { false }
    public func plan(at moment: PlanningMoment, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {}
    public var plansOnLists: Bool { false }
    public func plan(on list: ShownList, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {}
    public var isReady: Bool { true }
    public var isReadyBetweenRequests: Bool { true }
    public var calibration: [CalibrationBin] { [] }
    public var metrics: [PolicyMetric] { [] }
}

/// The environment of a prefetch policy, given when it is created.
public struct PrefetchContext: Sendable {
    /// The seed of all random numbers.
    public var seed: UInt64
    /// The number of objects to reserve memory for; 0 if it is not known.
    public var objects: Int
    /// Returns the object whose key is the number after an object's key, whether or not it was or will ever be
    /// requested; `nil` if the key is not a number. Only ``NextKeyPrefetch`` uses it.
    public var nextByKey: (@Sendable (UInt32) -> UInt32?)?

    /// The duration of a fetch in microseconds; 0 if it is not known. A fetch gains nothing for an object that is
    /// requested sooner.
    public var fetchLatency: Int64

    /// The idle time after which a visit has ended, in microseconds.
    public var idleTime: Int64

    /// Whether each user has a cache, so that only this user misses what was evicted from it. Otherwise one cache
    /// serves all users.
    public var cachesPerUser: Bool

    /// Whether the policy serves one user alone, as on a device. A planner on lists then begins with the shipped model.
    public var servesOneUser: Bool

    /// Creates a context. Every argument has a neutral default.
    public init(
        seed: UInt64 = 1, objects: Int = 0, nextByKey: (@Sendable (UInt32) -> UInt32?)? = nil, fetchLatency: Int64 = 0,
        idleTime: Int64 = PlanningMoment.idleTime, cachesPerUser: Bool = false, servesOneUser: Bool = false
    ) {
        self.seed = seed
        self.objects = objects
        self.nextByKey = nextByKey
        self.fetchLatency = fetchLatency
        self.idleTime = idleTime
        self.cachesPerUser = cachesPerUser
        self.servesOneUser = servesOneUser
    }

    /// Returns whether a request at a time begins a visit of a user whose last request was at `last`; `Int64.min` for none.
    func endsVisit(_ last: Int64, at time: Int64) -> Bool {
        let (end, isNever) = last.addingReportingOverflow(idleTime)
        return last == .min || !isNever && end <= time
    }
}

/// An object that exists according to the owner of a catalogue.
public struct AnnouncedObject: Sendable, Equatable {
    /// The object's number.
    public var object: UInt32
    /// The object's categories.
    public var categories: CategorySetID
    /// The capacity that the object takes: bytes, or 1.
    public var size: Int
    /// The time since which the object exists, in microseconds.
    public var time: Int64
    /// The place of the object in a list, from 0 for what is recommended first. A list begins with rank 0 and replaces the one
    /// before. Nil for an object that was announced without a list.
    public var rank: Int?
    /// The server's count of the requests of all users in the period of the list. Nil if it sends none.
    public var count: Int?

    /// The largest number of objects of a list.
    public static let longestList = 10_000

    /// Creates an object. The time 0 stands for an object that has always existed.
    public init(
        object: UInt32, categories: CategorySetID = 0, size: Int = 1, time: Int64 = 0, rank: Int? = nil,
        count: Int? = nil
    ) {
        self.object = object
        self.categories = categories
        self.size = size
        self.time = time
        self.rank = rank
        self.count = count
    }
}
