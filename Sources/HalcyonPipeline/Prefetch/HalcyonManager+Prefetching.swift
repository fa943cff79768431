extension HalcyonManager {
    /// Prefetches an image into the cache, with the same sources, retries and originals as ``image(for:options:)``.
    ///
    /// - Returns: what was loaded or made; `nil` for an image that is cached already. That is left as it is, unless it is stale and
    ///   freshness counts, but taken into memory where `toMemory` asks for it.
    package func prefetch(_ resource: Resource, _ options: ImageOptions?, toMemory: Bool) async throws -> Prefetched? {
        try await loadObservers.observe(resource, isPrefetch: true, origin: { $0?.origin ?? .cached }) { observed in
            let options = LoadOptions(options, of: self, isPrefetch: true, observed: observed)
            return try await FirstAnswer.of { [self] in
                try await inTurn(resource, options) { load in
                    var load = load
                    (load.isPrefetch, load.keepsInMemory) = (true, toMemory || options.cacheMemoryOnly)
                    return try await prefetch(load)
                }
            }
        }
    }

    private func prefetch(_ load: ImageLoad) async throws -> Prefetched? {
        if load.options.forceRefresh { return try await loadedUnseen(load) }
        let cache = load.options.cache
        let view = await view(of: load)
        let found = await cache.isThere(view.computedKey, forcedExtension: view.options.forcedExtension)
        if found == .memory || found == .disk && !load.options.fromMemoryCacheOrRefresh {
            var renewed = view
            // An image that is in memory already is replaced there, too.
            renewed.keepsInMemory = load.keepsInMemory || found == .memory
            if try await prefetchedStale(renewed) { return .renewed }
            if found == .disk, load.keepsInMemory {
                await cache.promote(view.computedKey, serializer: view.serializer, options: view.cacheOptions)
                view.record(.prefetchArrival)
            }
            return nil
        }
        if let made = try await madeOfOriginal(view) { return Prefetched(made) }
        if load.options.onlyFromCache { throw ManagerError.notCached(key: load.computedKey) }
        return try await loadedUnseen(load)
    }

    /// Loads, processes and keeps an image that no request waits for. In Low Data Mode its other source is prefetched.
    ///
    /// - Returns: what was loaded; `nil` if the image of the other source is cached.
    func loadedUnseen(_ load: ImageLoad) async throws -> Prefetched? {
        if let low = load.ofLowDataSource { return try await prefetch(low) }
        return Prefetched(try await loaded(load, nil))
    }
}

/// An image that was prefetched.
package struct Prefetched: Sendable {
    /// Its bytes in memory.
    package let cost: Int
    /// The loaded bytes, where the result has them; 0 for an image of a cached original or a provider.
    package let bytes: Int

    /// An image that was cached and loaded again; its size is not known.
    package static let renewed = Prefetched(cost: 0, bytes: 0)

    /// The place from which the image came.
    let origin: ImageOrigin

    private init(cost: Int, bytes: Int) { (self.cost, self.bytes, origin) = (cost, bytes, .network) }

    package init(_ result: ImageResult) {
        origin = ImageOrigin(result)
        cost = result.image.cacheCost
        bytes = result.isFromOriginal || result.source.url == nil ? 0 : result.originalData?.count ?? 0
    }
}
