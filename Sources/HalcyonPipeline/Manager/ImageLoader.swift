import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport
import Synchronization

/// Loads the images of a manager: asks the cache, then its originals, then the source; processes and keeps what it has loaded.
///
/// A load checks after each wait whether it was cancelled. From then on it asks for nothing, and decodes, processes, promotes and keeps
/// nothing; a `CancellationError` is never taken for a miss. See `CancelledLoadTests`.
final class ImageLoader: Sendable {
    let decoder: ImageDecoder
    let decodeLimiter: DecodeLimiter
    /// Merges loads from providers.
    let providers = ProviderMerger()
    /// Merges look-ups on disk, so that one file is read and decoded once for all loads that want it at the same time.
    let lookUps: SharedWork<CacheEntry, ImageCacheResult<Bitmap>>
    /// Merges the making of variants of cached originals.
    let variants: SharedWork<VariantKey, Variant>
    /// Merges the decoding of cached files of which several variants are made.
    let files = SharedFiles()
    /// The entries that are being revalidated in the background.
    let revalidating = Mutex<Set<CacheEntry>>([])
    /// Whether an entry was seen that request fields select, so that a hit in memory has to look for one.
    let hasSelected = Atomic(false)
    /// The servers and images that have just failed to be revalidated.
    let pauses = RevalidationPauses()
    /// The versions of files of which cached images were made.
    let fileVersions = FileVersions()
    /// Merges the checks of whether stale entries are what their records describe.
    let checks = SharedChecks()

    init(_ decoder: ImageDecoder, _ decodeLimiter: DecodeLimiter) {
        self.decoder = decoder
        self.decodeLimiter = decodeLimiter
        lookUps = SharedWork(decodeLimiter)
        variants = SharedWork(decodeLimiter)
    }

    // MARK: - Sources in turn

    /// Returns the image of the first source that has it.
    func image(
        for resource: Resource, _ options: SharedOptions, _ observed: ObservedLoad?, _ task: DownloadTask?
    ) async throws -> ImageResult {
        var result = try await inTurn(resource, options) { [self] load in
            do {
                var load = load
                (load.observed, load.task) = (observed, task)
                return try await image(load)
            } catch  where !error.isCancellation {
                load.options.cache.recordMiss(forKey: load.key, options: load.cacheOptions)
                throw error
            }
        }
        if let modifier = options.values.imageModifier { result.image = modifier.modified(result.image) }
        return result
    }

    /// Returns the result of the first source that does not fail.
    ///
    /// - Throws: the error of the only source, or those of all.
    func inTurn<Value>(
        _ resource: Resource, _ options: SharedOptions, _ work: (ImageLoad) async throws -> Value
    ) async throws -> Value {
        var failures: [SourceFailure] = []
        for (number, source) in ([resource.source] + options.values.alternativeSources).enumerated() {
            try Task.checkCancellation()
            do {
                var load = ImageLoad(source, of: resource, options)
                // It takes the place of the resource's source only.
                if number > 0 { load.options.lowDataSource = nil }
                return try await work(load)
            } catch  where !error.isCancellation {
                failures.append(SourceFailure(source: source, error: error))
            }
        }
        if failures.count == 1, let only = failures.first { throw only.error }
        throw ManagerError.allSourcesFailed(failures)
    }
    // MARK: - One source: cache, original, then what has to be loaded

    /// Returns the image of one source.
    func image(_ load: ImageLoad) async throws -> ImageResult {
        let load = try await withoutChangedFile(load)
        if load.options.forceRefresh { return try await loaded(load) }
        let view = try await view(of: load)
        if let found = try await fromCache(view) { return found }
        // The private entry cannot be read.
        if view.owner != nil, let found = try await fromCache(load) { return found }
        if load.options.onlyFromCache { throw ManagerError.notCached(key: load.computedKey) }
        do {
            return try await loaded(load)
        } catch  where error.allowsStale && view.isVariant && load.options.freshness?.honoursServer == true {
            // A stale original may be used now, as far as that is allowed.
            noteFailure(load, error)
            guard let made = try await madeOfOriginal(view) else { throw error }
            return made
        }
    }

    /// Returns the image that the cache has, as far as it may be used; an image that is made of an original that the cache has; or the
    /// revalidated image. One that may be used while it is revalidated is revalidated later.
    private func fromCache(_ load: ImageLoad) async throws -> ImageResult? {
        guard let policy = policy(load) else { return try await found(load) }
        let record = await record(of: load)
        switch try await situation(load, policy, record?.freshness).decision {
        // What is cached was selected by other request fields.
        case nil: return nil
        case .use: return try await found(load)
        case .useAndRevalidate:
            guard let image = try await lookUp(load) else { return try await madeOfOriginal(load) }
            if let record { renewLater(load, record) }
            return image
        case .revalidate:
            let tier = try await tier(of: load.entryKey, in: load.options.cache)
            // Without a record, which may have been lost, it is loaded again.
            if tier.cached { return try await renewed(load, record, policy) }
            _ = load.options.cache.missed(load.computedKey, load.cacheOptions)
            return try await madeOfOriginal(load)
        }
    }

    private func found(_ load: ImageLoad) async throws -> ImageResult? {
        if let image = try await lookUp(load) { return image }
        return try await madeOfOriginal(load)
    }

    /// Returns the load of the private entry if there is one, or its original, else of the shared entry. Of private entries the one that
    /// the request's fields select comes first.
    func view(of load: ImageLoad) async throws -> ImageLoad {
        guard let mine = load.ofPrivateEntry else { return load }
        if let selected = await load.ofSelectedEntry(), try await isCached(selected) {
            hasSelected.store(true, ordering: .relaxed)
            return selected
        }
        return try await isCached(mine) ? mine : load
    }

    /// Returns whether there is the image of a load, or its original.
    private func isCached(_ load: ImageLoad) async throws -> Bool {
        let options = load.options
        if try await tier(of: load.entryKey, in: options.cache).cached { return true }
        guard load.isVariant else { return false }
        return try await tier(of: EntryKey(load.key), in: options.originalCache).cached
    }

    /// Returns the tier that has an entry. This is no access.
    func tier(of key: EntryKey, in cache: ImageCache<Bitmap>) async throws -> CacheType {
        let found = await cache.isThere(key)
        try Task.checkCancellation()
        return found
    }

    /// Returns the image that the cache has, looked up as an access. A file that cannot be read counts as none: the cache has
    /// reported it.
    func lookUp(_ load: ImageLoad) async throws -> ImageResult? {
        let found: ImageCacheResult<Bitmap>
        do { found = try await cached(load) } catch  where !error.isCancellation { return nil }
        guard let image = found.image else { return nil }
        return ImageResult(
            image: image, cacheType: found.cacheType, resource: load.resource, source: load.source,
            originalData: try await originalData(load))
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
        let readsMemory = load.options.reads.contains(.memory)
        if readsMemory, let image = inMemory() { return .memory(image) }
        if options.fromMemoryCacheOrRefresh { return cache.missed(computed, options) }
        let (serializer, priority) = (load.serializer, load.options.download.priority)
        if cache.isAbsentOnDisk(load.entryKey) { return try await cache.fromDisk(load.entryKey, options) }
        let look = { @Sendable (work: LimitedWork) in
            try await cache.fromDisk(load.entryKey, options, serializer: serializer, decoding: work.queue)
        }
        // Bytes mean the same only to the same serializer.
        guard serializer == nil else {
            let work = LimitedWork(decodeLimiter, priority, .untouch)
            load.task?.follow { work.setPriority($0, of: LimitedWork.firstLoad) }
            return try await look(work)
        }
        let (found, isFirst) = try await lookUps.value(of: load.entry, priority, .untouch, load.task, look)
        if isFirst { return found }
        guard let image = found.image else { return cache.missed(computed, options) }
        if readsMemory, let image = inMemory() { return .memory(image) }
        cache.sharedHit(computed, image, options)
        return .disk(image)
    }

    // MARK: - Loading

    /// Loads, processes and keeps.
    ///
    /// - Throws: also ``ManagerError/emptyKey``: loads share their work by the key.
    func loaded(_ load: ImageLoad) async throws -> ImageResult {
        try await loaded(load) { low in
            try await low.isPrefetch ? loaded(low) : image(low)
        } result: { load, loaded in
            try await result(load, loaded)
        }
    }

    /// What a load got from its source.
    struct Loaded {
        let made: MadeImage
        let data: Data
        /// What the server said, and how long the transfer took; `nil` without one.
        var freshness: Freshness?
        var metrics: TransferMetrics?
    }

    /// Loads, makes what the load wants, and returns the result of that.
    ///
    /// - Parameters:
    ///   - other: returns the result of the source for Low Data Mode.
    ///   - result: keeps what was made of the bytes.
    func loaded<Value>(
        _ load: ImageLoad, low other: (ImageLoad) async throws -> Value,
        result: (ImageLoad, Loaded) async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        if load.source.cacheKey.isEmpty { throw ManagerError.emptyKey }
        var load = load
        load.begun = load.begun ?? load.options.cache.clock.now
        guard load.isPrefetch else { return try await fetched(load, other, result) }
        load.record(.prefetchStart)
        do { return try await fetched(load, other, result) } catch {
            load.record(.prefetchEnd)
            throw error
        }
    }

    private func fetched<Value>(
        _ load: ImageLoad, _ other: (ImageLoad) async throws -> Value,
        _ result: (ImageLoad, Loaded) async throws -> Value
    ) async throws -> Value {
        let downloader = load.options.downloader
        switch load.source {
        case .provider(let given):
            let provider = try load.permitted(given)
            let attempts = Attempts(strategy: load.options.download.retryStrategy, clock: downloader.clock)
            let provided = try await load.observed.transferring {
                try await providers.load(
                    provider, load.fileVersion, maker(load), load.options.download, attempts, load.task)
            }
            return try await result(load, Loaded(made: provided.made, data: provided.data))
        case .network(let url, _):
            if let low = load.ofLowDataSource { return try await other(low) }
            try load.options.sourcePolicy.check(url)
            let previews = PreviewMaker(load, decoder, decodeLimiter)
            var download = load.options.download
            if let previews {
                download.onProgress = { [receive = download.onProgress] progress in
                    receive?(progress)
                    previews.arrived(progress)
                }
            }
            do {
                defer { previews?.end() }
                let response = try await withTaskCancellationHandler {
                    try await load.observed.transferring { [download] in
                        try await downloader.download(url, processor(load), download, load.task)
                    }
                } onCancel: {
                    previews?.end()
                }
                previews?.end()
                return try await result(load, Loaded(try await own(response, url, load)))
            } catch NetworkError.constrainedNetwork {
                // The downloader's configuration did not know of the mode, or it has begun since.
                guard let low = load.ofOtherSource else { throw NetworkError.constrainedNetwork }
                return try await other(low)
            }
        }
    }

    /// Returns a response that the load's user may see: this one, unless it is private and that of another user's load, which has
    /// shared the transfer.
    func own(
        _ response: DownloadResult<MadeImage>, _ url: URL, _ load: ImageLoad
    ) async throws -> DownloadResult<MadeImage> {
        guard response.freshness.isPrivate, !response.shared.belongs(to: load.context.user) else { return response }
        var options = load.options.download
        options.mergePartition = load.context.user ?? ""
        return try await load.observed.transferring {
            try await load.options.downloader.download(url, processor(load), options, load.task)
        }
    }

    /// Keeps a downloaded image, and returns the result.
    func result(_ load: ImageLoad, _ response: DownloadResult<MadeImage>) async throws -> ImageResult {
        try await result(load, Loaded(response))
    }

    /// Returns the processor of the downloader, which works once for all loads that want the same first step.
    func processor(_ load: ImageLoad) -> DownloadProcessor<MadeImage> {
        let maker = maker(load)
        return DownloadProcessor(identifier: maker.identifier) { data, _ in try maker.image(of: data) }
    }

    private func maker(_ load: ImageLoad) -> ImageMaker {
        ImageMaker(
            processor: ProcessorSteps(load.options.processor).first, decoder: decoder, observed: load.observed,
            wantsBytes: load.wantsBytes)
    }

    /// Takes the further steps of a load's processor, each once for all loads that share the bytes and the steps before it.
    private func processed(_ first: MadeImage, _ load: ImageLoad) async throws -> MadeImage {
        let rest = ProcessorSteps(load.options.processor).rest
        if rest.isEmpty { return first }
        let work = LimitedWork(decodeLimiter, load.options.download.priority, load.options.download.processingQueue)
        load.task?.follow { work.setPriority($0, of: LimitedWork.firstLoad) }
        return try await first.after(rest, decoder, load.observed, work)
    }

    /// Keeps a loaded image, and returns the result.
    private func result(_ load: ImageLoad, _ loaded: Loaded) async throws -> ImageResult {
        let made = try await processed(loaded.made, load)
        try await keep(made, original: loaded.data, loaded.freshness, load)
        return ImageResult(
            image: try made.image(), cacheType: .none, resource: load.resource, source: load.source,
            originalData: load.options.wantsOriginalData ? loaded.data : nil, metrics: loaded.metrics)
    }
}

extension ImageLoader.Loaded {
    init(_ response: DownloadResult<MadeImage>) {
        var made = response.value
        made.places = response.shared.attached(KeptPlaces())
        self.init(made: made, data: response.originalData, freshness: response.freshness, metrics: response.metrics)
    }
}
