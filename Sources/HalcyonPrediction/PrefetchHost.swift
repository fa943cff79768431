import Foundation
import HalcyonAccessLog
import HalcyonCache
import HalcyonPipeline
import HalcyonSupport

/// The host of a ``LivePrefetcher``: its cache, and the manager that loads images.
protocol PrefetchHost: Sendable {
    var clock: any CacheClock { get }
    /// The capacity of the tiers.
    var capacity: CacheCapacity { get }
    /// The size that a further value may have in memory without an eviction.
    var room: Int { get }
    /// The number of files for which there is room on disk without an eviction; `nil` if that is not limited or not known.
    var roomOnDisk: Int? { get }
    /// The folder of the kept model, accesses and spending; `nil` without a disk.
    var folder: URL? { get }
    /// Returns the computed key under which an object is cached for a user; `nil` if it is not.
    ///
    /// It is the object's own, or that of an entry which is private to the user. The key of the source is `nil` if it is not known.
    func heldKey(_ key: String, ofSource source: String?, for user: String?) -> String?
    /// Returns the name of the file of a computed key; `nil` without a disk.
    func fileName(forKey key: String) -> String?
    /// Sets the computed keys whose values the tiers evict first, in this order.
    func evictNext(_ keys: [String])
    /// Sets whether the prefetched value of a computed key is still likely to be requested.
    func reconsider(_ key: String, isLikely: Bool)
    /// Records an event in the cache's recorder, if it has one.
    func record(_ event: RecordedEvent)
    /// Prefetches an image; returns once it is in all its tiers.
    func fetch(_ resource: Resource, _ options: ImageOptions) async -> FetchResult
    /// Returns once the disk has written what the cache stored.
    func settle() async
}

/// The result of a prefetch by a ``PrefetchHost``.
enum FetchResult: Sendable, Equatable {
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

/// The most that each tier of a cache can hold.
struct CacheCapacity: Sendable, Equatable {
    var memory = 0
    /// 0 without a disk.
    var disk = 0
}

/// A manager and its cache as a host, as long as they exist.
struct ManagerHost: PrefetchHost {
    let clock: any CacheClock
    private let find: @Sendable () -> HalcyonManager?
    private let findCache: @Sendable () -> ImageCache<Bitmap>?
    private let forcedExtension: String?
    private let toMemory: Bool

    /// - Parameter toMemory: whether images are fetched into memory, too.
    init(_ manager: HalcyonManager, toMemory: Bool) {
        clock = manager.cache.clock
        find = { [weak manager] in manager }
        findCache = { [weak cache = manager.cache] in cache }
        forcedExtension = manager.defaultOptions.forcedExtension
        self.toMemory = toMemory
    }

    private var cache: ImageCache<Bitmap>? { findCache() }

    var capacity: CacheCapacity {
        CacheCapacity(
            memory: cache?.memoryStorage.config.limits.cost ?? 0, disk: cache?.diskStorage?.config.limits.cost ?? 0)
    }
    var room: Int { cache?.memoryStorage.room ?? 0 }
    var roomOnDisk: Int? { cache?.diskStorage?.roomInFiles }
    var folder: URL? { cache?.diskStorage?.folder.hidden }

    func heldKey(_ key: String, ofSource source: String?, for user: String?) -> String? {
        guard let cache, !cache.isCached(forKey: entry(key)) else { return key }
        guard cache.privateEntries.mayExist, let source else { return nil }
        let own = EntryOrigin.privateKey(computed: key, ofSource: source, for: user ?? "")
        return cache.isCached(forKey: entry(own)) ? own : nil
    }

    private func entry(_ key: String) -> EntryKey { EntryKey(key, forcedExtension: forcedExtension) }

    func fileName(forKey key: String) -> String? { cache?.hash(forKey: entry(key)) }
    func evictNext(_ keys: [String]) { cache?.evictNext(keys.map(entry)) }
    func reconsider(_ key: String, isLikely: Bool) { cache?.reconsider(entry(key), isLikely: isLikely) }
    func record(_ event: RecordedEvent) { cache?.recorded(event) }
    func settle() async { await cache?.settleDisk() }

    func fetch(_ resource: Resource, _ options: ImageOptions) async -> FetchResult {
        guard let manager = find() else { return .noManager }
        do {
            let loaded = try await manager.prefetch(resource, options, toMemory: toMemory)
            return loaded.map { .loaded(bytes: $0.bytes, cost: $0.cost) } ?? .cached
        } catch {
            return error.isCancellation ? .cancelled : error.isRejection ? .rejected : .failed
        }
    }
}
