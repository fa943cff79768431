import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking

// The order in which one source is asked: cache, original, only then what has to be loaded.
extension HalcyonManager {
    /// The image of one source.
    func image(_ load: ImageLoad, _ task: DownloadTask?) async throws -> ImageResult {
        if load.options.forceRefresh { return try await loaded(load, task) }
        switch await lookUpFresh(load) {
        case .found(let result): return result
        case .stale(let record, let policy): return try await renewed(load, record, policy, task)
        case .missing: break
        }
        if let made = try await madeOfOriginal(load) { return made }
        if load.options.onlyFromCache { throw ManagerError.notCached(key: load.computedKey) }
        return try await loaded(load, task)
    }

    /// What the cache has, looked up as an access. A file that cannot be read is as good as none: the cache has told of it.
    func lookUp(_ load: ImageLoad) async -> ImageResult? {
        guard let found = try? await cached(load), let image = found.image else { return nil }
        return ImageResult(
            image: image, cacheType: found.cacheType, source: load.source, originalData: await originalData(load))
    }

    /// Looks an image up. Look-ups on disk take turns, and those of one file at the same time are one: the others find in memory
    /// what the first has promoted, or get its picture.
    private func cached(_ load: ImageLoad) async throws -> ImageCacheResult<Bitmap> {
        let (computed, options, serializer) = (load.computedKey, load.cacheOptions, load.serializer)
        // A miss is counted by the look-up that follows it.
        func inMemory() -> Bitmap? {
            cache.fromMemory(
                computed, options.memoryCacheAccessExtendingExpiration, categories: options.context.categories,
                user: options.context.user, kind: .probe)
        }
        if let image = inMemory() { return .memory(image) }
        if options.fromMemoryCacheOrRefresh { return cache.missed(computed, options) }
        let look = { @Sendable [self] in
            try await decodeLimiter.run(load.options.priority) { [self] in
                try await cache.image(forKey: load.key, serializer: serializer, options: options)
            }
        }
        // Bytes mean the same only to the same serializer.
        guard serializer == nil else { return try await look() }
        let (found, isFirst) = try await lookUps.value(of: computed, look)
        if isFirst { return found }
        guard let image = found.image else { return cache.missed(computed, options) }
        if let image = inMemory() { return .memory(image) }
        cache.sharedHit(computed, image, options)
        return .disk(image)
    }

    /// The image of an original that was kept; `nil` if there is none that is fresh and whole. Made once for all that want the same
    /// variant at the same time.
    ///
    /// - Throws: the error of the processor. An original that cannot be decoded is removed, and as good as none.
    func madeOfOriginal(_ load: ImageLoad) async throws -> ImageResult? {
        guard load.isVariant, !load.options.fromMemoryCacheOrRefresh else { return nil }
        let (variant, isFirst) = try await variants.value(of: variantKey(load)) { [self] in try await makeVariant(load)
        }
        switch variant {
        case .none: return nil
        case .cached: return await lookUp(load)
        case .made(let made, let bytes, let freshness):
            if !isFirst { await keep(made, original: nil, freshness, load) }
            return ImageResult(
                image: made.image, cacheType: .none, isFromOriginal: true, source: load.source,
                originalData: load.options.wantsOriginalData && keepsOriginals(originalCache, load) ? bytes : nil)
        }
    }

    private func variantKey(_ load: ImageLoad) -> VariantKey {
        VariantKey(
            computed: load.computedKey, maker: maker(load).identifier, freshness: load.options.freshness != nil,
            onlyFromCache: load.options.onlyFromCache)
    }

    /// Makes and keeps a variant.
    private func makeVariant(_ load: ImageLoad) async throws -> Variant {
        // It may have been made since this load looked it up.
        if !load.isPrefetch, cache.memoryStorage.isCached(forKey: load.computedKey) { return .cached }
        let (isUsable, record) = await freshnessOfOriginal(load)
        guard isUsable else { return .none }
        let (bytes, picture) = await original(load)
        guard let item = bytes.map(ImageProcessItem.data) ?? picture.map(ImageProcessItem.image) else { return .none }
        try Task.checkCancellation()
        let (processor, decoder) = (load.options.processor, decoder)
        let queue = decodeLimiter.queue(over: load.options.processingQueue, load.options.priority)
        let made: Result<(Bitmap, Freshness?), any Error>
        do {
            made = .success(
                try await queue.result {
                    // What is known of other bytes is not true of these.
                    let isKnown = bytes.map { record?.isOf($0) == true } == true
                    return (try processor.process(item, decoder: decoder), isKnown ? record?.freshness : nil)
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
            guard let bytes, await queue.isDamaged(bytes, decoder) else { throw error }
            await originalCache.remove(forKey: load.key)
            return .none
        }
    }

    /// Loads, processes and keeps.
    func loaded(_ load: ImageLoad, _ task: DownloadTask?) async throws -> ImageResult {
        switch load.source {
        case .provider(let provider):
            let attempts = Attempts(strategy: load.options.retryStrategy, clock: downloader.clock)
            let provided = try await providers.load(provider, maker(load), limited(load.options), attempts)
            return await result(load, provided.made, provided.data, nil)
        case .network(let url, _):
            if downloader.configuration.isNetworkConstrained(), let other = load.options.lowDataSource {
                return try await lowData(load, other, task)
            }
            let options = limited(load.options).download
            let result = try await downloader.download(url, processor(load), options, task)
            return await self.result(load, result.value, result.originalData, result.freshness)
        }
    }

    /// What makes the image of what was loaded, once for all who want the same.
    func processor(_ load: ImageLoad) -> DownloadProcessor<MadeImage> {
        let maker = maker(load)
        return DownloadProcessor(identifier: maker.identifier) { data, _ in try maker.image(of: data) }
    }

    /// The options of a load whose processing takes turns.
    func limited(_ options: ImageOptions) -> ImageOptions {
        var limited = options
        limited.processingQueue = decodeLimiter.queue(over: options.processingQueue, options.priority)
        return limited
    }

    private func maker(_ load: ImageLoad) -> ImageMaker {
        ImageMaker(processor: load.options.processor, decoder: decoder)
    }

    /// Keeps what was made, and says what it is.
    func result(_ load: ImageLoad, _ made: MadeImage, _ data: Data, _ freshness: Freshness?) async -> ImageResult {
        await keep(made, original: data, freshness, load)
        return ImageResult(
            image: made.image, cacheType: .none, source: load.source,
            originalData: load.options.wantsOriginalData ? data : nil)
    }

    private func lowData(_ load: ImageLoad, _ other: Source, _ task: DownloadTask?) async throws -> ImageResult {
        var options = load.options
        (options.lowDataSource, options.allowsConstrainedNetwork) = (nil, true)
        var low = ImageLoad(other, of: Resource(other), options)
        (low.context, low.isPrefetch, low.keepsInMemory) = (load.context, load.isPrefetch, load.keepsInMemory)
        return try await image(low, task)
    }

    /// What is kept of an original: its bytes, which give what a load would, or else its picture.
    private func original(_ load: ImageLoad) async -> (bytes: Data?, picture: Bitmap?) {
        if let bytes = await originalCache.original(forKey: load.key, options: load.cacheOptions) {
            return (bytes, nil)
        }
        return (nil, originalCache.memoryStorage.value(forKey: load.key, context: load.context))
    }

    /// The bytes that a cached image was made of, read from the disk whichever tier has the image; `nil` where a serializer of one's
    /// own has encoded them anew, or they are not on disk.
    private func originalData(_ load: ImageLoad) async -> Data? {
        guard load.options.wantsOriginalData else { return nil }
        if !load.isVariant, keepsOriginals(cache, load),
            let bytes = await cache.original(forKey: load.key, options: load.cacheOptions)
        {
            return bytes
        }
        guard load.isVariant || originalCache !== cache, keepsOriginals(originalCache, load) else { return nil }
        return await originalCache.original(forKey: load.key, options: load.cacheOptions)
    }

    /// Whether what a cache has under the key of a load's source are the original bytes.
    private func keepsOriginals(_ cache: ImageCache<Bitmap>, _ load: ImageLoad) -> Bool {
        let serializer = load.isVariant ? cache.serializer : load.serializer ?? cache.serializer
        return serializer.keepsOriginalData
    }
}

/// What tells the making of one variant from that of another.
struct VariantKey: Hashable, Sendable {
    let computed: String
    let maker: String
    let freshness: Bool
    let onlyFromCache: Bool
}

/// What came of making a variant of a kept original.
enum Variant: Sendable {
    /// There is no original that may be used.
    case none
    /// The cache has the variant by now.
    case cached
    /// It was made of these bytes, or of a picture, and is kept.
    case made(MadeImage, bytes: Data?, Freshness?)
}

extension CallbackQueue {
    /// Whether no picture can be decoded from some bytes because they are damaged.
    fileprivate func isDamaged(_ bytes: Data, _ decoder: ImageDecoder) async -> Bool {
        do {
            _ = try await result { try decoder.decode(bytes) }
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
