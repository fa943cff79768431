import HalcyonAccessLog
import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking

/// The load of an image from one source.
package struct ImageLoad: Sendable {
    package let source: Source
    /// The resource that was requested.
    let resource: Resource
    package var options: LoadOptions
    package var context: AccessContext
    /// The user whose private entry is meant, empty for loads without a user; `nil` for the entry that all users share.
    var owner: String?
    /// Whether it is a prefetch: no access, and not recorded in the log.
    package var isPrefetch = false
    /// When its fetch began; `nil` before that.
    var begun: Int64?
    /// Whether the image is kept in memory.
    package var keepsInMemory = true

    init(_ source: Source, of resource: Resource, _ options: LoadOptions) {
        self.source = source.resolved
        self.resource = resource
        self.options = options
        context = AccessContext(categories: resource.categories, user: resource.user)
    }

    /// Records an event of a prefetch.
    func record(_ kind: RecordedEvent.Kind) {
        options.cache.recorded(
            RecordedEvent(time: options.cache.clock.now, kind: kind, key: computedKey, user: context.user))
    }

    /// The key of the original.
    package var key: String { owner.map { EntryOrigin.privateKey(source.cacheKey, of: $0) } ?? source.cacheKey }

    /// The key of the image.
    package var computedKey: String { key.computedKey(with: options.processor.identifier) }

    /// The entry of the image.
    var entry: EntryKey { EntryKey(options.cache, computedKey, options.forcedExtension) }

    /// The place of the image on disk.
    var diskPlace: MadeImage.Place {
        MadeImage.Place(
            cache: ObjectIdentifier(options.cache), key: computedKey, tier: .disk,
            forcedExtension: options.forcedExtension)
    }

    /// Whether the image is made of the original, and not the original itself.
    package var isVariant: Bool { !options.processor.identifier.isEmpty }

    /// The load of the entry that is private to the user, or to loads without a user; `nil` if no entry is private.
    var ofPrivateEntry: ImageLoad? {
        guard options.cache.privateEntries.mayExist || isVariant && options.originalCache.privateEntries.mayExist else {
            return nil
        }
        var mine = self
        mine.owner = context.user ?? ""
        return mine
    }

    /// The load of the source for Low Data Mode, if that mode is on and the source takes the place of this load's.
    var ofLowDataSource: ImageLoad? {
        guard case .network = source, let other = options.lowDataSource,
            options.downloader.configuration.isNetworkConstrained()
        else { return nil }
        var options = options
        (options.lowDataSource, options.allowsConstrainedNetwork) = (nil, true)
        var low = ImageLoad(other, of: resource, options)
        (low.isPrefetch, low.keepsInMemory) = (isPrefetch, keepsInMemory)
        return low
    }

    /// The options of the cache.
    package var cacheOptions: CacheOptions {
        var cache = CacheOptions()
        cache.processorIdentifier = options.processor.identifier
        cache.context = context
        cache.memoryCacheExpiration = options.memoryCacheExpiration
        cache.memoryCacheAccessExtendingExpiration = options.memoryCacheAccessExtendingExpiration
        cache.diskCacheExpiration = options.diskCacheExpiration
        cache.diskCacheAccessExtendingExpiration = options.diskCacheAccessExtendingExpiration
        cache.fromMemoryCacheOrRefresh = options.fromMemoryCacheOrRefresh
        cache.keepInBackground = options.keepInBackground
        cache.forcedExtension = options.forcedExtension
        cache.isPrefetch = isPrefetch
        cache.fetchDuration = begun.map { max(options.cache.clock.now - $0, 0) }
        return cache
    }

    /// The options of the cache of originals, where an original is another entry than the image.
    var originalOptions: CacheOptions {
        var cache = cacheOptions
        if isVariant { cache.forcedExtension = nil }
        return cache
    }

    /// The serializer, if not the cache's; an original that is to be kept is kept as it came, if the cache's can read it.
    package var serializer: (any CacheSerializer<Bitmap>)? {
        if let serializer = options.serializer { return serializer }
        guard options.cacheOriginalImage, !isVariant, options.cache.serializer.readsImageFiles else { return nil }
        return BitmapSerializer(prefersOriginal: true)
    }
}

/// An entry of one of several caches.
struct EntryKey: Hashable, Sendable {
    let cache: ObjectIdentifier
    let computed: String
    let forcedExtension: String?

    init(_ cache: ImageCache<Bitmap>, _ computed: String, _ forcedExtension: String?) {
        self.cache = ObjectIdentifier(cache)
        self.computed = computed
        self.forcedExtension = forcedExtension
    }
}

/// Identifies the making of a variant.
struct VariantKey: Hashable, Sendable {
    let entry: EntryKey
    let originals: ObjectIdentifier
    let maker: String
    let heedsServer: Bool
    let onlyFromCache: Bool
}

/// The result of making a variant of a cached original.
enum Variant: Sendable {
    /// There is no original that may be used.
    case none
    /// The cache has the variant by now.
    case cached
    /// The variant was made of these bytes, or of an image, and is kept.
    case made(MadeImage, bytes: Data?, Freshness?)
}

// The order in which one source is asked: cache, original, only then what has to be loaded.
extension HalcyonManager {
    /// Returns the image of one source.
    func image(_ load: ImageLoad, _ task: DownloadTask?) async throws -> ImageResult {
        if load.options.forceRefresh { return try await loaded(load, task) }
        let view = await view(of: load)
        if let found = try await fromCache(view, task) { return found }
        // The private entry cannot be read.
        if view.owner != nil, let found = try await fromCache(load, task) { return found }
        if load.options.onlyFromCache { throw ManagerError.notCached(key: load.computedKey) }
        return try await loaded(load, task)
    }

    /// Returns the image that the cache has, or that is made of an original that it has; revalidated where that is due.
    private func fromCache(_ load: ImageLoad, _ task: DownloadTask?) async throws -> ImageResult? {
        switch await lookUpFresh(load) {
        case .found(let result): result
        case .stale(let record, let policy): try await renewed(load, record, policy, task)
        case .missing: try await madeOfOriginal(load)
        }
    }

    /// Returns the load of the private entry if there is one, or its original, else of the shared entry.
    func view(of load: ImageLoad) async -> ImageLoad {
        guard let mine = load.ofPrivateEntry else { return load }
        let (options, originals) = (load.options, load.options.originalCache)
        if await options.cache.isThere(mine.computedKey, forcedExtension: options.forcedExtension).cached {
            return mine
        }
        if mine.isVariant, await originals.isThere(mine.key, forcedExtension: nil).cached { return mine }
        return load
    }

    /// Returns the image that the cache has, looked up as an access. A file that cannot be read counts as none: the cache has
    /// reported it.
    func lookUp(_ load: ImageLoad) async -> ImageResult? {
        guard let found = try? await cached(load), let image = found.image else { return nil }
        return ImageResult(
            image: image, cacheType: found.cacheType, resource: load.resource, source: load.source,
            originalData: await originalData(load))
    }

    /// Looks an image up. What look-ups on disk have read is decoded in turns. Simultaneous look-ups of one file are one: the others find
    /// in memory what the first has promoted, or get its picture.
    private func cached(_ load: ImageLoad) async throws -> ImageCacheResult<Bitmap> {
        let (cache, options) = (load.options.cache, load.cacheOptions)
        let computed = load.computedKey
        // A miss is counted by the look-up that follows it.
        func inMemory() -> Bitmap? {
            cache.fromMemory(
                computed, options.memoryCacheAccessExtendingExpiration, categories: options.context.categories,
                user: options.context.user, kind: .probe)
        }
        if let image = inMemory() { return .memory(image) }
        if options.fromMemoryCacheOrRefresh { return cache.missed(computed, options) }
        let serializer = load.serializer
        let decoding = decodeLimiter.queue(over: .untouch, load.options.priority)
        let look = { @Sendable in
            try await cache.image(forKey: load.key, serializer: serializer, decoding: decoding, options: options)
        }
        // Bytes mean the same only to the same serializer.
        guard serializer == nil else { return try await look() }
        let (found, isFirst) = try await lookUps.value(of: load.entry, look)
        if isFirst { return found }
        guard let image = found.image else { return cache.missed(computed, options) }
        if let image = inMemory() { return .memory(image) }
        cache.sharedHit(computed, image, options)
        return .disk(image)
    }

    // MARK: - Variants of originals

    /// Returns the image of a cached original; `nil` if there is none that is fresh and complete. It is made once for all loads that
    /// want the same variant at the same time.
    ///
    /// - Throws: the error of the processor. An original that cannot be decoded is removed, and counts as none.
    func madeOfOriginal(_ load: ImageLoad) async throws -> ImageResult? {
        guard load.isVariant, !load.options.fromMemoryCacheOrRefresh else { return nil }
        let key = VariantKey(
            entry: load.entry, originals: ObjectIdentifier(load.options.originalCache), maker: maker(load).identifier,
            heedsServer: load.options.freshness?.honoursServer == true, onlyFromCache: load.options.onlyFromCache)
        let (variant, isFirst) = try await variantWorks.with(key) { work in
            work.join(
                load.options.priority, decodeLimiter.queue(over: load.options.processingQueue, load.options.priority))
            return try await variants.value(of: key) { [self] in try await makeVariant(load, work) }
        }
        switch variant {
        case .none: return nil
        case .cached: return await lookUp(load)
        case .made(let made, let bytes, let freshness):
            if !isFirst { await keep(made, original: nil, freshness, load) }
            return ImageResult(
                image: made.image, cacheType: .none, isFromOriginal: true, resource: load.resource, source: load.source,
                originalData: load.options.wantsOriginalData && keepsOriginals(load.options.originalCache, load)
                    ? bytes : nil)
        }
    }

    /// Makes and keeps a variant.
    ///
    /// - Parameter work: processes it on the queue of the load that is most urgent.
    private func makeVariant(_ load: ImageLoad, _ work: QueuedWork) async throws -> Variant {
        // It may have been made since this load looked it up.
        if !load.isPrefetch, load.options.cache.memoryStorage.isCached(forKey: load.computedKey) { return .cached }
        let (isUsable, record) = await freshnessOfOriginal(load)
        guard isUsable else { return .none }
        guard let original = await original(load) else { return .none }
        try Task.checkCancellation()
        let bytes: Data? = if case .data(let bytes) = original { bytes } else { nil }
        let serializer = load.options.originalCache.serializer
        let (processor, decoder, observed) = (load.options.processor, decoder, load.options.observed)
        let queue = decodeLimiter.queue(over: load.options.processingQueue, load.options.priority)
        let made: Result<(Bitmap, Freshness?), any Error>
        do {
            made = .success(
                try await work.result {
                    // A record of other bytes does not hold for these.
                    let isKnown = bytes.map { record?.isOf($0) == true } == true
                    let item = try serializer.input(original)
                    let image = try observed.decoding { try processor.process(item, decoder: decoder) }
                    return (image, isKnown ? record?.freshness : nil)
                })
        } catch {
            made = .failure(error)
        }
        switch made {
        case .success(let (image, freshness)):
            let made = MadeImage(image)
            await keep(made, original: nil, freshness, load)
            return .made(made, bytes: bytes, freshness)
        case .failure(let error):
            guard let bytes, await queue.isDamaged(bytes, serializer, decoder) else { throw error }
            await load.options.originalCache.remove(forKey: load.key)
            return .none
        }
    }

    /// Returns the cached original: the bytes of its file, or else its picture in memory; `nil` if there is neither.
    private func original(_ load: ImageLoad) async -> ImageProcessItem? {
        let originals = load.options.originalCache
        if let bytes = await originals.original(forKey: load.key, options: load.originalOptions) {
            return .data(bytes)
        }
        return originals.memoryStorage.value(forKey: load.key, context: load.context).map(ImageProcessItem.image)
    }

    /// Returns the bytes that a cached image was made of, read from the disk. It returns `nil` if they are not on disk, or if a
    /// serializer has encoded them again.
    private func originalData(_ load: ImageLoad) async -> Data? {
        guard load.options.wantsOriginalData else { return nil }
        let (cache, originals) = (load.options.cache, load.options.originalCache)
        if !load.isVariant, keepsOriginals(cache, load),
            let bytes = await cache.original(forKey: load.key, options: load.cacheOptions)
        {
            return bytes
        }
        guard load.isVariant || originals !== cache, keepsOriginals(originals, load) else { return nil }
        return await originals.original(forKey: load.key, options: load.originalOptions)
    }

    /// Whether a cache's entry under the key of a load's source has the original bytes.
    private func keepsOriginals(_ cache: ImageCache<Bitmap>, _ load: ImageLoad) -> Bool {
        let serializer = load.isVariant ? cache.serializer : load.serializer ?? cache.serializer
        return serializer.keepsOriginalData
    }

    // MARK: - Loading

    /// Loads, processes and keeps.
    func loaded(_ load: ImageLoad, _ task: DownloadTask?) async throws -> ImageResult {
        var load = load
        load.begun = load.begun ?? load.options.cache.clock.now
        guard load.isPrefetch else { return try await fetched(load, task) }
        load.record(.prefetchStart)
        do { return try await fetched(load, task) } catch {
            load.record(.prefetchEnd)
            throw error
        }
    }

    private func fetched(_ load: ImageLoad, _ task: DownloadTask?) async throws -> ImageResult {
        let downloader = load.options.downloader
        switch load.source {
        case .provider(let provider):
            let attempts = Attempts(strategy: load.options.retryStrategy, clock: downloader.clock)
            let provided = try await load.options.observed.transferring {
                try await providers.load(provider, maker(load), limited(load.options), attempts)
            }
            return await result(load, provided.made, provided.data, nil)
        case .network(let url, _):
            if let low = load.ofLowDataSource { return try await image(low, task) }
            let result = try await load.options.observed.transferring {
                try await downloader.download(url, processor(load), limited(load.options).download, task)
            }
            return await self.result(load, try await own(result, url, load, task))
        }
    }

    /// Returns a response that the load's user may see: this one, unless it is private and that of another user's load, which has
    /// shared the transfer.
    func own(
        _ response: DownloadResult<MadeImage>, _ url: URL, _ load: ImageLoad, _ task: DownloadTask?
    ) async throws -> DownloadResult<MadeImage> {
        guard response.freshness.isPrivate, !response.owner.belongs(to: load.context.user) else { return response }
        var options = limited(load.options).download
        options.mergePartition = load.context.user ?? ""
        return try await load.options.observed.transferring {
            try await load.options.downloader.download(url, processor(load), options, task)
        }
    }

    /// Keeps a downloaded image, and returns the result.
    func result(_ load: ImageLoad, _ response: DownloadResult<MadeImage>) async -> ImageResult {
        await result(load, response.value, response.originalData, response.freshness)
    }

    /// Returns the processor of the downloader, which works once for all loads that want the same.
    func processor(_ load: ImageLoad) -> DownloadProcessor<MadeImage> {
        let maker = maker(load)
        return DownloadProcessor(identifier: maker.identifier) { data, _ in try maker.image(of: data) }
    }

    /// Returns the options of a load whose processing takes turns.
    func limited(_ options: LoadOptions) -> LoadOptions {
        var limited = options
        limited.processingQueue = decodeLimiter.queue(over: options.processingQueue, options.priority)
        return limited
    }

    private func maker(_ load: ImageLoad) -> ImageMaker {
        ImageMaker(processor: load.options.processor, decoder: decoder, observed: load.options.observed)
    }

    /// Keeps a loaded image, and returns the result.
    private func result(
        _ load: ImageLoad, _ made: MadeImage, _ data: Data, _ freshness: Freshness?
    ) async -> ImageResult {
        await keep(made, original: data, freshness, load)
        return ImageResult(
            image: made.image, cacheType: .none, resource: load.resource, source: load.source,
            originalData: load.options.wantsOriginalData ? data : nil)
    }
}

extension CacheSerializer<Bitmap> {
    /// Whether the files that this serializer reads are image files, also those that it has not written.
    var readsImageFiles: Bool {
        keepsOriginalData || self is BitmapSerializer || self is TransformingSerializer<Bitmap>
    }

    /// Returns what a processor is given of a cached original: the bytes of its file if that is an image file, else the picture that
    /// this serializer makes of them.
    ///
    /// - Throws: ``ImageError/unknownFormat`` if the serializer makes no picture of them.
    fileprivate func input(_ original: ImageProcessItem) throws -> ImageProcessItem {
        guard !readsImageFiles, case .data(let bytes) = original else { return original }
        guard let picture = value(with: bytes) else { throw ImageError.unknownFormat }
        return .image(picture)
    }
}

extension CallbackQueue {
    /// Whether no picture can be decoded from some bytes because they are damaged.
    fileprivate func isDamaged(
        _ bytes: Data, _ serializer: any CacheSerializer<Bitmap>, _ decoder: ImageDecoder
    ) async -> Bool {
        do {
            _ = try await result {
                if case .data(let bytes) = try serializer.input(.data(bytes)) { _ = try decoder.decode(bytes) }
            }
            return false
        } catch let error as ImageError {
            switch error {
            case .unknownFormat, .truncated, .damaged: return true
            default: return false
            }
        } catch {
            return false
        }
    }
}
