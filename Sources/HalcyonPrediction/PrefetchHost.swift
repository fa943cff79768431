import Foundation
import HalcyonAccessLog
import HalcyonPipeline

/// The host of a ``LivePrefetcher``: its cache, and the manager that loads images.
struct PrefetchHost: Sendable {
    /// The result of a fetch.
    enum Fetched: Sendable, Equatable {
        /// The image was loaded: its bytes over the network, and its size in memory.
        case loaded(bytes: Int, cost: Int)
        /// The image was cached already.
        case cached
        case failed
        /// The server rejects the request, and would reject it again.
        case rejected
        case cancelled
        /// The manager no longer exists.
        case noManager
    }

    /// Returns the computed key under which an object is cached for a user; `nil` if it is not.
    ///
    /// It is the object's own, or that of an entry which is private to the user. The key of the source is `nil` if it is not known.
    var heldKey: @Sendable (_ key: String, _ source: String?, _ user: String?) -> String?
    /// The capacity of the tiers.
    var capacity: @Sendable () -> CacheCapacity
    /// The size that a further value may have in memory without an eviction.
    var room: @Sendable () -> Int
    /// The number of files for which there is room on disk without an eviction; `nil` if that is not limited or not known.
    var roomOnDisk: @Sendable () -> Int? = { nil }
    /// Sets the computed keys whose values the tiers evict first, in this order.
    var evictNext: @Sendable (_ keys: [String]) -> Void = { _ in }
    /// Sets whether the prefetched value of a computed key is still likely to be requested.
    var reconsider: @Sendable (_ key: String, _ isLikely: Bool) -> Void
    /// The name of the file of a computed key; `nil` without a disk.
    var fileName: @Sendable (_ key: String) -> String?
    /// The folder of the kept model, accesses and spending; `nil` without a disk.
    var folder: @Sendable () -> URL?
    /// The wall time in microseconds.
    var now: @Sendable () -> Int64
    /// Records an event in the cache's recorder, if it has one.
    var record: @Sendable (RecordedEvent) -> Void = { _ in }
    /// Prefetches an image; returns once it is in all its tiers.
    var fetch: @Sendable (Resource, ImageOptions) async -> Fetched
}

/// The most that each tier of a cache can hold.
struct CacheCapacity: Sendable, Equatable {
    var memory = 0
    /// 0 without a disk.
    var disk = 0
}
