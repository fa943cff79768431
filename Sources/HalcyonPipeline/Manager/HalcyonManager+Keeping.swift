import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking

// What is kept of a loaded image, once for all loads that share it.
extension HalcyonManager {
    /// Keeps an image, and the original if that is wanted, as far as no other load that shares them has. Memory has it when this
    /// returns, the disk later unless the load waits for it.
    func keep(_ made: MadeImage, original: Data?, _ freshness: Freshness?, _ load: ImageLoad) async {
        // An image of a truncated file is shown once, and never kept.
        if made.image.provenance?.isComplete == false { return }
        let requested = load
        var load = load
        if freshness?.isPrivate == true { load.owner = load.context.user ?? "" }
        let options = load.options
        let heeds = options.freshness?.honoursServer == true
        if heeds, freshness?.isStorable == false {
            // A joined load that does not heed the server may have kept it.
            await made.forbid()
            // An earlier response is outdated by this one.
            await removeEntry(requested)
            if load.owner != requested.owner { await removeEntry(load) }
            return
        }
        let (cache, key, variant) = (options.cache, load.key, options.processor.identifier)
        if load.owner == nil, freshness != nil, let mine = load.ofPrivateEntry {
            // What was private to the user is outdated by this response, which is not.
            cache.removeImage(
                forKey: mine.key, processorIdentifier: variant, forcedExtension: options.forcedExtension)
            if load.isVariant, original != nil { options.originalCache.removeImage(forKey: mine.key) }
        }
        await keepOriginal(made, original, freshness, load)
        let disk = load.diskPlace
        let memory = MadeImage.Place(cache: ObjectIdentifier(cache), key: load.computedKey, tier: .memory)
        let record = heeds ? freshness : nil
        let computed = load.computedKey
        let isOnDisk = await made.inTurn {
            let toDisk =
                !options.cacheMemoryOnly
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
            if load.isPrefetch, options.forceRefresh, !toMemory { cache.memoryStorage.remove(forKey: computed) }
            cache.store(
                made.image, original: original, forKey: load.key, toMemory: toMemory, toDisk: toDisk,
                // Another load may have kept this image on disk.
                keepsFile: made.isClaimed(disk), serializer: load.serializer, options: load.cacheOptions,
                kept: { [notes = cache.notes] in
                    made.stored($0, at: disk)
                    notes.note(record, of: $0, at: computed)
                },
                done: { _ in
                    if toMemory { made.written(memory) }
                    if toDisk { made.written(disk) }
                })
            return toDisk
        }
        if options.waitForCache { await made.settle(disk) }
        // Another load that does not heed the server has kept it without a record.
        if heeds, !isOnDisk, !options.cacheMemoryOnly, let freshness { await note(freshness, made, load) }
    }

    private func keepOriginal(_ made: MadeImage, _ original: Data?, _ freshness: Freshness?, _ load: ImageLoad) async {
        let options = load.options
        guard let original, options.cacheOriginalImage || options.wantsOriginalData && !load.isPrefetch,
            !options.cacheMemoryOnly, load.isVariant
        else { return }
        let (originals, key) = (options.originalCache, load.key)
        let place = MadeImage.Place(cache: ObjectIdentifier(originals), key: key, tier: .original)
        let record = options.freshness?.honoursServer == true ? freshness : nil
        let (serializer, decoder) = (originals.serializer, decoder)
        await made.inTurn {
            let isFirst = made.claim(place, now: originals.clock.now) {
                (options.diskCacheExpiration ?? originals.diskStorage?.config.expiration ?? .never).deadline(from: $0)
            } remove: {
                await originals.remove(forKey: key)
            }
            guard isFirst else { return }
            originals.keepOriginal(
                {
                    // Other serializers may encrypt what they store.
                    if serializer.readsImageFiles { return original }
                    let picture = try? DecodingGate.shared.run { try decoder.decode(original) }
                    return picture.flatMap { serializer.data(with: $0, original: original) }
                },
                forKey: key, options: load.originalOptions,
                kept: { [notes = originals.notes] in notes.note(record, of: $0, at: key) },
                done: { made.written(place) })
        }
        if options.waitForCache { await made.settle(place) }
    }

    /// Notes what the server says of bytes that another load has kept, once they are on disk and as long as they are.
    private func note(_ freshness: Freshness, _ made: MadeImage, _ load: ImageLoad) async {
        let (cache, computed, place) = (load.options.cache, load.computedKey, load.diskPlace)
        await made.settle(place)
        guard let bytes = made.bytes(at: place) else { return }
        _ = await cache.onDisk(.change(computed)) { [notes = cache.notes] storage in
            let url = storage.cacheFileURL(forKey: computed, forcedExtension: place.forcedExtension)
            // Another store may have taken its place.
            guard (try? Data(contentsOf: url)) == bytes else { return }
            notes.set(FreshnessRecord(freshness, of: bytes).note, of: computed)
        }
    }
}

extension EntryNotes {
    /// Notes what the server says of bytes; without anything to note, removes a note of other bytes.
    fileprivate func note(_ freshness: Freshness?, of bytes: Data, at computed: String) {
        if let freshness {
            set(FreshnessRecord(freshness, of: bytes).note, of: computed)
        } else if FreshnessRecord(note: note(of: computed))?.isOf(bytes) != true {
            set(nil, of: computed)
        }
    }
}
