import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// Identifies the making of a variant.
struct VariantKey: Hashable, Sendable {
    let entry: CacheEntry
    let originals: ObjectIdentifier
    let maker: ByteName
    let heedsServer: Bool
    let onlyFromCache: Bool
    /// The request's fields, of which one may select another original.
    let fields: FieldDigest?
    /// The version of a local file.
    let version: FileVersion?
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

/// The cached result of the first processors of a chain.
private struct CachedStep: Sendable {
    /// The file that others may share; `nil` if it is in memory, or if only this load reads it so.
    var file: SharedFiles.File?
    /// Returns the picture; `nil` if its file cannot be read.
    let picture: @Sendable () -> Bitmap?
    /// The processors that come after it.
    let rest: ProcessorSteps
}

/// Images that are made of what the cache has: of originals, and of the results of a chain's first steps.
extension ImageLoader {
    /// Returns the image of a cached original; `nil` if there is none that is fresh and complete. It is made once for all loads that
    /// want the same variant at the same time.
    ///
    /// - Throws: the error of the processor. An original that cannot be decoded is removed, and counts as none.
    func madeOfOriginal(_ load: ImageLoad) async throws -> ImageResult? {
        guard load.isVariant, !load.options.caching.fromMemoryCacheOrRefresh else { return nil }
        let heedsServer = load.options.freshness?.honoursServer == true
        let selects = heedsServer && load.options.download.requestModifier != nil
        let key = VariantKey(
            entry: load.entry, originals: ObjectIdentifier(load.options.originalCache),
            maker: ByteName("\(load.options.variant)#\(decoder.identifier)"), heedsServer: heedsServer,
            onlyFromCache: load.options.onlyFromCache, fields: selects ? await load.request()?.fieldDigest : nil,
            version: load.fileVersion)
        let (variant, isFirst) = try await variants.value(
            of: key, load.options.download.priority, load.options.download.processingQueue, load.task
        ) { [self] in try await makeVariant(load, $0) }
        switch variant {
        case .none: return nil
        case .cached: return try await lookUp(load)
        case .made(let made, let bytes, let freshness):
            if !isFirst { try await keep(made, original: nil, freshness, load) }
            return ImageResult(
                image: try made.image(), cacheType: .none, isFromOriginal: true, resource: load.resource,
                source: load.source,
                originalData: load.options.wantsOriginalData && keepsOriginals(load.options.originalCache, load)
                    ? bytes : nil)
        }
    }

    /// Makes and keeps a variant.
    ///
    /// - Parameter work: processes it on the queue of the load that is most urgent.
    private func makeVariant(_ load: ImageLoad, _ work: LimitedWork) async throws -> Variant {
        let (isUsable, record) = try await freshnessOfOriginal(load)
        guard isUsable else { return .none }
        // It may have been made since this load looked it up.
        if !load.isPrefetch, load.options.reads.contains(.memory),
            load.options.cache.memoryStorage.isCached(forKey: load.computedKey)
        {
            return .cached
        }
        // What is in memory is exact, and needs no decoding.
        if let step = stepInMemory(load) { return try await makeVariant(load, after: step, work) }
        guard let original = try await original(load) else {
            guard let step = try await stepOnDisk(load) else { return .none }
            return try await makeVariant(load, after: step, work)
        }
        let bytes: Data? = if case .data(let bytes) = original { bytes } else { nil }
        let serializer = load.options.originalCache.serializer
        let file = bytes.map {
            SharedFiles.File(entry: CacheEntry(load.options.originalCache, load.originalKey), bytes: $0)
        }
        do {
            let made = try await made(of: file, ProcessorSteps(load.options.processor), load, work) {
                try serializer.input(original)
            }
            var freshness: Freshness?
            // A record of other bytes does not hold for these.
            if let record, let bytes, try await work.result({ record.isOf(bytes) }) { freshness = record.freshness }
            try await keep(made, original: nil, freshness, load)
            return .made(made, bytes: bytes, freshness)
        } catch  where !error.isCancellation {
            guard let bytes, try await work.isDamaged(bytes, serializer, decoder) else { throw error }
            await load.options.originalCache.remove(forKey: load.key)
            return .none
        }
    }

    /// Makes and keeps a variant of the cached result of the first processors of its chain.
    private func makeVariant(_ load: ImageLoad, after step: CachedStep, _ work: LimitedWork) async throws -> Variant {
        struct Unreadable: Error {}
        do {
            let made = try await made(of: step.file, step.rest, load, work) {
                guard let picture = step.picture() else { throw Unreadable() }
                return .image(picture)
            }
            try await keep(made, original: nil, nil, load)
            return .made(made, bytes: nil, nil)
        } catch is Unreadable {
            return .none
        }
    }

    /// Makes an image of a cached file, or of a picture in memory, each step once for all loads that make something of the same file.
    ///
    /// - Parameters:
    ///   - file: the file that others may share.
    ///   - input: returns what the first processor is given.
    private func made(
        of file: SharedFiles.File?, _ steps: ProcessorSteps, _ load: ImageLoad, _ work: LimitedWork,
        _ input: @escaping @Sendable () throws -> ImageProcessItem
    ) async throws -> MadeImage {
        let (first, decoder, observed) = (steps.first, decoder, load.observed)
        return try await files.with(file) { shared in
            let made = try await shared.value(of: ByteName(first.identifier), work) {
                MadeImage(try observed.decoding { try first.process(try input(), decoder: decoder) })
            } then: {
                $0.take(steps.rest, decoder, observed, $1)
            }
            var result = try await made.after(steps.rest, decoder, observed, work)
            // What was kept and removed meanwhile is kept again.
            result.places = KeptPlaces()
            return result
        }
    }

    /// The names of the cached results of first processors of a load's chain, the longest first. There are none where the image must be
    /// made of bytes whose freshness is known, or that the result has.
    private func steps(_ load: ImageLoad) -> [(key: EntryKey, rest: ProcessorSteps)] {
        guard policy(load) == nil, !load.options.wantsOriginalData else { return [] }
        return ProcessorSteps(load.options.processor).divided.compactMap { identifier, rest in
            let key = EntryKey(load.key, processorIdentifier: identifier)
            if let version = load.fileVersion, fileVersions[CacheEntry(load.options.cache, key)] != version {
                return nil
            }
            return (key, rest)
        }
    }

    private func stepInMemory(_ load: ImageLoad) -> CachedStep? {
        guard load.options.reads.contains(.memory) else { return nil }
        for (key, rest) in steps(load) {
            let found = load.options.cache.memoryStorage.value(forKey: key.computed, context: load.context)
            if let found { return CachedStep(picture: { found }, rest: rest) }
        }
        return nil
    }

    private func stepOnDisk(_ load: ImageLoad) async throws -> CachedStep? {
        let cache = load.options.cache
        for (key, rest) in steps(load) where !cache.isAbsentOnDisk(key) {
            guard let bytes = try await bytes(of: key, load.cacheOptions, in: cache) else { continue }
            let serializer = load.serializer ?? cache.serializer
            let file = SharedFiles.File(entry: CacheEntry(cache, key), bytes: bytes)
            return CachedStep(
                file: load.serializer == nil ? file : nil, picture: { serializer.value(with: bytes) }, rest: rest)
        }
        return nil
    }

    /// Returns the cached original: the bytes of its file, or else its picture in memory; `nil` if there is neither.
    private func original(_ load: ImageLoad) async throws -> ImageProcessItem? {
        let originals = load.options.originalCache
        if let bytes = try await bytes(of: load.originalKey, load.cacheOptions, in: originals) { return .data(bytes) }
        guard load.options.reads.contains(.memory) else { return nil }
        return originals.memoryStorage.value(forKey: load.key, context: load.context).map(ImageProcessItem.image)
    }

    /// Returns the bytes that a cached image was made of, read from the disk. It returns `nil` if they are not on disk, or if a
    /// serializer has encoded them again.
    func originalData(_ load: ImageLoad) async throws -> Data? {
        guard load.options.wantsOriginalData else { return nil }
        // The file itself has them.
        if load.source.isFile, case .provider(let file) = load.source { return try? await load.permitted(file).data() }
        let (cache, originals) = (load.options.cache, load.options.originalCache)
        if !load.isVariant, keepsOriginals(cache, load),
            let bytes = try await bytes(of: load.entryKey, load.cacheOptions, in: cache)
        {
            return bytes
        }
        guard load.isVariant || originals !== cache, keepsOriginals(originals, load) else { return nil }
        return try await bytes(of: load.originalKey, load.cacheOptions, in: originals)
    }

    func bytes(of key: EntryKey, _ options: CacheOptions, in cache: ImageCache<Bitmap>) async throws -> Data? {
        let bytes = await cache.original(forKey: key, options: options)
        try Task.checkCancellation()
        return bytes
    }

    /// Whether a cache's entry under the key of a load's source has the original bytes.
    func keepsOriginals(_ cache: ImageCache<Bitmap>, _ load: ImageLoad) -> Bool {
        let serializer = load.isVariant ? cache.serializer : load.serializer ?? cache.serializer
        return serializer.keepsOriginalData
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

extension LimitedWork {
    /// Whether no picture can be decoded from some bytes because they are damaged.
    fileprivate func isDamaged(
        _ bytes: Data, _ serializer: any CacheSerializer<Bitmap>, _ decoder: ImageDecoder
    ) async throws -> Bool {
        do {
            _ = try await result {
                if case .data(let bytes) = try serializer.input(.data(bytes)) { _ = try decoder.decode(bytes) }
            }
            return false
        } catch let error as ImageError {
            switch error {
            case .unknownFormat, .noDecoder, .truncated, .damaged: return true
            default: return false
            }
        } catch  where !error.isCancellation {
            return false
        }
    }
}
