import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking

/// Loads that want the bytes of an image, and decode nothing.
extension ImageLoader {
    /// Returns the bytes of the first source that has them.
    func data(for resource: Resource, _ options: SharedOptions, _ task: DownloadTask?) async throws -> Data {
        try await inTurn(resource, options) { load in
            var load = load
            (load.wantsBytes, load.task) = (true, task)
            return try await data(load)
        }
    }

    /// Returns the bytes of one source: those that the cache has as they came, else those that are loaded.
    private func data(_ load: ImageLoad) async throws -> Data {
        if load.options.reads.contains(.disk) {
            let load = try await withoutChangedFile(load)
            let view = try await view(of: load)
            if let bytes = try await cachedBytes(view) { return bytes }
            // The private entry has none.
            if view.owner != nil, let bytes = try await cachedBytes(load) { return bytes }
        }
        if load.options.onlyFromCache { throw ManagerError.notCached(key: load.computedKey) }
        return try await loaded(load) { low in
            try await data(low)
        } result: { load, loaded in
            try await keep(loaded.made, original: loaded.data, loaded.freshness, load)
            return loaded.data
        }
    }

    /// Returns the original bytes on disk, if they may be used without asking the server.
    private func cachedBytes(_ load: ImageLoad) async throws -> Data? {
        if let policy = policy(load) {
            let record = await record(of: load)
            switch try await situation(load, policy, record?.freshness).decision {
            case .use: break
            case .useAndRevalidate:
                var image = load
                image.wantsBytes = false
                if let record { renewLater(image, record) }
            case .revalidate, nil: return nil
            }
        }
        let (cache, originals) = (load.options.cache, load.options.originalCache)
        if keepsOriginals(cache, load), let bytes = try await bytes(of: load.entryKey, load.cacheOptions, in: cache) {
            return bytes
        }
        guard originals !== cache, keepsOriginals(originals, load) else { return nil }
        return try await bytes(of: EntryKey(load.key), load.cacheOptions, in: originals)
    }

    // MARK: - Prefetches to the disk

    /// Whether a prefetch needs no picture: the disk gets the bytes as they come.
    func needsBytesAlone(_ load: ImageLoad) -> Bool {
        let serializer = load.serializer ?? load.options.cache.serializer
        return !load.keepsInMemory && !load.isVariant && load.keepsOnDisk && serializer.keepsOriginalData
            && serializer.readsImageFiles
    }

    /// Loads and keeps the bytes of an image that no request waits for.
    ///
    /// - Throws: also the error of the header: bytes that are no picture are not kept. A file that is damaged behind its header is found
    ///   when it is requested, and counts as missing then.
    func loadedBytesUnseen(_ load: ImageLoad) async throws -> Prefetched? {
        var load = load
        load.wantsBytes = true
        return try await loaded(load) { low in
            try await prefetch(low)
        } result: { load, loaded in
            guard case .undecoded(let information?) = loaded.made.content else {
                _ = try decoder.information(of: loaded.data)
                throw ImageError.unknownFormat
            }
            try await keep(loaded.made, original: loaded.data, loaded.freshness, load)
            let isProvided = load.source.url == nil
            return Prefetched(
                cost: information.size.pixelCount * 4, bytes: isProvided ? 0 : loaded.data.count,
                origin: isProvided ? .provider : .network)
        }
    }
}
