import Foundation
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
        let options = load.cacheOptions
        let found = try? await cache.image(forKey: load.key, serializer: load.serializer, options: options)
        guard let found, let image = found.image else { return nil }
        return ImageResult(
            image: image, cacheType: found.cacheType, source: load.source, originalData: await originalData(load))
    }

    /// The image of an original that was kept; `nil` if there is none that is fresh and whole.
    func madeOfOriginal(_ load: ImageLoad) async throws -> ImageResult? {
        guard load.isVariant, !load.options.fromMemoryCacheOrRefresh else { return nil }
        let freshness = await freshnessOfOriginal(load)
        guard freshness.isUsable else { return nil }
        let (bytes, picture) = await original(load)
        guard let item = bytes.map(ImageProcessItem.data) ?? picture.map(ImageProcessItem.image) else { return nil }
        try Task.checkCancellation()
        guard let image = try? await process(item, load) else { return nil }
        await keep(MadeImage(image), original: nil, freshness.known, load)
        return ImageResult(
            image: image, cacheType: .none, isFromOriginal: true, source: load.source,
            originalData: load.options.wantsOriginalData ? bytes : nil)
    }

    /// Loads, processes and keeps.
    func loaded(_ load: ImageLoad, _ task: DownloadTask?) async throws -> ImageResult {
        switch load.source {
        case .provider(let provider):
            let attempts = Attempts(strategy: load.options.retryStrategy, clock: downloader.clock)
            let provided = try await providers.load(provider, maker(load), load.options, attempts)
            return await result(load, provided.made, provided.data, nil)
        case .network(let url, _):
            if downloader.configuration.isNetworkConstrained(), let other = load.options.lowDataSource {
                return try await lowData(load, other, task)
            }
            let options = load.options.download
            let request = try downloader.request(for: url, options)
            let result = try await downloader.download(request, processor(load), options, task)
            return await self.result(load, result.value, result.originalData, result.freshness)
        }
    }

    /// What makes the image of what was loaded, once for all who want the same.
    func processor(_ load: ImageLoad) -> DownloadProcessor<MadeImage> {
        let maker = maker(load)
        return DownloadProcessor(identifier: maker.identifier) { data, _ in try maker.image(of: data) }
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

    private func process(_ item: ImageProcessItem, _ load: ImageLoad) async throws -> Bitmap {
        let (processor, decoder) = (load.options.processor, decoder)
        return try await load.options.processingQueue.result { try processor.process(item, decoder: decoder) }
    }

    /// What is kept of an original: its bytes, which give what a load would, or else its picture.
    private func original(_ load: ImageLoad) async -> (bytes: Data?, picture: Bitmap?) {
        if let bytes = await originalCache.original(forKey: load.key, options: load.cacheOptions) {
            return (bytes, nil)
        }
        return (nil, originalCache.memoryStorage.value(forKey: load.key, context: load.context))
    }

    private func originalData(_ load: ImageLoad) async -> Data? {
        guard load.options.wantsOriginalData else { return nil }
        return await originalCache.original(forKey: load.key, options: load.cacheOptions)
    }
}
