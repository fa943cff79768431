import Foundation
import HalcyonCache
import HalcyonImages

/// One source that an image is wanted from, and how it is looked up and kept.
package struct ImageLoad: Sendable {
    package let source: Source
    package var options: ImageOptions
    package var context: AccessContext
    /// Whether it is a prefetch, which is no access and is not logged.
    package var isPrefetch = false
    /// Whether it is kept in memory.
    package var keepsInMemory = true

    package init(_ source: Source, of resource: Resource, _ options: ImageOptions) {
        self.source = source
        self.options = options
        context = AccessContext(categories: resource.categories, user: resource.user)
    }

    /// What the original is kept under.
    package var key: String { source.cacheKey }

    /// What the image is kept under.
    package var computedKey: String { key.computedKey(with: options.processor.identifier) }

    /// Whether the image is made of the original, and not the original itself.
    package var isVariant: Bool { !options.processor.identifier.isEmpty }

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
        cache.isPrefetch = isPrefetch
        return cache
    }

    /// What tells its bytes and images; an original that is to be kept is kept as it came.
    package var serializer: (any CacheSerializer<Bitmap>)? {
        options.serializer
            ?? (options.cacheOriginalImage && !isVariant ? BitmapSerializer(prefersOriginal: true) : nil)
    }
}
