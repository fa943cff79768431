import Foundation
import HalcyonImages
import HalcyonNetworking

/// Handles of loads, and loads of bytes.
extension HalcyonManager {
    /// Starts the load of an image, and returns its handle. An image in memory has ended it already.
    ///
    /// ``ImageOptions/onProgress`` is called, too; ``ImageOptions/callbackQueue`` does not count for what is awaited.
    ///
    /// - Parameter options: override ``defaultOptions``.
    public func imageTask(with resource: Resource, options: ImageOptions? = nil) -> ImageTask {
        let base = resolvedDefaults.values.download
        let task = ImageTask(priority: options?.priority ?? base.priority)
        if let found = inMemory(resource, options) {
            task.end(.success(found))
            return task
        }
        var options = options ?? ImageOptions()
        let (receive, queue) = (options.onProgress ?? base.onProgress, options.callbackQueue ?? base.callbackQueue)
        options.callbackQueue = .untouch
        options.onProgress = { [weak task] progress in
            task?.received(progress)
            if let receive { queue.execute { receive(progress) } }
        }
        let preview = options.onPreview ?? resolvedDefaults.values.onPreview
        options.onPreview = { [weak task] picture in
            task?.previewed(picture)
            guard let preview else { return }
            queue.execute { [weak task] in if task.map({ $0.status == .running }) ?? true { preview(picture) } }
        }
        let resolved = resolved(options)
        task.start { [loadObservers, loader] load in
            try await loadObservers.observe(resource, isPrefetch: false, origin: ImageOrigin.init) { observed in
                try await FirstAnswer.of { try await loader.image(for: resource, resolved, observed, load) }
            }
        }
        return task
    }

    /// Starts the load of the image of a URL, also a file's; see ``imageTask(with:options:)-(Resource,_)``.
    public func imageTask(with url: URL, options: ImageOptions? = nil) -> ImageTask {
        imageTask(with: Resource(url), options: options)
    }

    /// Returns the bytes of a resource's image as they came, without decoding them: those on disk, else those that are loaded.
    ///
    /// The options' processor does not count. Loaded bytes are kept on disk if they begin as a picture that the manager can decode, so
    /// that ``image(for:options:)`` finds them. Where the cache's serializer does not keep bytes as they came
    /// (`CacheSerializer.keepsOriginalData`), they are loaded each time. With ``ImageOptions/freshness``, stale bytes are loaded again.
    /// Reading them is an access for the disk's policy, and none for the access log.
    ///
    /// See `ImageBytesTests.cachedBytesAreReadWithoutDecoding()` and `ImageBytesTests.loadedBytesServeImageLater()`.
    ///
    /// - Throws: as ``image(for:options:)``, but no error of a picture.
    public func data(for resource: Resource, options: ImageOptions? = nil) async throws -> Data {
        var options = options ?? ImageOptions()
        options.processor = DefaultImageProcessor()
        let resolved = resolved(options)
        return try await FirstAnswer.of { [loader] in try await loader.data(for: resource, resolved, nil) }
    }

    /// Returns the bytes of the image of a URL, also a file's; see ``data(for:options:)-(Resource,_)``.
    public func data(for url: URL, options: ImageOptions? = nil) async throws -> Data {
        try await data(for: Resource(url), options: options)
    }
}
