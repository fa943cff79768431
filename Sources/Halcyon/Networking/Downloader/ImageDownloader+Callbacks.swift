import Foundation

// The callback layer: what the async API does, with a completion that is called exactly once on the queue asked for.
extension ImageDownloader {
    /// Loads, and turns what came into a value.
    ///
    /// - Returns: what cancels the load and changes its priority.
    @discardableResult
    public func download<Value>(
        _ url: URL, processor: DownloadProcessor<Value>, options: DownloadOptions = DownloadOptions(),
        completionHandler: @escaping @Sendable (Result<DownloadResult<Value>, any Error>) -> Void
    ) -> DownloadTask {
        let task = DownloadTask()
        task.run(
            Task.detached { [self] in
                let result: Result<DownloadResult<Value>, any Error>
                do {
                    result = .success(try await download(request(for: url, options), processor, options, task))
                } catch {
                    result = .failure(error)
                }
                options.callbackQueue.execute { completionHandler(result) }
            })
        return task
    }

    /// Loads the bytes.
    @discardableResult
    public func download(
        _ url: URL, options: DownloadOptions = DownloadOptions(),
        completionHandler: @escaping @Sendable (Result<DownloadResult<Data>, any Error>) -> Void
    ) -> DownloadTask {
        download(url, processor: .data, options: options, completionHandler: completionHandler)
    }
}
