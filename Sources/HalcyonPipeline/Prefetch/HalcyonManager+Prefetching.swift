extension HalcyonManager {
    /// Prefetches an image into the cache, with the same sources, retries and originals as ``image(for:options:)``.
    ///
    /// An image that is already cached is not loaded, unless the options request freshness and it is stale. With `toMemory` it is
    /// promoted to memory.
    ///
    /// - Returns: the loaded or processed image; `nil` if it was already cached.
    package func prefetch(_ resource: Resource, _ options: ImageOptions, toMemory: Bool) async throws -> Prefetched? {
        try await FirstAnswer.of { [self] in
            try await inTurn(resource, options) { source in
                var load = ImageLoad(source, of: resource, options)
                (load.isPrefetch, load.keepsInMemory) = (true, toMemory || options.cacheMemoryOnly)
                return try await prefetch(load)
            }
        }
    }

    private func prefetch(_ load: ImageLoad) async throws -> Prefetched? {
        if load.options.forceRefresh { return Prefetched(try await loaded(load, nil)) }
        let found = await cache.isThere(load.computedKey)
        if found == .memory || found == .disk && !load.options.fromMemoryCacheOrRefresh {
            var renewed = load
            // An image that is already in memory is replaced there, too.
            renewed.keepsInMemory = load.keepsInMemory || found == .memory
            if try await prefetchedStale(renewed) { return .renewed }
            if found == .disk, load.keepsInMemory {
                await cache.promote(load.computedKey, serializer: load.serializer, options: load.cacheOptions)
            }
            return nil
        }
        if let made = try await madeOfOriginal(load) { return Prefetched(made) }
        if load.options.onlyFromCache { throw ManagerError.notCached(key: load.computedKey) }
        return Prefetched(try await loaded(load, nil))
    }
}

/// A prefetched image.
package struct Prefetched: Sendable {
    /// Its size in memory, in bytes.
    package let cost: Int
    /// The number of bytes that were loaded, if the options request original data. 0 for an image that was made from a cached
    /// original, or that comes from a provider.
    package let bytes: Int

    /// A stale image that was loaded again. Its size is not recorded.
    package static let renewed = Prefetched(cost: 0, bytes: 0)

    private init(cost: Int, bytes: Int) { (self.cost, self.bytes) = (cost, bytes) }

    package init(_ result: ImageResult) {
        cost = result.image.cacheCost
        bytes = result.isFromOriginal || result.source.url == nil ? 0 : result.originalData?.count ?? 0
    }
}
