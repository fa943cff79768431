import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// What can be said about one load by a ``HalcyonManager``; by default, an image as it is, from the cache if it is there.
public struct ImageOptions: Sendable {
    // MARK: What is wanted

    /// Makes the image of what was loaded. What it makes is kept as an entry of its own.
    public var processor: any ImageProcessor = DefaultImageProcessor()
    /// What tells bytes on disk and images; `nil`: the cache's.
    public var serializer: (any CacheSerializer<Bitmap>)?
    /// Whether the result has the bytes that the image was made from. By default `false`.
    ///
    /// The load stores them on disk (as with ``cacheOriginalImage``). Every hit, also one in memory, reads them from there. A hit has no
    /// bytes if the image was stored by a load without this option, by a serializer that encodes it, or with ``cacheMemoryOnly``.
    public var wantsOriginalData = false

    // MARK: Where it may come from

    /// Whether it is loaded whatever the cache has.
    public var forceRefresh = false
    /// Whether nothing is loaded: what is not cached is ``ManagerError/notCached(key:)``.
    public var onlyFromCache = false
    /// Whether an image that is not in memory is loaded again, without a lookup on disk. By default `false`.
    public var fromMemoryCacheOrRefresh = false
    /// What is tried in turn after the resource's source has failed; each is cached under its own key.
    public var alternativeSources: [Source] = []
    /// What is loaded in place of a URL where the network is to be spared; it is cached under its own key.
    public var lowDataSource: Source?
    /// Whether a URL may be loaded where the network is to be spared.
    public var allowsConstrainedNetwork = true
    /// Whether, and how far, what servers say of freshness counts; `nil`: what is cached is used until it expires there.
    public var freshness: FreshnessPolicy?

    // MARK: How it is kept

    /// Whether what was loaded is kept on disk beside what the processor made of it, so that another processor needs no load.
    public var cacheOriginalImage = false
    /// Whether it is kept in memory alone.
    public var cacheMemoryOnly = false
    /// Whether the result waits until the disk has it, or has failed to.
    public var waitForCache = false
    /// When it expires in memory; `nil`: as its category's rule or the configuration says.
    public var memoryCacheExpiration: StorageExpiration?
    /// What a hit does to the expiration in memory.
    public var memoryCacheAccessExtendingExpiration = ExpirationExtending.cacheTime
    /// When it, and an original, expires on disk; `nil`: as its category's rule or the configuration says.
    public var diskCacheExpiration: StorageExpiration?
    /// What a hit does to the expiration on disk.
    public var diskCacheAccessExtendingExpiration = ExpirationExtending.cacheTime
    /// Whether it stays in memory when the app goes to the background; `nil`: as configured.
    public var keepInBackground: Bool?

    // MARK: How it is loaded

    /// How urgent it is. A load that joins a transfer raises it.
    public var priority = TransferPriority.normal
    /// Whether a transfer that failed, or a provider, is tried again; `nil` does not.
    public var retryStrategy: (any RetryStrategy)?
    /// Changes requests before they are sent.
    public var requestModifier: (any AsyncImageDownloadRequestModifier)?
    /// Where processors work.
    public var processingQueue = CallbackQueue.dispatch(DispatchQueue.global(qos: .userInitiated))
    /// The queue of ``onProgress`` and of completions.
    public var callbackQueue = CallbackQueue.mainCurrentOrAsync
    /// Receives the progress of a transfer, on ``callbackQueue``.
    public var onProgress: (@Sendable (DownloadProgress) -> Void)?

    /// The defaults.
    public init() {}

    /// The defaults with a processor.
    public init(processor: any ImageProcessor) { self.processor = processor }

    /// The options of the download.
    var download: DownloadOptions {
        var options = DownloadOptions()
        options.priority = priority
        options.retryStrategy = retryStrategy
        options.requestModifier = requestModifier
        options.processingQueue = processingQueue
        options.callbackQueue = callbackQueue
        options.onProgress = onProgress
        options.allowsConstrainedNetwork = allowsConstrainedNetwork
        return options
    }
}
