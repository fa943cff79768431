import Foundation
import HalcyonPipeline

/// The most that each tier of a cache can hold.
struct CacheCapacity: Sendable, Equatable {
    var memory = 0
    /// 0 without a disk.
    var disk = 0
}

/// The environment of a ``Forecaster``: its cache, and the manager that loads images.
struct ForesightSurroundings: Sendable {
    /// The result of a fetch.
    enum Fetched: Sendable, Equatable {
        /// The image was loaded: its bytes over the network, and its size in memory.
        case loaded(bytes: Int, cost: Int)
        /// The image was cached already.
        case wasThere
        case failed
        /// The server rejects the request, and would reject it again.
        case rejected
        case cancelled
        /// The manager no longer exists.
        case nobody
    }

    /// Returns the computed key under which an object is cached for a user; `nil` if it is not.
    ///
    /// It is the object's own, or that of an entry which is private to the user. The key of the source is `nil` if it is not known.
    var heldKey: @Sendable (_ key: String, _ source: String?, _ user: String?) -> String?
    /// The capacity of the tiers.
    var capacity: @Sendable () -> CacheCapacity
    /// The size that a further value may have in memory without an eviction.
    var room: @Sendable () -> Int
    /// Sets whether the prefetched value of a computed key is still likely to be requested.
    var reconsider: @Sendable (_ key: String, _ isLikely: Bool) -> Void
    /// The name of the file of a computed key; `nil` without a disk.
    var fileName: @Sendable (_ key: String) -> String?
    /// The folder of the kept model, accesses and spending; `nil` without a disk.
    var folder: @Sendable () -> URL?
    /// The wall time in microseconds.
    var now: @Sendable () -> Int64
    /// Prefetches an image; returns once it is in all its tiers.
    var fetch: @Sendable (Resource, ImageOptions) async -> Fetched
}
