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

    /// The tiers that the image may come from; one that they do not have is loaded. Without the disk, it is not made of a cached
    /// original either. Default: both.
    ///
    /// ``forceRefresh`` and ``fromMemoryCacheOrRefresh`` narrow it further. See `CacheTierTests.loadReadsStatedTiers()`.
    public var readsFrom: CacheTiers?
    /// Whether the image is loaded whatever the cache has, as with ``readsFrom`` of no tier. Default: `false`.
    ///
    /// See `ManagerOrderTests.forceRefreshReplacesCachedImage()`.
    public var forceRefresh: Bool?
    /// Whether nothing is loaded: an image that is not cached is ``ManagerError/notCached(key:)``. Default: `false`.
    public var onlyFromCache: Bool?
    /// Whether an image that is not in memory is loaded again, without a look-up on disk, as with ``readsFrom`` of memory. Default:
    /// `false`.
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

    /// What the disk keeps, where ``writesTo`` has the disk. Default: ``DiskPolicy/automatic``, but nothing of a file of this machine,
    /// which would be a second copy. A policy that a load states, also ``DiskPolicy/automatic``, holds for files, too; that of the manager
    /// does not.
    ///
    /// See `DiskPolicyTests.diskKeepsWhatPolicySays()` and `LocalFileTests.fileIsNotCopiedUnlessAsked()`.
    public var diskPolicy: DiskPolicy?
    /// Whether the loaded bytes are kept on disk beside the processor's result, so that another processor needs no load: whether
    /// ``diskPolicy`` is ``DiskPolicy/both``, which it sets; `false` sets ``DiskPolicy/automatic``. Default: `false`. A serializer of your
    /// own for ``originalCache`` that does not keep original bytes writes the unaltered picture instead.
    ///
    /// By default, the disk has the bytes that were loaded. Simultaneous loads of one variant process it once. See
    /// `SourceTests.cachedOriginalServesSecondProcessor()`, `SourceTests.diskKeepsDownloadedBytesByDefault()`,
    /// `VariantTests.simultaneousLoadsProcessVariantOnce()` and
    /// `VariantTests.processorErrorEndsLoadWithoutDownload()`.
    public var cacheOriginalImage: Bool? {
        get { diskPolicy.map { $0 == .both } }
        set { diskPolicy = newValue.map { $0 ? .both : .automatic } }
    }
    /// The tiers in which the image is kept: one that was loaded or made in both, one that was found on disk in memory. Default: both.
    ///
    /// Where one tier alone gets a new image, an earlier one of the same key is removed from the other. It is older, and would be found
    /// once the new one is evicted. With no tier, both stay as they are. See `CacheTierTests.loadWritesStatedTiers()`.
    public var writesTo: CacheTiers?
    /// Whether the image is kept in memory alone, as with ``writesTo`` of memory, which it narrows. Default: `false`.
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
    /// How many previews of a picture are made a second while it is transferred, at most: of a progressive JPEG one for each scan that has
    /// arrived, 16 at most. Each decodes what is there so far, in turn with all decoding, and the pause behind it is at least four times as
    /// long. Default: 0, none.
    ///
    /// There are none of private responses, whose transfer several users may share, of providers, and for prefetches. A downloader with
    /// hooks or with a check of its own has none, because these may refuse the bytes. Previews are processed as the image, and not kept.
    ///
    /// See `PreviewTests`.
    public var previewsPerSecond: Double?
    /// Receives the previews, on the ``callbackQueue``; one that is slow misses all but the latest. Default: none.
    public var onPreview: (@Sendable (Bitmap) -> Void)?

    var memoryExtending: ExpirationExtending?
    var diskExtending: ExpirationExtending?

    /// Creates options that take every value from the manager's defaults.
    public init() {}

    /// Creates options with a processor.
    public init(processor: any ImageProcessor) { self.processor = processor }

    /// Creates options and sets some of them.
    public init(_ set: (inout ImageOptions) -> Void) { set(&self) }
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
    /// Whether the image was made of a cached original, or of the cached result of its chain's first processors, without a load.
    public var isFromOriginal = false
    /// The source of the image: the resource's source, an alternative or the source for Low Data Mode.
    public var source: Source {
        get { extras?.source ?? resource.source }
        set { extras = Extras(newValue, originalData, metrics) }
    }
    /// The source of the resource that was requested; differs from ``source`` where another one took its place.
    public var originalSource: Source { resource.source }
    private let resource: Resource
    /// The bytes that the image was made of, if they were requested (``ImageOptions/wantsOriginalData``) and are known.
    public var originalData: Data? {
        get { extras?.originalData }
        set { extras = Extras(extras?.source, newValue, metrics) }
    }
    /// The times and bytes of the transfer, which loads that joined share; `nil` for an image that came from a cache or a provider.
    ///
    /// See `SourceTests.resultHasMetricsOfItsTransfer()`.
    public var metrics: TransferMetrics? { extras?.metrics }
    /// What a hit in memory does not have. An object, because a hit would copy each property of a structure.
    private var extras: Extras?

    /// The result of a load.
    init(
        image: Bitmap, cacheType: CacheType, isFromOriginal: Bool = false, resource: Resource, source: Source,
        originalData: Data?, metrics: TransferMetrics? = nil
    ) {
        self.init(inMemory: image, resource)
        self.cacheType = cacheType
        self.isFromOriginal = isFromOriginal
        extras = Extras(source, originalData, metrics)
    }

    /// The result of a hit in memory.
    @inline(__always)
    init(inMemory image: Bitmap, _ resource: Resource) {
        (self.image, cacheType, self.resource) = (image, .memory, resource)
    }

    private final class Extras: Sendable {
        /// The source, where it may not be the resource's.
        let source: Source?
        let originalData: Data?
        let metrics: TransferMetrics?

        init(_ source: Source?, _ originalData: Data?, _ metrics: TransferMetrics?) {
            (self.source, self.originalData, self.metrics) = (source, originalData, metrics)
        }
    }
}
