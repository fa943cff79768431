extension HalcyonManager {
    /// Brings an image into the cache ahead of need, with the same sources, retries and originals as ``image(for:options:)``.
    ///
    /// - Returns: what had to be loaded or made; `nil` for what is cached already, which is left as it is, unless it is stale and
    ///   freshness counts, but taken into memory where that is asked for.
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
            // What is in memory already is to be the new one there, too.
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

/// An image that was brought into the cache ahead of need.
package struct Prefetched: Sendable {
    /// What it costs in memory.
    package let cost: Int
    /// The bytes that were loaded, where the result was to have them; 0 for what was made of a kept original, or
    /// comes from a provider on this machine.
    package let bytes: Int

    /// One that was there and was loaded anew; nobody asked for its size.
    package static let renewed = Prefetched(cost: 0, bytes: 0)

    private init(cost: Int, bytes: Int) { (self.cost, self.bytes) = (cost, bytes) }

    package init(_ result: ImageResult) {
        cost = result.image.cacheCost
        bytes = result.isFromOriginal || result.source.url == nil ? 0 : result.originalData?.count ?? 0
    }
}
