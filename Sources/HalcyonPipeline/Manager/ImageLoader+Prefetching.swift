import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// Loads that no request waits for.
extension ImageLoader {
    /// Prefetches an image from one source.
    ///
    /// - Returns: what was loaded or made; `nil` if the image is cached already.
    func prefetch(_ load: ImageLoad) async throws -> Prefetched? {
        let load = try await withoutChangedFile(load)
        if load.options.forceRefresh {
            let isOriginal = !load.keepsInMemory && load.keepsOriginalAlone
            return try await loadedUnseen(isOriginal ? load.ofOriginal : load)
        }
        let cache = load.options.cache
        let view = try await view(of: load)
        let found = try await tier(of: view.entryKey, in: cache)
        let reads = load.options.reads
        if found == .memory && reads.contains(.memory) || found == .disk && reads.contains(.disk) {
            var renewed = view
            // An image that is in memory already is replaced there, too.
            renewed.keepsInMemory = load.keepsInMemory || found == .memory
            if try await prefetchedStale(renewed) { return .renewed }
            if found == .disk, load.keepsInMemory, load.options.writes.contains(.memory) {
                await cache.promote(
                    view.entryKey, serializer: view.serializer, options: view.cacheOptions,
                    decoding: decodeLimiter.queue(
                        over: view.options.download.processingQueue, view.options.download.priority))
                try Task.checkCancellation()
                view.record(.prefetchArrival)
            }
            return nil
        }
        if !load.keepsInMemory, load.keepsOriginalAlone { return try await prefetch(load.ofOriginal) }
        if let made = try await madeOfOriginal(view) { return Prefetched(made) }
        if load.options.onlyFromCache { throw ManagerError.notCached(key: load.computedKey) }
        return try await loadedUnseen(load)
    }

    /// Loads, processes and keeps an image that no request waits for. In Low Data Mode its other source is prefetched.
    ///
    /// - Returns: what was loaded; `nil` if the image of the other source is cached.
    func loadedUnseen(_ load: ImageLoad) async throws -> Prefetched? {
        if let low = load.ofLowDataSource { return try await prefetch(low) }
        if needsBytesAlone(load) { return try await loadedBytesUnseen(load) }
        return Prefetched(try await loaded(load))
    }
}
