import Foundation
import HalcyonNetworking

// The callback layer: what the async API does, with a completion that is called exactly once on the queue asked for.
extension HalcyonManager {
    /// Brings the image of a resource; see ``image(for:options:)``.
    ///
    /// - Returns: what cancels it, which ends it with a `CancellationError`, and changes its priority.
    @discardableResult
    public func retrieveImage(
        with resource: Resource, options: ImageOptions? = nil,
        completionHandler: @escaping @Sendable (Result<ImageResult, any Error>) -> Void
    ) -> DownloadTask {
        let options = options ?? defaultOptions
        let task = DownloadTask()
        if let found = inMemory(resource, options) {
            options.callbackQueue.execute { completionHandler(.success(found)) }
            return task
        }
        let work = Task.detached { [self] in
            let result: Result<ImageResult, any Error>
            do {
                result = .success(try await FirstAnswer.of { [self] in try await image(for: resource, options, task) })
            } catch {
                result = .failure(error)
            }
            options.callbackQueue.execute { completionHandler(result) }
        }
        task.whenCancelled { work.cancel() }
        return task
    }

    /// Brings the image of a URL.
    ///
    /// - Returns: as ``retrieveImage(with:options:completionHandler:)``.
    @discardableResult
    public func retrieveImage(
        with url: URL, categories: [String] = [], options: ImageOptions? = nil,
        completionHandler: @escaping @Sendable (Result<ImageResult, any Error>) -> Void
    ) -> DownloadTask {
        retrieveImage(
            with: Resource(url, categories: categories), options: options, completionHandler: completionHandler)
    }
}
