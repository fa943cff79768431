import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// Keeping what was loaded, once for all loads that share a response.
extension ImageLoader {
    /// Keeps an image, and the original if that is wanted, as far as no other load that shares them has. Memory has it when this
    /// returns, the disk later unless the load waits for it.
    ///
    /// - Throws: `CancellationError`, and nothing is kept, if the task is cancelled before the image is stored.
    func keep(_ made: MadeImage, original: Data?, _ freshness: Freshness?, _ load: ImageLoad) async throws {
        try Task.checkCancellation()
        switch made.content {
        // An image of a truncated file is shown once, and never kept.
        case .image(let image): if image.provenance?.isComplete == false { return }
        // Bytes that are no picture are not kept.
        case .undecoded(let information): if information == nil { return }
        }
        let (places, requested) = (made.places, load)
        var load = load
        if let freshness, freshness.isPrivate {
            load.owner = load.context.user ?? ""
            load.variant = freshness.variant?.name(ofUser: load.context.user)
            if load.variant != nil { hasSelected.store(true, ordering: .relaxed) }
        }
        let options = load.options
        let heeds = options.freshness?.honoursServer == true
        if heeds, freshness?.isStorable == false {
            // A joined load that does not heed the server may have kept it.
            await places.forbid()
            // An earlier response is outdated by this one.
            await removeEntry(requested)
            if load.key != requested.key { await removeEntry(load) }
            return
        }
        // The server has begun to tell requests apart that it did not.
        if load.variant != nil, requested.variant == nil, await isUnselected(requested) {
            await removeEntry(requested)
        }
        let cache = options.cache
        if load.owner == nil, freshness != nil, let mine = load.ofPrivateEntry {
            // What was private to the user is outdated by this response, which is not.
            cache.removeImage(forKey: mine.entryKey)
            if load.isVariant, original != nil { options.originalCache.removeImage(forKey: mine.key) }
        }
        try await keepOriginal(original, freshness, load, places)
        let disk = load.diskPlace
        let memory = KeptPlaces.Place(
            cache: ObjectIdentifier(cache), key: ByteName(load.computedKey), tier: .memory)
        let noting = load.fileVersion?.noting ?? FreshnessRecord.noting(heeds ? freshness : nil)
        let entry = load.entryKey
        if let version = load.fileVersion { fileVersions.note(version, of: load.entry) }
        let isOnDisk = try await places.inTurn {
            let toDisk =
                load.keepsOnDisk
                && places.claim(disk, now: cache.clock.now) {
                    (options.caching.diskCacheExpiration ?? cache.diskStorage?.config.expiration ?? .never).deadline(
                        from: $0)
                } remove: {
                    await cache.remove(forKey: entry, fromMemory: false)
                }
            let toMemory =
                made.isDecoded && load.keepsInMemory && options.writes.contains(.memory)
                && places.claim(memory, now: cache.clock.now) {
                    (options.caching.memoryCacheExpiration ?? cache.memoryStorage.config.expiration).deadline(from: $0)
                } remove: {
                    await cache.remove(forKey: entry, fromDisk: false)
                }
            // A prefetch leaves memory alone; what it has of the key is older.
            let isOlder =
                (load.isPrefetch || load.wantsBytes) && options.forceRefresh
                || load.keepsOnDisk && !options.writes.contains(.memory)
            if isOlder, !places.isClaimed(memory) { cache.memoryStorage.remove(forKey: entry.computed) }
            let done = { @Sendable (_: CacheStoreResult) in
                if toMemory { places.written(memory) }
                if toDisk { places.written(disk) }
            }
            let kept = { @Sendable (bytes: Data) in places.stored(bytes, at: disk) }
            switch made.content {
            case .image(let image):
                cache.store(
                    image, original: original, forKey: entry, toMemory: toMemory, toDisk: toDisk,
                    // Another load may have kept this image on disk.
                    keepsFile: places.isClaimed(disk), serializer: load.serializer, options: load.cacheOptions,
                    note: noting, kept: kept, done: done)
            case .undecoded(let information):
                guard toDisk, let original else { break }
                cache.store(
                    bytes: file(of: original, in: cache), cost: (information?.size.pixelCount ?? 0) * 4, forKey: entry,
                    options: load.cacheOptions, note: noting, kept: kept, done: done)
            }
            return toDisk
        }
        if options.waitForCache { await places.settle(disk) }
        try Task.checkCancellation()
        // Another load that does not heed the server has kept it without a record.
        if heeds, !isOnDisk, load.keepsOnDisk, let freshness { await note(freshness, load, places) }
    }

    private func keepOriginal(
        _ original: Data?, _ freshness: Freshness?, _ load: ImageLoad, _ places: KeptPlaces
    ) async throws {
        let options = load.options
        guard let original, options.diskPolicy.keepsOriginals || options.wantsOriginalData && !load.isPrefetch,
            options.writes.contains(.disk), load.isVariant, !load.source.isDataURL
        else { return }
        let (originals, key) = (options.originalCache, load.key)
        // The place of a load of the original itself, which may have joined.
        let place = KeptPlaces.Place(cache: ObjectIdentifier(originals), key: ByteName(key), tier: .disk)
        let memory = KeptPlaces.Place(cache: ObjectIdentifier(originals), key: ByteName(key), tier: .memory)
        let noting =
            load.fileVersion?.noting
            ?? FreshnessRecord.noting(options.freshness?.honoursServer == true ? freshness : nil)
        if let version = load.fileVersion { fileVersions.note(version, of: CacheEntry(originals, load.originalKey)) }
        let bytes = file(of: original, in: originals)
        try await places.inTurn {
            let isFirst = places.claim(place, now: originals.clock.now) {
                (options.caching.diskCacheExpiration ?? originals.diskStorage?.config.expiration ?? .never).deadline(
                    from: $0)
            } remove: {
                await originals.remove(forKey: key)
            }
            guard isFirst else { return }
            originals.keepOriginal(
                bytes, forKey: load.originalKey, keepsMemory: places.isClaimed(memory), options: load.cacheOptions,
                note: noting, kept: { places.stored($0, at: place) }, done: { places.written(place) })
        }
        if options.waitForCache { await places.settle(place) }
    }

    /// Returns what makes the file of original bytes in a cache.
    private func file(of original: Data, in cache: ImageCache<Bitmap>) -> @Sendable () -> Data? {
        { [serializer = cache.serializer, decoder] in
            // Other serializers may encrypt what they store.
            if serializer.readsImageFiles { return original }
            let picture = try? decoder.decode(original)
            return picture.flatMap { serializer.data(with: $0, original: original) }
        }
    }

    /// Notes what the server says of bytes that another load has kept, once they are on disk and as long as they are.
    private func note(_ freshness: Freshness, _ load: ImageLoad, _ places: KeptPlaces) async {
        let (cache, place) = (load.options.cache, load.diskPlace)
        await places.settle(place)
        guard let bytes = places.bytes(at: place) else { return }
        // Another store may have taken its place.
        await cache.notes.set(
            FreshnessRecord(freshness, of: bytes).note, of: load.entryKey
        ) { $0 == bytes }
    }

    /// Removes the entry of a load, and the original of which a variant was made.
    func removeEntry(_ load: ImageLoad) async {
        let (cache, originals, key) = (load.options.cache, load.options.originalCache, load.key)
        await cache.remove(forKey: load.entryKey)
        if load.isVariant { await originals.remove(forKey: key) }
    }
}
