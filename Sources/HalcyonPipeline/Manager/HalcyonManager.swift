import Foundation
import HalcyonCache
import HalcyonCodecs
import HalcyonImages
import HalcyonNetworking
import Synchronization

/// Loads images from the cache or, if they are not cached, from their source; then processes and caches them.
///
/// ```swift
/// let manager = HalcyonManager()
/// let shoe = Resource(url, categories: ["shoes"], user: "u7")
/// // A thumbnail of at most 200 pixels per side.
/// let thumbnail = DownsamplingImageProcessor(size: PixelSize(width: 200, height: 200))
///
/// let result = try await manager.image(for: shoe, options: ImageOptions(processor: thumbnail))
/// show(result.image)
/// ```
///
/// It looks for the processed image in memory and on disk, and then for a cached original. If there is none, it loads the
/// source, unless ``ImageOptions/onlyFromCache`` is set.
///
/// Loads of the same URL share one transfer, and loads of the same provider share its bytes. If they have the same processor,
/// they also share the processed image, which is stored once. A cancelled load throws `CancellationError` immediately, and a
/// transfer stops when its last waiter is cancelled.
///
/// ``retrieveImage(with:options:completionHandler:)`` is the equivalent with callbacks. See <doc:Manager>.
public final class HalcyonManager: Sendable {
    /// The default manager, with the default cache and the default downloader.
    public static let shared = HalcyonManager()

    /// Where images are kept.
    public let cache: ImageCache<Bitmap>
    /// Where originals are kept for further processors.
    public let originalCache: ImageCache<Bitmap>
    /// Loads from servers.
    public let downloader: ImageDownloader
    /// Reads what was loaded.
    public let decoder: ImageDecoder
    /// What holds for loads that do not say otherwise.
    public let defaultOptions: ImageOptions
    /// Merges loads from whatever is no server.
    let providers = ProviderMerger()
    /// The computed keys of images that are being revalidated in the background.
    let revalidating = Mutex<Set<String>>([])
    /// Bounds how many loads decode and process at the same time.
    public let decodeLimiter: DecodeLimiter
    /// Merges look-ups on disk, so that one file is read and decoded once for all that want it at the same time.
    let lookUps = SharedWork<String, ImageCacheResult<Bitmap>>()
    /// Merges the making of variants of kept originals.
    let variants = SharedWork<VariantKey, Variant>()

    /// A manager.
    ///
    /// - Parameters:
    ///   - originalCache: keeps originals; by default the same cache as the images made of them.
    ///   - decodeLimiter: bounds how many loads decode at the same time, by default for all managers together.
    public init(
        cache: ImageCache<Bitmap> = .default, originalCache: ImageCache<Bitmap>? = nil,
        downloader: ImageDownloader = .default, decoder: ImageDecoder = ImageDecoder(),
        defaultOptions: ImageOptions = ImageOptions(), decodeLimiter: DecodeLimiter = .shared
    ) {
        self.cache = cache
        self.originalCache = originalCache ?? cache
        self.downloader = downloader
        self.decoder = decoder
        self.defaultOptions = defaultOptions
        self.decodeLimiter = decodeLimiter
    }

    /// The image of a resource.
    ///
    /// - Parameter options: by default ``defaultOptions``.
    /// - Throws: ``ManagerError``, `NetworkError`, `ImageError`, or what a processor or provider of one's own throws;
    ///   with alternative sources ``ManagerError/allSourcesFailed(_:)``. `CancellationError`, at once, if the task is cancelled.
    public func image(for resource: Resource, options: ImageOptions? = nil) async throws -> ImageResult {
        if let options {
            if let found = inMemory(resource, options) { return found }
        } else if let found = inMemory(resource, defaultOptions) {
            return found
        }
        let options = options ?? defaultOptions
        return try await FirstAnswer.of { [self] in try await image(for: resource, options, nil) }
    }

    /// The image of a source.
    ///
    /// - Throws: as ``image(for:options:)``.
    public func image(
        for source: Source, categories: [String] = [], user: String? = nil, options: ImageOptions? = nil
    ) async throws -> ImageResult {
        try await image(for: Resource(source, categories: categories, user: user), options: options)
    }

    /// The image of a URL.
    ///
    /// - Throws: as ``image(for:options:)``.
    public func image(
        for url: URL, categories: [String] = [], user: String? = nil, options: ImageOptions? = nil
    ) async throws -> ImageResult {
        try await image(for: Resource(url, categories: categories, user: user), options: options)
    }

    /// Returns the image of a resource that is in memory, without waiting; `nil` if ``image(for:options:)`` has to be awaited.
    ///
    /// A hit is an access, as one by ``image(for:options:)``; for what is absent nothing is counted. Options that memory alone
    /// cannot satisfy (a refresh, original data, freshness) return `nil`.
    ///
    /// - Parameter options: how it is loaded.
    public func imageInMemory(for resource: Resource, options: ImageOptions) -> ImageResult? {
        inMemory(resource, options)
    }

    /// The same with ``defaultOptions``.
    public func imageInMemory(for resource: Resource) -> ImageResult? { inMemory(resource, defaultOptions) }

    // MARK: - Inside

    /// What memory has, where nothing else has to be asked.
    func inMemory(_ resource: Resource, _ options: ImageOptions) -> ImageResult? {
        if cache.observation.isOn, let observer = cache.observation.observer as? any RequestObserver {
            observer.requested(resource, options)
        }
        guard !options.forceRefresh, options.freshness?.honoursServer != true, !options.wantsOriginalData else {
            return nil
        }
        // A miss is counted by the load that follows it.
        func found(_ computed: String) -> Bitmap? {
            cache.fromMemory(
                computed, options.memoryCacheAccessExtendingExpiration, categories: resource.categories,
                user: resource.user, kind: .probe)
        }
        let variant = options.processor.identifier
        let image = variant.isEmpty ? found(resource.cacheKey) : found(resource.cacheKey.computedKey(with: variant))
        guard let image else { return nil }
        return ImageResult(image: image, cacheType: .memory, source: resource.source)
    }

    /// The image of the first source that has it.
    func image(for resource: Resource, _ options: ImageOptions, _ task: DownloadTask?) async throws -> ImageResult {
        try await inTurn(resource, options) { [self] source in
            let load = ImageLoad(source, of: resource, options)
            do {
                return try await image(load, task)
            } catch  where !error.isCancellation {
                cache.recordMiss(forKey: load.key, options: load.cacheOptions)
                throw error
            }
        }
    }

    /// What the first source gives that does not fail.
    ///
    /// - Throws: the error of the only source, or those of all.
    func inTurn<Value>(
        _ resource: Resource, _ options: ImageOptions, _ work: (Source) async throws -> Value
    ) async throws -> Value {
        var failures: [SourceFailure] = []
        for source in [resource.source] + options.alternativeSources {
            do {
                return try await work(source)
            } catch  where !error.isCancellation {
                failures.append(SourceFailure(source: source, error: error))
            }
        }
        if failures.count == 1, let only = failures.first { throw only.error }
        throw ManagerError.allSourcesFailed(failures)
    }
}
