import HalcyonEviction
import HalcyonSupport

/// A bin of calibrated probabilities.
public typealias CalibrationBin = HalcyonSupport.CalibrationBin

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
