import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// The options of one load by a ``HalcyonManager``.
///
/// A property that is `nil` takes the value of the manager's ``HalcyonManager/defaultOptions``, and where that is `nil`, too, the
/// default that is stated here. So the options of a call add to those of the manager:
///
/// ```swift
/// let manager = HalcyonManager(defaultOptions: ImageOptions { $0.retryStrategy = DelayRetryStrategy(maxRetryCount: 2) })
/// // This load is tried again, too.
/// let result = try await manager.image(for: url, options: ImageOptions { $0.processor = thumbnail })
/// ```
public struct ImageOptions: Sendable {
    // MARK: What is loaded

    /// Makes the image of the loaded bytes. Its result is cached as an entry of its own. Default: `DefaultImageProcessor`, the image
    /// as it is.
    public var processor: (any ImageProcessor)?
    /// Changes each image before it is returned, also one from the cache. The cache keeps the unchanged image. Default: none.
    public var imageModifier: (any ImageModifier)?
    /// Converts between images and bytes on disk. Default: the cache's serializer.
    ///
    /// See `SourceTests.loadSerializerWritesAndReadsDisk()`.
    public var serializer: (any CacheSerializer<Bitmap>)?
    /// Whether the result has the bytes that the image was made of, from whichever tier the image comes. Default: `false`.
    ///
    /// The load keeps the bytes on disk (as with ``cacheOriginalImage``), from where a later hit reads them, also a hit in memory. A hit
    /// has none where the image was stored by a load without this option, by a serializer that encodes, or with ``cacheMemoryOnly``.
    ///
    /// See `SourceTests.originalDataComesFromEveryTier()`.
    public var wantsOriginalData: Bool?

    // MARK: Where it may come from

    /// Whether the image is loaded whatever the cache has. Default: `false`.
    ///
    /// See `ManagerOrderTests.forceRefreshReplacesCachedImage()`.
    public var forceRefresh: Bool?
    /// Whether nothing is loaded: an image that is not cached is ``ManagerError/notCached(key:)``. Default: `false`.
    public var onlyFromCache: Bool?
    /// Whether an image that is not in memory is loaded again, without a look-up on disk. Default: `false`.
    public var fromMemoryCacheOrRefresh: Bool?
    /// The sources that are tried in turn after the resource's source has failed; each is cached under its own key. Default: none.
    ///
    /// See `ManagerOrderTests.alternativeSourcesAreTriedInOrder()`.
    public var alternativeSources: [Source]?
    /// The source that takes the place of the resource's source in Low Data Mode; it is cached under its own key. When it fails, the
    /// alternative sources are tried. Default: none.
    ///
    /// See `ManagerOrderTests.lowDataModeLoadsLowDataSource()`.
    public var lowDataSource: Source?
    /// Whether a URL may be loaded in Low Data Mode. Default: `true`.
    public var allowsConstrainedNetwork: Bool?
    /// How far the server's statements on freshness count. Default: not at all; a cached image is used until it expires in the cache.
    ///
    /// Without a record of the cached bytes they are loaded again. See
    /// `ManagerFreshnessTests.notModifiedServesAndExtendsEntry()`, `ManagerFreshnessTests.changedImageIsLoaded()`,
    /// `ManagerFreshnessTests.staleImageIsServedDuringRevalidation()`,
    /// `ManagerFreshnessTests.noStoreAndStaleIfErrorAreHonoured()` and
    /// `ManagerFreshnessTests.staleOriginalMakesNoVariant()`.
    public var freshness: FreshnessPolicy?
    /// The cache of this load. Default: the manager's.
    public var cache: ImageCache<Bitmap>?
    /// The cache of this load's originals. Default: ``cache`` where that is given, else the manager's.
    public var originalCache: ImageCache<Bitmap>?
    /// The downloader of this load. Default: the manager's.
    public var downloader: ImageDownloader?

    // MARK: How it is kept

    /// Whether the loaded bytes are kept on disk beside the processor's result, so that another processor needs no load. Default:
    /// `false`. A serializer of your own for ``originalCache`` that does not keep original bytes
    /// writes the unaltered picture instead.
    ///
    /// By default, the disk has the bytes that were loaded. Simultaneous loads of one variant process it once. See
    /// `SourceTests.cachedOriginalServesSecondProcessor()`, `SourceTests.diskKeepsDownloadedBytesByDefault()`,
    /// `VariantTests.simultaneousLoadsProcessVariantOnce()` and
    /// `VariantTests.processorErrorEndsLoadWithoutDownload()`.
    public var cacheOriginalImage: Bool?
    /// Whether the image is kept in memory alone. An earlier image of the same key is removed from disk then: it is older, and would
    /// be found once memory has evicted the new one. Default: `false`.
    public var cacheMemoryOnly: Bool?
    /// Whether the result waits until the image is on disk, or could not be written. Default: `false`.
    public var waitForCache: Bool?
    /// When the image expires in memory. Default: by its category's rule or the cache's configuration. Of loads that share a
    /// transfer, the latest expiration holds.
    public var memoryCacheExpiration: StorageExpiration?
    /// The effect of a hit on the expiration in memory. Default: `.cacheTime`. Not optional, because `.none` would be ambiguous; a value
    /// that was never set takes that of the manager's defaults.
    public var memoryCacheAccessExtendingExpiration: ExpirationExtending {
        get { memoryExtending ?? .cacheTime }
        set { memoryExtending = newValue }
    }
    /// When the image and its original expire on disk. Default: by its category's rule or the cache's configuration. Of loads that
    /// share a transfer, the latest expiration holds.
    public var diskCacheExpiration: StorageExpiration?
    /// The effect of a hit on the expiration on disk, as ``memoryCacheAccessExtendingExpiration``. Default: `.cacheTime`.
    public var diskCacheAccessExtendingExpiration: ExpirationExtending {
        get { diskExtending ?? .cacheTime }
        set { diskExtending = newValue }
    }
    /// Whether the image stays in memory when the app goes to the background. Default: as the cache is configured.
    public var keepInBackground: Bool?
    /// The extension of the image's file, in place of the configured one: 1 to 20 letters and digits. An original that is kept beside
    /// a processor's result has the configured one. Default: none.
    public var forcedExtension: String?

    // MARK: How it is loaded

    /// The priority of the load: of its transfer, and of its place among those that wait to be decoded and processed. Loads that share
    /// either have the highest of their priorities until the most urgent one ends. The bytes are decoded on the queue of the load whose
    /// priority was the highest when it joined. Default: `.normal`, of an ``ImagePrefetcher`` `.low`.
    ///
    /// See `CancelledLoadTests.priorityMovesWorkThatWaits()` and `PriorityTests.prioritiesMoveQueuedProcessing()`.
    public var priority: TransferPriority?
    /// Decides whether a failed transfer or provider is tried again. Default: not.
    ///
    /// See `ManagerOrderTests.failedTransferIsRetriedAndCached()` and `ProviderTests.failedProviderIsRetried()`.
    public var retryStrategy: (any RetryStrategy)?
    /// Changes requests before they are sent. Default: none.
    public var requestModifier: (any AsyncImageDownloadRequestModifier)?
    /// Decides where a load goes that is redirected. Default: the downloader's handler.
    public var redirectHandler: (any ImageDownloadRedirectHandler)?
    /// Whether a redirect from https to http is followed. Default: as the downloader is configured.
    public var allowsInsecureRedirects: Bool?
    /// The queue of processors. Default: a global queue. Its quality of service is background at the priority `.veryLow`, which
    /// predicted prefetches have, utility for other prefetches, else user-initiated.
    public var processingQueue: CallbackQueue?
    /// The queue of progress and completions. Default: `.mainCurrentOrAsync`.
    public var callbackQueue: CallbackQueue?
    /// Receives the progress of a transfer. Default: none.
    public var onProgress: (@Sendable (DownloadProgress) -> Void)?

    var memoryExtending: ExpirationExtending?
    var diskExtending: ExpirationExtending?

    /// Creates options that take every value from the manager's defaults.
    public init() {}

    /// Creates options with a processor.
    public init(processor: any ImageProcessor) { self.processor = processor }

    /// Creates options and sets some of them.
    public init(_ set: (inout ImageOptions) -> Void) { set(&self) }
}

/// The options of a call that a hit in memory needs. An object, because a hit would copy a structure.
final class HitOptions: Sendable {
    let cache: ImageCache<Bitmap>
    /// Whether an image in memory is enough: no refresh, original data or freshness is required.
    let isEnough: Bool
    let extending: ExpirationExtending
    /// The identifier of the processor.
    let variant: String
    let modifier: (any ImageModifier)?
    let downloader: ImageDownloader
    let requestModifier: (any AsyncImageDownloadRequestModifier)?

    /// Creates the options of a call to a manager.
    init(_ call: ImageOptions, _ base: ImageOptions, _ cache: ImageCache<Bitmap>, _ downloader: ImageDownloader) {
        self.cache = call.cache ?? base.cache ?? cache
        self.downloader = call.downloader ?? base.downloader ?? downloader
        requestModifier = call.requestModifier ?? base.requestModifier
        isEnough =
            !(call.forceRefresh ?? base.forceRefresh ?? false)
            && !(call.wantsOriginalData ?? base.wantsOriginalData ?? false)
            && (call.freshness ?? base.freshness)?.honoursServer != true
        extending = call.memoryExtending ?? base.memoryExtending ?? .cacheTime
        variant = (call.processor ?? base.processor)?.identifier ?? ""
        modifier = call.imageModifier ?? base.imageModifier
    }
}

/// The options of one load, each with a value: that of the call, else that of the manager's defaults, else the default.
package struct ImageLoadOptions: Sendable {
    package var processor: any ImageProcessor
    var imageModifier: (any ImageModifier)?
    var serializer: (any CacheSerializer<Bitmap>)?
    var wantsOriginalData: Bool
    var forceRefresh: Bool
    var onlyFromCache: Bool
    var fromMemoryCacheOrRefresh: Bool
    var alternativeSources: [Source]
    var lowDataSource: Source?
    var allowsConstrainedNetwork: Bool
    var freshness: FreshnessPolicy?
    var cache: ImageCache<Bitmap>
    var originalCache: ImageCache<Bitmap>
    var downloader: ImageDownloader
    var cacheOriginalImage: Bool
    package var cacheMemoryOnly: Bool
    var waitForCache: Bool
    var memoryCacheExpiration: StorageExpiration?
    var memoryCacheAccessExtendingExpiration: ExpirationExtending
    var diskCacheExpiration: StorageExpiration?
    var diskCacheAccessExtendingExpiration: ExpirationExtending
    var keepInBackground: Bool?
    var forcedExtension: String?
    var priority: TransferPriority
    var retryStrategy: (any RetryStrategy)?
    var requestModifier: (any AsyncImageDownloadRequestModifier)?
    var redirectHandler: (any ImageDownloadRedirectHandler)?
    var allowsInsecureRedirects: Bool?
    var processingQueue: CallbackQueue
    var callbackQueue: CallbackQueue
    var onProgress: (@Sendable (DownloadProgress) -> Void)?
    /// What may be loaded.
    let sourcePolicy: SourcePolicy
    /// The load, if it is observed.
    var observed: ObservedLoad?

    /// Returns the options of a call to a manager.
    ///
    /// - Parameters:
    ///   - isPrefetch: whether the load is a prefetch, whose default priority is low.
    ///   - observed: the load, if it is observed.
    init(
        _ call: ImageOptions?, of manager: HalcyonManager, isPrefetch: Bool = false, observed: ObservedLoad? = nil
    ) {
        self.observed = observed
        sourcePolicy = manager.sourcePolicy
        let call = call ?? ImageOptions()
        let base = manager.defaultOptions
        processor = call.processor ?? base.processor ?? DefaultImageProcessor()
        imageModifier = call.imageModifier ?? base.imageModifier
        serializer = call.serializer ?? base.serializer
        wantsOriginalData = call.wantsOriginalData ?? base.wantsOriginalData ?? false
        forceRefresh = call.forceRefresh ?? base.forceRefresh ?? false
        onlyFromCache = call.onlyFromCache ?? base.onlyFromCache ?? false
        fromMemoryCacheOrRefresh = call.fromMemoryCacheOrRefresh ?? base.fromMemoryCacheOrRefresh ?? false
        alternativeSources = call.alternativeSources ?? base.alternativeSources ?? []
        lowDataSource = call.lowDataSource ?? base.lowDataSource
        allowsConstrainedNetwork = call.allowsConstrainedNetwork ?? base.allowsConstrainedNetwork ?? true
        freshness = call.freshness ?? base.freshness
        let target = call.cache ?? base.cache
        cache = target ?? manager.cache
        originalCache = call.originalCache ?? call.cache ?? base.originalCache ?? target ?? manager.originalCache
        downloader = call.downloader ?? base.downloader ?? manager.downloader
        cacheOriginalImage = call.cacheOriginalImage ?? base.cacheOriginalImage ?? false
        cacheMemoryOnly = call.cacheMemoryOnly ?? base.cacheMemoryOnly ?? false
        waitForCache = call.waitForCache ?? base.waitForCache ?? false
        memoryCacheExpiration = call.memoryCacheExpiration ?? base.memoryCacheExpiration
        memoryCacheAccessExtendingExpiration = call.memoryExtending ?? base.memoryExtending ?? .cacheTime
        diskCacheExpiration = call.diskCacheExpiration ?? base.diskCacheExpiration
        diskCacheAccessExtendingExpiration = call.diskExtending ?? base.diskExtending ?? .cacheTime
        keepInBackground = call.keepInBackground ?? base.keepInBackground
        forcedExtension = call.forcedExtension ?? base.forcedExtension
        priority = call.priority ?? (isPrefetch ? .low : base.priority ?? .normal)
        retryStrategy = call.retryStrategy ?? base.retryStrategy
        requestModifier = call.requestModifier ?? base.requestModifier
        redirectHandler = call.redirectHandler ?? base.redirectHandler
        allowsInsecureRedirects = call.allowsInsecureRedirects ?? base.allowsInsecureRedirects
        processingQueue =
            call.processingQueue ?? base.processingQueue
            ?? .dispatch(
                .global(qos: priority == .veryLow ? .background : isPrefetch ? .utility : .userInitiated))
        callbackQueue = call.callbackQueue ?? base.callbackQueue ?? .mainCurrentOrAsync
        onProgress = call.onProgress ?? base.onProgress
    }

    /// The options of the downloader.
    var download: DownloadOptions {
        var options = DownloadOptions()
        options.priority = priority
        options.retryStrategy = retryStrategy
        options.requestModifier = requestModifier
        options.redirectHandler = redirectHandler
        options.allowsInsecureRedirects = allowsInsecureRedirects
        options.processingQueue = processingQueue
        options.callbackQueue = callbackQueue
        options.onProgress = onProgress
        options.allowsConstrainedNetwork = allowsConstrainedNetwork
        options.restriction = sourcePolicy.restriction
        return options
    }
}

/// Changes an image that a load returns, without changing the cached one. A processor, in contrast, makes an entry of its own.
///
/// It runs on the caller's path for a hit in memory, and must be short.
public protocol ImageModifier: Sendable {
    /// Returns the changed image.
    func modified(_ image: Bitmap) -> Bitmap
}

/// An image modifier that is a closure.
public struct AnyImageModifier: ImageModifier {
    private let modify: @Sendable (Bitmap) -> Bitmap

    /// Creates a modifier.
    public init(_ modify: @escaping @Sendable (Bitmap) -> Bitmap) { self.modify = modify }

    public func modified(_ image: Bitmap) -> Bitmap { modify(image) }
}

/// An image, and where it was found.
public struct ImageResult: Sendable {
    /// The image, processed and modified.
    public var image: Bitmap
    /// The tier that had the image; `CacheType.none` for an image that was loaded, or made of a cached original.
    public var cacheType: CacheType
    /// Whether the image was made of a cached original, without a load.
    public var isFromOriginal = false
    /// The source of the image: the resource's source, an alternative or the source for Low Data Mode.
    public var source: Source {
        get { other?.source ?? resource.source }
        set { other = OtherSource(newValue) }
    }
    /// The source of the resource that was requested; differs from ``source`` where another one took its place.
    public var originalSource: Source { resource.source }
    private let resource: Resource
    /// The source, where it may not be the resource's. An object, because a hit, which has none, would copy a structure.
    private var other: OtherSource?
    /// The bytes that the image was made of, if they were requested (``ImageOptions/wantsOriginalData``) and are known.
    public var originalData: Data?

    /// - Parameter source: the source of the image; by default the resource's.
    init(
        image: Bitmap, cacheType: CacheType, isFromOriginal: Bool = false, resource: Resource, source: Source? = nil,
        originalData: Data? = nil
    ) {
        self.image = image
        self.cacheType = cacheType
        self.isFromOriginal = isFromOriginal
        self.resource = resource
        other = source.map(OtherSource.init)
        self.originalData = originalData
    }

    private final class OtherSource: Sendable {
        let source: Source

        init(_ source: Source) { self.source = source }
    }
}
