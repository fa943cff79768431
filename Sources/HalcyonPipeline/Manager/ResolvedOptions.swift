import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// The options of a call, each with a value: that of the call, else that of the manager's defaults, else the default. A load
/// passes them on: to the cache and to the downloader in the form that these take.
package struct ResolvedOptions: Sendable {
    var processor: any ImageProcessor
    /// The identifier of the processor.
    var variant: String
    let imageModifier: (any ImageModifier)?
    var serializer: (any CacheSerializer<Bitmap>)?
    let wantsOriginalData: Bool
    /// The tiers that the call names; ``reads`` counts the other options, too.
    private let readsFrom: CacheTiers
    private let isRefresh: Bool
    /// The tiers that the image may come from.
    let reads: CacheTiers
    let onlyFromCache: Bool
    let alternativeSources: [Source]
    var lowDataSource: Source?
    let freshness: FreshnessPolicy?
    package var cache: ImageCache<Bitmap>
    let originalCache: ImageCache<Bitmap>
    let downloader: ImageDownloader
    /// What the disk keeps.
    let diskPolicy: DiskPolicy
    /// Whether the call states the policy, so that it holds for files of this machine, too.
    let isDiskPolicyStated: Bool
    /// The tiers in which the image is kept.
    var writes: CacheTiers
    let waitForCache: Bool
    var forcedExtension: String?
    /// The most previews in a second, and who receives them.
    let previewsPerSecond: Double
    let onPreview: (@Sendable (Bitmap) -> Void)?
    /// What may be loaded.
    let sourcePolicy: SourcePolicy
    /// What the cache is asked for; a load adds what it knows of itself (``ImageLoad/cacheOptions``).
    var caching: CacheOptions
    /// What the downloader is asked for.
    var download: DownloadOptions

    /// Whether an image in memory is enough: no refresh, original data or freshness is required.
    var isMemoryEnough: Bool { reads.contains(.memory) && !wantsOriginalData && freshness?.honoursServer != true }

    /// Whether the image is loaded whatever the cache has.
    var forceRefresh: Bool { reads.isEmpty }

    /// Whether it is enough for a call with these options, where these are the defaults.
    func isMemoryEnough(for call: ImageOptions) -> Bool {
        !(call.forceRefresh ?? isRefresh) && (call.readsFrom ?? readsFrom).contains(.memory)
            && !(call.wantsOriginalData ?? wantsOriginalData)
            && (call.freshness ?? freshness)?.honoursServer != true
    }

    /// Returns the options of a call to the manager of these parts.
    init(
        _ call: ImageOptions, _ base: ImageOptions, _ cache: ImageCache<Bitmap>, _ originalCache: ImageCache<Bitmap>,
        _ downloader: ImageDownloader, _ sourcePolicy: SourcePolicy, _ decodeLimiter: DecodeLimiter, isPrefetch: Bool
    ) {
        self.sourcePolicy = sourcePolicy
        processor = call.processor ?? base.processor ?? DefaultImageProcessor()
        variant = processor.identifier
        imageModifier = call.imageModifier ?? base.imageModifier
        serializer = call.serializer ?? base.serializer
        wantsOriginalData = call.wantsOriginalData ?? base.wantsOriginalData ?? false
        readsFrom = call.readsFrom ?? base.readsFrom ?? .all
        isRefresh = call.forceRefresh ?? base.forceRefresh ?? false
        let skipsDisk = call.fromMemoryCacheOrRefresh ?? base.fromMemoryCacheOrRefresh ?? false
        reads = isRefresh ? [] : skipsDisk ? readsFrom.intersection(.memory) : readsFrom
        onlyFromCache = call.onlyFromCache ?? base.onlyFromCache ?? false
        alternativeSources = call.alternativeSources ?? base.alternativeSources ?? []
        lowDataSource = call.lowDataSource ?? base.lowDataSource
        freshness = call.freshness ?? base.freshness
        let target = call.cache ?? base.cache
        self.cache = target ?? cache
        self.originalCache = call.originalCache ?? call.cache ?? base.originalCache ?? target ?? originalCache
        self.downloader = call.downloader ?? base.downloader ?? downloader
        diskPolicy = call.diskPolicy ?? base.diskPolicy ?? .automatic
        isDiskPolicyStated = call.diskPolicy != nil
        writes = call.writesTo ?? base.writesTo ?? .all
        if call.cacheMemoryOnly ?? base.cacheMemoryOnly ?? false { writes.remove(.disk) }
        waitForCache = call.waitForCache ?? base.waitForCache ?? false
        forcedExtension = call.forcedExtension ?? base.forcedExtension
        previewsPerSecond = call.previewsPerSecond ?? base.previewsPerSecond ?? 0
        onPreview = call.onPreview ?? base.onPreview

        caching = CacheOptions()
        // An image that is found on disk is not taken into memory.
        caching.memoryCacheExpiration =
            writes.contains(.memory) ? call.memoryCacheExpiration ?? base.memoryCacheExpiration : .expired
        caching.memoryCacheAccessExtendingExpiration = call.memoryExtending ?? base.memoryExtending ?? .cacheTime
        caching.diskCacheExpiration = call.diskCacheExpiration ?? base.diskCacheExpiration
        caching.diskCacheAccessExtendingExpiration = call.diskExtending ?? base.diskExtending ?? .cacheTime
        caching.fromMemoryCacheOrRefresh = !reads.contains(.disk)
        caching.keepInBackground = call.keepInBackground ?? base.keepInBackground

        let priority = call.priority ?? (isPrefetch ? .low : base.priority ?? .normal)
        download = DownloadOptions()
        download.priority = priority
        download.retryStrategy = call.retryStrategy ?? base.retryStrategy
        download.requestModifier = call.requestModifier ?? base.requestModifier
        download.redirectHandler = call.redirectHandler ?? base.redirectHandler
        download.allowsInsecureRedirects = call.allowsInsecureRedirects ?? base.allowsInsecureRedirects
        download.processingQueue =
            call.processingQueue ?? base.processingQueue
            ?? .dispatch(
                .global(qos: priority == .veryLow ? .background : isPrefetch ? .utility : .userInitiated))
        download.callbackQueue = call.callbackQueue ?? base.callbackQueue ?? .mainCurrentOrAsync
        download.onProgress = call.onProgress ?? base.onProgress
        download.allowsConstrainedNetwork = call.allowsConstrainedNetwork ?? base.allowsConstrainedNetwork ?? true
        download.restriction = sourcePolicy.restriction
        download.processingTurns = decodeLimiter
    }
}

/// Resolved options as one object, because a hit and the steps of a load would copy a structure of this size each time.
package final class SharedOptions: Sendable {
    let values: ResolvedOptions
    /// Whether an image in memory is enough, known before a hit asks.
    let isMemoryEnough: Bool

    init(_ values: ResolvedOptions) {
        self.values = values
        isMemoryEnough = values.isMemoryEnough
    }

    /// Returns the options of a call to a manager.
    ///
    /// - Parameter isPrefetch: whether the load is a prefetch, whose default priority is low.
    convenience init(_ call: ImageOptions?, of manager: HalcyonManager, isPrefetch: Bool = false) {
        self.init(
            ResolvedOptions(
                call ?? ImageOptions(), manager.defaultOptions, manager.cache, manager.originalCache,
                manager.downloader, manager.sourcePolicy, manager.decodeLimiter, isPrefetch: isPrefetch))
    }
}
