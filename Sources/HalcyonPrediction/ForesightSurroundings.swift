import Foundation
import HalcyonPipeline

/// The most that each tier of a cache can hold.
struct CacheCapacity: Sendable, Equatable {
    var memory = 0
    /// 0 without a disk.
    var disk = 0
}

/// What a ``Forecaster`` sees and moves of the world: the cache it fetches for, and the manager that it fetches through.
struct ForesightSurroundings: Sendable {
    /// What came of a fetch.
    enum Fetched: Sendable, Equatable {
        /// It is loaded, and came over the network with so many bytes; it costs so much in memory.
        case loaded(bytes: Int, cost: Int)
        /// It was there already.
        case wasThere
        case failed
        /// It failed, and would again: the server says that the request is wrong.
        case rejected
        case cancelled
        /// Nobody is there any more to fetch it.
        case nobody
    }

    /// Whether a computed key is cached.
    var holds: @Sendable (_ key: String) -> Bool
    /// What the tiers can hold.
    var capacity: @Sendable () -> CacheCapacity
    /// What another value may cost without one having to leave.
    var room: @Sendable () -> Int
    /// Says of what was fetched under a computed key whether it is still likely to be asked for.
    var reconsider: @Sendable (_ key: String, _ isLikely: Bool) -> Void
    /// The name by which the disk tells of a computed key; `nil` without a disk.
    var fileName: @Sendable (_ key: String) -> String?
    /// The folder where it is kept what the planner has learnt, and what was spent; `nil` without a disk.
    var folder: @Sendable () -> URL?
    /// The wall time in microseconds.
    var now: @Sendable () -> Int64
    /// Brings an image into the cache ahead of need; returns when it is in all tiers in which it will be.
    var fetch: @Sendable (Resource, ImageOptions) async -> Fetched
}
