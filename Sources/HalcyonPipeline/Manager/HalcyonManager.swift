import Foundation
import HalcyonCache
import HalcyonCodecs
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// Loads images: from the cache if it has them, else from their sources, processed and cached.
///
/// ```swift
/// let manager = HalcyonManager()
/// let shoe = Resource(url, categories: ["shoes"], user: "u7")
/// let thumbnail = DownsamplingImageProcessor(size: PixelSize(width: 200, height: 200))
/// let result = try await manager.image(for: shoe, options: ImageOptions(processor: thumbnail))
/// show(result.image)
/// ```
///
/// It looks for the processed image in memory and on disk, then for an original of which it can be made, then it loads. Loads of the
/// same URL share one transfer, loads of the same provider its bytes, and loads with the same processor the processor's work. A
/// cancelled load ends with a `CancellationError` at once; a transfer stops with the last load that waits for it. With callbacks in
/// place of `await`: ``retrieveImage(with:options:completionHandler:)``. See <doc:Manager>.
///
/// See `ManagerLoadTests.concurrentRequestsShareOneGET()`, `ManagerLoadTests.keysAndProcessorsShareOneTransfer()` and
/// `ManagerLoadTests.cancellingOneWaiterLeavesTheOthers()`.
public final class HalcyonManager: Sendable {
    private static let sharedManager = SettableDefault<HalcyonManager>()

    /// The manager that is used where none is given: by default over `ImageCache.default` and `ImageDownloader.default`, made when it
    /// is first read.
    ///
    /// Set it when the app starts, to configure it; those who have read it before keep the manager that they have. Reading takes a
    /// lock: keep the manager where every nanosecond of a hit counts.
    public static var shared: HalcyonManager {
        get { sharedManager.value { HalcyonManager() } }
        set { sharedManager.set(newValue) }
    }

    /// The cache of images.
    public let cache: ImageCache<Bitmap>
    /// The cache of originals, of which further processors make images.
    ///
    /// See `SerializerTests.originalAndVariantAreSeparateEntries()` and
    /// `SourceTests.namedCacheKeepsDownloadedBytes()`.
    public let originalCache: ImageCache<Bitmap>
    /// The downloader.
    public let downloader: ImageDownloader
    /// Decodes loaded bytes.
    public let decoder: ImageDecoder
    /// The values of options that a call leaves `nil`.
    public let defaultOptions: ImageOptions
    /// The options of calls that state none.
    let resolvedDefaults: SharedOptions
    /// Bounds how many loads decode and process at the same time.
    public let decodeLimiter: DecodeLimiter
    /// What may be loaded. Default: what the downloader's requests allow, and files as long as nothing restricts the loads.
    public let sourcePolicy: SourcePolicy
    /// The observers of loads.
    @_spi(Observation) public let loadObservers = LoadObservers()
    let loader: ImageLoader
    /// Releases decoded frames and the beginnings of interrupted bodies on memory pressure and in the background.
    private let memoryHolder: TriggerSubscription

    /// Creates a manager.
    ///
    /// When memory is short, or the app enters the background, more than the cache's memory is released: the frames in
    /// `AnimationFramePool.shared`, and the bytes that the downloader keeps of interrupted bodies.
    ///
    /// See `ManagerMemoryTests.backgroundReleasesFramesAndPartialBodies()`.
    ///
    /// - Parameters:
    ///   - originalCache: keeps originals; by default `cache`.
    ///   - decodeLimiter: bounds how many loads decode at the same time; by default one limiter for all managers.
    ///   - sourcePolicy: the schemes, addresses and files that may be loaded; see ``SourcePolicy`` where URLs come from others.
    public init(
        cache: ImageCache<Bitmap> = .default, originalCache: ImageCache<Bitmap>? = nil,
        downloader: ImageDownloader = .default, decoder: ImageDecoder = ImageDecoder(),
        defaultOptions: ImageOptions = ImageOptions(), decodeLimiter: DecodeLimiter = .shared,
        sourcePolicy: SourcePolicy = SourcePolicy()
    ) {
        self.cache = cache
        self.originalCache = originalCache ?? cache
        self.downloader = downloader
        self.decoder = decoder
        self.defaultOptions = defaultOptions
        self.decodeLimiter = decodeLimiter
        self.sourcePolicy = sourcePolicy
        resolvedDefaults = SharedOptions(
            ResolvedOptions(
                ImageOptions(), defaultOptions, cache, originalCache ?? cache, downloader, sourcePolicy, decodeLimiter,
                isPrefetch: false))
        loader = ImageLoader(decoder, decodeLimiter)
        memoryHolder = cache.addMemoryHolder { [downloader] pressure in
            AnimationFramePool.shared.removeAll(keepsPlaying: pressure != .full)
            downloader.removeResumableBytes()
        }
    }

    // MARK: - Loading

    /// Returns the image of a resource.
    ///
    /// Images come from the cache first, then from a cached original, then from the source. An image in memory is returned on the actor
    /// of the caller, without a change of threads. See `ManagerMemoryTests.hitStaysOnMainActor()`,
    /// `ManagerOrderTests.loadTriesCacheThenOriginalThenDownload()` and
    /// `ManagerLoadTests.cancelledLoadTriesNoOtherSource()`.
    ///
    /// - Parameter options: override ``defaultOptions``.
    /// - Throws: ``ManagerError``, `NetworkError`, `ImageError`, or the error of a user's processor or provider;
    ///   with alternative sources ``ManagerError/allSourcesFailed(_:)``. `CancellationError`, at once, if the task is cancelled.
    public nonisolated(nonsending) func image(
        for resource: Resource, options: ImageOptions? = nil
    ) async throws -> ImageResult {
        if let found = inMemory(resource, options) { return found }
        return try await loaded(resource, options)
    }

    private func loaded(_ resource: Resource, _ options: ImageOptions?) async throws -> ImageResult {
        let resolved = resolved(options)
        return try await loadObservers.observe(resource, isPrefetch: false, origin: ImageOrigin.init) { observed in
            try await FirstAnswer.of { [loader] in try await loader.image(for: resource, resolved, observed, nil) }
        }
    }

    /// Returns the image of a source.
    ///
    /// - Throws: as ``image(for:options:)``.
    public nonisolated(nonsending) func image(
        for source: Source, categories: [String] = [], user: String? = nil, options: ImageOptions? = nil
    ) async throws -> ImageResult {
        try await image(for: Resource(source, categories: categories, user: user), options: options)
    }

    /// Returns the image of a URL, also a file's.
    ///
    /// - Throws: as ``image(for:options:)``.
    public nonisolated(nonsending) func image(
        for url: URL, categories: [String] = [], user: String? = nil, options: ImageOptions? = nil
    ) async throws -> ImageResult {
        try await image(for: Resource(url, categories: categories, user: user), options: options)
    }

    /// Returns the image of a resource that is in memory, without waiting; `nil` if ``image(for:options:)`` has to be awaited.
    ///
    /// A hit is an access, as one by ``image(for:options:)``; a miss is not counted. Options that memory alone cannot satisfy (a
    /// refresh, original data, freshness) return `nil`.
    ///
    public func imageInMemory(for resource: Resource) -> ImageResult? { inMemory(resource) }

    /// Returns the image of a resource that is in memory, as ``imageInMemory(for:)``.
    ///
    /// - Parameter options: override ``defaultOptions``. Merging them takes longer than the hit.
    public func imageInMemory(for resource: Resource, options: ImageOptions?) -> ImageResult? {
        inMemory(resource, options)
    }

    /// Loads the image of a resource; see ``image(for:options:)``. The completion is called once, on
    /// ``ImageOptions/callbackQueue``.
    ///
    /// See `ManagerLoadTests.callbackRunsOnceOnItsQueue()` and
    /// `ManagerLoadTests.taskControlsRetryAndAlternativeSource()`.
    ///
    /// - Returns: a task that cancels the load, which ends with a `CancellationError`, and changes its priority. It is valid through
    ///   retries and alternative sources.
    @discardableResult
    public func retrieveImage(
        with resource: Resource, options: ImageOptions? = nil,
        completionHandler: (@Sendable (Result<ImageResult, any Error>) -> Void)? = nil
    ) -> DownloadTask {
        let task = DownloadTask()
        let queue = options?.callbackQueue ?? resolvedDefaults.values.download.callbackQueue
        if let found = inMemory(resource, options) {
            if let completionHandler { queue.execute { completionHandler(.success(found)) } }
            return task
        }
        let resolved = resolved(options)
        let observed = loadObservers.start(resource, isPrefetch: false)
        let work = Task.detached { [self] in
            let result: Result<ImageResult, any Error>
            do {
                result = .success(
                    try await FirstAnswer.of { [loader] in
                        try await loader.image(for: resource, resolved, observed, task)
                    })
            } catch {
                result = .failure(error)
            }
            observed?.ended(result.map(ImageOrigin.init))
            if let completionHandler { CallbackLane(queue, isOrdered: false).execute { completionHandler(result) } }
        }
        task.whenCancelled { work.cancel() }
        return task
    }

    /// Loads the image of a URL; see ``retrieveImage(with:options:completionHandler:)``.
    @discardableResult
    public func retrieveImage(
        with url: URL, categories: [String] = [], options: ImageOptions? = nil,
        completionHandler: (@Sendable (Result<ImageResult, any Error>) -> Void)? = nil
    ) -> DownloadTask {
        retrieveImage(
            with: Resource(url, categories: categories), options: options, completionHandler: completionHandler)
    }

    /// Loads the image of a source; see ``retrieveImage(with:options:completionHandler:)``.
    @discardableResult
    public func retrieveImage(
        with source: Source, categories: [String] = [], options: ImageOptions? = nil,
        completionHandler: (@Sendable (Result<ImageResult, any Error>) -> Void)? = nil
    ) -> DownloadTask {
        retrieveImage(
            with: Resource(source, categories: categories), options: options, completionHandler: completionHandler)
    }

    /// Prefetches an image into the cache, with the same sources, retries and originals as ``image(for:options:)``.
    ///
    /// - Returns: what was loaded or made; `nil` for an image that is cached already. That is left as it is, unless it is stale and
    ///   freshness counts, but taken into memory where `toMemory` asks for it.
    ///
    /// - Parameter task: changes the priority of the load.
    package func prefetch(
        _ resource: Resource, _ options: ImageOptions?, toMemory: Bool, task: DownloadTask? = nil
    ) async throws -> Prefetched? {
        try await loadObservers.observe(resource, isPrefetch: true, origin: { $0?.origin ?? .cached }) { observed in
            let options = SharedOptions(options, of: self, isPrefetch: true)
            return try await FirstAnswer.of { [loader] in
                try await loader.inTurn(resource, options) { load in
                    var load = load
                    load.isPrefetch = true
                    load.keepsInMemory = toMemory || !load.keepsOnDisk && !load.keepsOriginalAlone
                    (load.observed, load.task) = (observed, task)
                    return try await loader.prefetch(load)
                }
            }
        }
    }

    // MARK: - The cache

    /// Returns the tier that has the image of a resource, as the resource's user sees it. This is no access, and the disk is not asked
    /// on the caller's thread.
    ///
    /// - Parameter options: override ``defaultOptions``; the processor, the cache and the extension count.
    public func imageCachedType(for resource: Resource, options: ImageOptions? = nil) async -> CacheType {
        let load = ImageLoad(resource.source, of: resource, resolved(options))
        for view in [await load.ofSelectedEntry(), load.ofPrivateEntry, load].compactMap({ $0 }) {
            let type = await view.options.cache.isThere(view.entryKey)
            if type.cached { return type }
        }
        return .none
    }

    /// Removes the original of a URL and all variants that processors have made of it, from memory and disk, for all users. It does so
    /// in the manager's caches and those of ``defaultOptions``, not in the caches of single loads. O(entries).
    ///
    /// A process that is killed within a second of a store can lose the entry's row in the index. Such an entry is not recognised as a
    /// variant and stays until it expires or is evicted.
    public func remove(_ url: URL) async { await remove(Source(url).cacheKey) }

    /// Removes the original of a cache key and all its variants; see ``remove(_:)``.
    ///
    /// - Parameter cacheKey: the key as ``Source/cacheKey`` has it. One with U+001F is the app's own, and is escaped.
    public func remove(_ cacheKey: String) async {
        let key = cacheKey.utf8.contains(0x1F) ? EntryOrigin.sourceKey(cacheKey) : cacheKey
        for cache in caches { await cache.removeVariants(ofKey: key) }
    }

    /// The caches of this manager and of its default options, each once.
    package var caches: [ImageCache<Bitmap>] {
        [cache, originalCache, defaultOptions.cache, defaultOptions.originalCache].compactMap { $0 }
            .reduce(into: []) { caches, cache in
                if !caches.contains(where: { $0 === cache }) { caches.append(cache) }
            }
    }

    // MARK: - Inside

    /// Returns the options of a call.
    func resolved(_ options: ImageOptions?) -> SharedOptions {
        options.map { SharedOptions($0, of: self) } ?? resolvedDefaults
    }

    /// Returns the image in memory, where nothing else has to be asked. A call's options are not resolved: that takes longer than a
    /// hit.
    func inMemory(_ resource: Resource, _ options: ImageOptions?) -> ImageResult? {
        guard let options else { return inMemory(resource) }
        let base = resolvedDefaults
        return inMemory(
            resource, options.cache ?? base.values.cache, isEnough: base.values.isMemoryEnough(for: options),
            options.memoryExtending ?? base.values.caching.memoryCacheAccessExtendingExpiration,
            options.processor?.identifier ?? base.values.variant,
            options.imageModifier ?? base.values.imageModifier, options)
    }

    private func inMemory(_ resource: Resource) -> ImageResult? {
        let options = resolvedDefaults
        return inMemory(
            resource, options.values.cache, isEnough: options.isMemoryEnough,
            options.values.caching.memoryCacheAccessExtendingExpiration, options.values.variant,
            options.values.imageModifier, nil)
    }

    // The path of every hit: it copies the image and the source once, and nothing that is shared by all threads.
    @inline(__always)
    private func inMemory(
        _ resource: Resource, _ cache: ImageCache<Bitmap>, isEnough: Bool, _ extending: ExpirationExtending,
        _ variant: String, _ modifier: (any ImageModifier)?, _ options: @autoclosure () -> ImageOptions?
    ) -> ImageResult? {
        if cache.observation.isOn { announce(resource, options(), cache) }
        guard isEnough, resource.isUnchanged(in: cache, variant, by: loader.fileVersions) else { return nil }
        // A miss is counted by the load that follows it.
        func find(_ key: String) -> Bitmap? {
            cache.fromMemory(
                variant.isEmpty ? key : key.computedKey(with: variant), extending, categories: resource.categories,
                user: resource.user, kind: .probe)
        }
        var found: Bitmap?
        if cache.privateEntries.mayExist {
            for key in ownKeys(resource, options()) where found == nil { found = find(key) }
        }
        guard let image = found ?? find(resource.cacheKey) else { return nil }
        return ImageResult(inMemory: modifier?.modified(image) ?? image, resource)
    }

    /// Tells the observer of a request.
    @inline(never)
    private func announce(_ resource: Resource, _ options: ImageOptions?, _ cache: ImageCache<Bitmap>) {
        (cache.observation.observer as? any RequestObserver)?.requested(resource, options)
    }

    /// Returns the keys of the entries that are private to the user, or to loads without a user. If the fields of the call's request
    /// select one, it comes first.
    @inline(never)
    private func ownKeys(_ resource: Resource, _ options: ImageOptions?) -> [String] {
        let selected = loader.hasSelected.load(ordering: .relaxed) ? selectedKey(resource, options) : nil
        return [selected, EntryOrigin.privateKey(resource.cacheKey, of: resource.user ?? "")].compactMap { $0 }
    }

    /// Returns the key of the private entry that the fields of a call's request select; `nil` if it sets none, or has to wait for its
    /// modifier.
    private func selectedKey(_ resource: Resource, _ options: ImageOptions?) -> String? {
        guard let url = resource.source.url else { return nil }
        let base = resolvedDefaults.values
        var request: TransportRequest? = (options?.downloader ?? base.downloader).configuration.request(url)
        if let modifier = options?.requestModifier ?? base.download.requestModifier {
            guard let modifier = modifier as? any ImageDownloadRequestModifier, let plain = request else { return nil }
            request = modifier.modified(for: plain)
        }
        return request?.fieldDigest?.name(ofUser: resource.user).map {
            EntryOrigin.privateKey(resource.cacheKey, of: resource.user ?? "", variant: $0)
        }
    }
}

/// An observer of a cache that also receives each request to the managers over it.
package protocol RequestObserver: CacheObserver {
    /// Handles a request. Called on the caller's path.
    ///
    /// - Parameter options: those of the call, not merged with the manager's defaults.
    func requested(_ resource: Resource, _ options: ImageOptions?)
    /// Handles a list that is shown. Called on the caller's path.
    ///
    /// - Parameter options: those of the call, not merged with the manager's defaults.
    func shown(_ list: ListInPlace, _ options: ImageOptions?)
    /// Handles that the lists of a place are no longer shown.
    ///
    /// - Parameter user: whose lists; `nil` for those of all users.
    func hidden(_ place: String, user: String?)
}
