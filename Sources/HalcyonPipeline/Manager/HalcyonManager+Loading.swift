import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking

/// The load of an image from one source.
package struct ImageLoad: Sendable {
    package let source: Source
    /// The source of the resource that was requested.
    let originalSource: Source
    package var options: LoadOptions
    package var context: AccessContext
    /// The user whose private entry is meant; `nil` for the entry that all users share.
    var owner: String?
    /// Whether it is a prefetch: no access, and not recorded in the log.
    package var isPrefetch = false
    /// Whether the image is kept in memory.
    package var keepsInMemory = true

    init(_ source: Source, of resource: Resource, _ options: LoadOptions) {
        self.source = source.resolved
        originalSource = resource.source
        self.options = options
        context = AccessContext(categories: resource.categories, user: resource.user)
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

    /// The load of the user's private entry, then that of the shared one.
    var views: [ImageLoad] {
        guard let user = context.user else { return [self] }
        var mine = self
        mine.owner = user
        return [mine, self]
    }

    /// Whether the load's user may see an entry of which this is known.
    func maySee(_ record: FreshnessRecord?) -> Bool {
        owner == context.user || context.user == nil || record?.isPrivate != true
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

    /// The serializer that reads an entry of which this is known, if not the cache's.
    func serializer(_ record: FreshnessRecord?) -> (any CacheSerializer<Bitmap>)? {
        record?.isPrivate == true ? PrivateSerializer(serializer ?? options.cache.serializer) : serializer
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
    let freshness: Bool
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
        switch await lookUpFresh(view) {
        case .found(let result): return result
        case .stale(let record, let policy): return try await renewed(view, record, policy, task)
        case .missing: break
        }
        if let made = try await madeOfOriginal(view) { return made }
        if load.options.onlyFromCache { throw ManagerError.notCached(key: load.computedKey) }
        return try await loaded(load, task)
    }

    /// Returns the load of the user's private entry if there is one, of it or its original, else of the shared entry.
    func view(of load: ImageLoad) async -> ImageLoad {
        guard let mine = load.views.first, mine.owner != nil else { return load }
        let (options, originals) = (load.options, load.options.originalCache)
        if await options.cache.isThere(mine.computedKey, forcedExtension: options.forcedExtension).cached {
            return mine
        }
        if mine.isVariant, await originals.isThere(mine.key, forcedExtension: nil).cached { return mine }
        return load
    }

    /// Returns the image that the cache has, looked up as an access. A file that cannot be read counts as none: the cache has
    /// reported it.
    func lookUp(_ load: ImageLoad, _ record: FreshnessRecord?) async -> ImageResult? {
        guard let found = try? await cached(load, record), let image = found.image else { return nil }
        return ImageResult(
            image: image, cacheType: found.cacheType, source: load.source, originalSource: load.originalSource,
            originalData: await originalData(load))
    }

    /// Looks an image up. Look-ups on disk take turns, and those of one file at the same time are one: the others find in memory
    /// what the first has promoted, or get its picture.
    private func cached(_ load: ImageLoad, _ record: FreshnessRecord?) async throws -> ImageCacheResult<Bitmap> {
        let (cache, options) = (load.options.cache, load.cacheOptions)
        let computed = load.computedKey
        // A miss is counted by the look-up that follows it.
        func inMemory() -> Bitmap? {
            let image = cache.fromMemory(
                computed, options.memoryCacheAccessExtendingExpiration, categories: options.context.categories,
                user: options.context.user, kind: .probe)
            return image?.isPrivate == true && load.owner != load.context.user ? nil : image
        }
        if let image = inMemory() { return .memory(image) }
        if options.fromMemoryCacheOrRefresh || !load.maySee(record) { return cache.missed(computed, options) }
        let serializer = load.serializer(record)
        let look = { @Sendable [self] in
            try await decodeLimiter.run(load.options.priority) {
                try await cache.image(forKey: load.key, serializer: serializer, options: options)
            }
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
            freshness: load.options.freshness != nil, onlyFromCache: load.options.onlyFromCache)
        let (variant, isFirst) = try await variants.value(of: key) { [self] in try await makeVariant(load) }
        switch variant {
        case .none: return nil
        case .cached: return await lookUp(load, record(of: load))
        case .made(let made, let bytes, let freshness):
            if !isFirst { await keep(made, original: nil, freshness, load) }
            return ImageResult(
                image: made.image, cacheType: .none, isFromOriginal: true, source: load.source,
                originalSource: load.originalSource,
                originalData: load.options.wantsOriginalData && keepsOriginals(load.options.originalCache, load)
                    ? bytes : nil)
        }
    }

    /// Makes and keeps a variant.
    private func makeVariant(_ load: ImageLoad) async throws -> Variant {
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
                try await queue.result {
                    // A record of other bytes does not hold for these.
                    let isKnown = bytes.map { record?.isOf($0) == true } == true
                    let item = try serializer.input(original)
                    var image = try observed.decoding { try processor.process(item, decoder: decoder) }
                    image.isPrivate = isKnown && record?.isPrivate == true
                    if case .image(let picture) = original, picture.isPrivate { image.isPrivate = true }
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
        let downloader = load.options.downloader
        switch load.source {
        case .provider(let provider):
            let attempts = Attempts(strategy: load.options.retryStrategy, clock: downloader.clock)
            let provided = try await load.options.observed.transferring {
                try await providers.load(provider, maker(load), limited(load.options), attempts)
            }
            return await result(load, provided.made, provided.data, nil)
        case .network(let url, _):
            if downloader.configuration.isNetworkConstrained(), let other = load.options.lowDataSource {
                return try await lowData(load, other, task)
            }
            let options = limited(load.options).download
            var result = try await load.options.observed.transferring {
                try await downloader.download(url, processor(load), options, task)
            }
            if result.freshness.isPrivate, !result.value.belongs(to: load.context.user) {
                // The transfer was another user's, and its response may be, too.
                var own = options
                own.mergePartition = load.context.user ?? ""
                result = try await load.options.observed.transferring {
                    try await downloader.download(url, processor(load), own, task)
                }
            }
            return await self.result(load, result.value, result.originalData, result.freshness)
        }
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
    func result(_ load: ImageLoad, _ made: MadeImage, _ data: Data, _ freshness: Freshness?) async -> ImageResult {
        await keep(made, original: data, freshness, load)
        return ImageResult(
            image: made.image, cacheType: .none, source: load.source, originalSource: load.originalSource,
            originalData: load.options.wantsOriginalData ? data : nil)
    }

    private func lowData(_ load: ImageLoad, _ other: Source, _ task: DownloadTask?) async throws -> ImageResult {
        var options = load.options
        (options.lowDataSource, options.allowsConstrainedNetwork) = (nil, true)
        var low = ImageLoad(other, of: Resource(load.originalSource), options)
        (low.context, low.isPrefetch, low.keepsInMemory) = (load.context, load.isPrefetch, load.keepsInMemory)
        return try await image(low, task)
    }

    // MARK: - Keeping

    /// Keeps an image, and the original if that is wanted, as far as no other load that shares them has. Memory has it when this
    /// returns, the disk later unless the load waits for it.
    func keep(_ made: MadeImage, original: Data?, _ freshness: Freshness?, _ load: ImageLoad) async {
        // An image of a truncated file is shown once, and never kept.
        if made.image.provenance?.isComplete == false { return }
        var load = load
        load.owner = freshness?.isPrivate == true ? load.context.user : load.owner
        let options = load.options
        let heeds = options.freshness?.honoursServer == true
        if heeds, freshness?.isStorable == false {
            // A joined load that does not heed the server may have kept it.
            return await made.forbid()
        }
        await keepOriginal(made, original, freshness, load)
        let (cache, key, variant) = (options.cache, load.key, options.processor.identifier)
        let disk = load.diskPlace
        let memory = MadeImage.Place(cache: ObjectIdentifier(cache), key: load.computedKey, tier: .memory)
        var image = made.image
        image.isPrivate = image.isPrivate || freshness?.isPrivate == true && load.owner == nil
        // Without a record the disk cannot tell that it is private.
        let mayGoToDisk = !options.cacheMemoryOnly && !(image.isPrivate && freshness == nil)
        let toDisk =
            mayGoToDisk
            && made.claim(disk, now: cache.clock.now) {
                (options.diskCacheExpiration ?? cache.diskStorage?.config.expiration ?? .never).deadline(from: $0)
            } remove: {
                await cache.remove(
                    forKey: key, processorIdentifier: variant, forcedExtension: options.forcedExtension,
                    fromMemory: false)
            }
        let toMemory =
            load.keepsInMemory
            && made.claim(memory, now: cache.clock.now) {
                (options.memoryCacheExpiration ?? cache.memoryStorage.config.expiration).deadline(from: $0)
            } remove: {
                await cache.remove(forKey: key, processorIdentifier: variant, fromDisk: false)
            }
        // A prefetch leaves memory alone; what it has of the key is older.
        if load.isPrefetch, options.forceRefresh, !toMemory { cache.memoryStorage.remove(forKey: load.computedKey) }
        let record = heeds || image.isPrivate ? freshness : nil
        let notes = cache.notes
        let computed = load.computedKey
        if toDisk, image.isPrivate, load.owner == nil, let freshness {
            // Before the bytes, so that no other user finds them without it.
            let note = FreshnessRecord(freshness, of: original ?? Data(), isPrivate: true).note
            _ = await cache.onDisk(.change(computed)) { _ in notes.set(note, of: computed) }
        }
        let isMarked = image.isPrivate
        cache.store(
            image, original: original, forKey: load.key, toMemory: toMemory, toDisk: toDisk,
            serializer: load.serializer, options: load.cacheOptions,
            kept: { notes.note(record, isPrivate: isMarked, of: $0, at: computed) },
            done: { _ in
                if toMemory { made.written(memory) }
                if toDisk { made.written(disk) }
            })
        if options.waitForCache { await made.settle(disk) }
        // Another load that does not heed the server has kept it without a record.
        if heeds, !toDisk, !options.cacheMemoryOnly, freshness != nil { await note(record, made, original, load) }
    }

    private func keepOriginal(_ made: MadeImage, _ original: Data?, _ freshness: Freshness?, _ load: ImageLoad) async {
        let options = load.options
        guard let original, options.cacheOriginalImage || options.wantsOriginalData && !load.isPrefetch,
            !options.cacheMemoryOnly, load.isVariant
        else { return }
        let (originals, key) = (options.originalCache, load.key)
        let place = MadeImage.Place(cache: ObjectIdentifier(originals), key: key, tier: .original)
        let isFirst = made.claim(place, now: originals.clock.now) {
            (options.diskCacheExpiration ?? originals.diskStorage?.config.expiration ?? .never).deadline(from: $0)
        } remove: {
            await originals.remove(forKey: key)
        }
        if isFirst {
            let notes = originals.notes
            let isPrivate = freshness?.isPrivate == true && load.owner == nil
            let record = options.freshness?.honoursServer == true || isPrivate ? freshness : nil
            let (serializer, decoder) = (originals.serializer, decoder)
            originals.keepOriginal(
                {
                    // Other serializers may encrypt what they store.
                    if serializer.readsImageFiles { return original }
                    let picture = try? DecodingGate.shared.run { try decoder.decode(original) }
                    return picture.flatMap { serializer.data(with: $0, original: original) }
                },
                forKey: key, options: load.originalOptions,
                kept: { notes.note(record, isPrivate: isPrivate, of: $0, at: key) }, done: { made.written(place) })
        }
        if options.waitForCache { await made.settle(place) }
    }

    /// Notes what the server says of bytes that another load has kept, once they are on disk.
    private func note(_ freshness: Freshness?, _ made: MadeImage, _ original: Data?, _ load: ImageLoad) async {
        guard let freshness, let original else { return }
        let (cache, computed) = (load.options.cache, load.computedKey)
        await made.settle(load.diskPlace)
        let forcedExtension = load.options.forcedExtension
        _ = await cache.onDisk(.change(computed)) { [notes = cache.notes] storage in
            let url = storage.cacheFileURL(forKey: computed, forcedExtension: forcedExtension)
            let bytes = (try? Data(contentsOf: url)) ?? original
            notes.set(FreshnessRecord(freshness, of: bytes).note, of: computed)
        }
    }
}

extension EntryNotes {
    /// Notes what the server says of bytes; without anything to note, removes a note of other bytes.
    fileprivate func note(_ freshness: Freshness?, isPrivate: Bool, of bytes: Data, at computed: String) {
        if let freshness {
            set(FreshnessRecord(freshness, of: bytes, isPrivate: isPrivate).note, of: computed)
        } else if FreshnessRecord(note: note(of: computed))?.isOf(bytes) != true {
            set(nil, of: computed)
        }
    }
}

extension CacheSerializer<Bitmap> {
    /// Whether the files that this serializer reads are image files, also those that it has not written.
    fileprivate var readsImageFiles: Bool {
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

/// Marks images as private that are read from the disk.
private struct PrivateSerializer: CacheSerializer {
    private let base: any CacheSerializer<Bitmap>

    init(_ base: any CacheSerializer<Bitmap>) { self.base = base }

    var keepsOriginalData: Bool { base.keepsOriginalData }

    func data(with value: Bitmap, original: Data?) -> Data? { base.data(with: value, original: original) }

    func value(with data: Data) -> Bitmap? {
        var image = base.value(with: data)
        image?.isPrivate = true
        return image
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
