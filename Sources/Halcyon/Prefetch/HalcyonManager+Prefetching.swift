extension HalcyonManager {
    /// Brings an image into the cache ahead of need, with the same sources, retries and originals as ``image(for:options:)``.
    ///
    /// - Returns: whether it had to be loaded or made; what is cached already is left as it is, unless it is stale and freshness
    ///   counts, but taken into memory where that is asked for.
    func prefetch(_ resource: Resource, _ options: ImageOptions, toMemory: Bool) async throws -> Bool {
        try await FirstAnswer.of { [self] in
            try await inTurn(resource, options) { source in
                var load = ImageLoad(source, of: resource, options)
                (load.isPrefetch, load.keepsInMemory) = (true, toMemory || options.cacheMemoryOnly)
                return try await prefetch(load)
            }
        }
    }

    private func prefetch(_ load: ImageLoad) async throws -> Bool {
        if load.options.forceRefresh {
            _ = try await loaded(load, nil)
            return true
        }
        let found = await cache.isThere(load.computedKey)
        if found == .memory || found == .disk && !load.options.fromMemoryCacheOrRefresh {
            var renewed = load
            // What is in memory already is to be the new one there, too.
            renewed.keepsInMemory = load.keepsInMemory || found == .memory
            if try await prefetchedStale(renewed) { return true }
            if found == .disk, load.keepsInMemory {
                await cache.promote(load.computedKey, serializer: load.serializer, options: load.cacheOptions)
            }
            return false
        }
        if try await madeOfOriginal(load) != nil { return true }
        if load.options.onlyFromCache { throw ManagerError.notCached(key: load.computedKey) }
        _ = try await loaded(load, nil)
        return true
    }
}
