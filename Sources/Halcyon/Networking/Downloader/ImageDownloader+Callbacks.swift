import Foundation

// The callback layer: what the async API does, with a completion that is called exactly once on the queue asked for.
extension ImageDownloader {
    /// Loads, and turns what came into a value. Without a modifier and a retry strategy the load has joined its transfer when
    /// this returns.
    ///
    /// - Returns: what cancels the load and changes its priority.
    @discardableResult
    public func download<Value>(
        _ url: URL, processor: DownloadProcessor<Value>, options: DownloadOptions = DownloadOptions(),
        completionHandler: @escaping @Sendable (Result<DownloadResult<Value>, any Error>) -> Void
    ) -> DownloadTask {
        let task = DownloadTask()
        let complete: @Sendable (Result<DownloadResult<Value>, any Error>) -> Void = {
            [queue = options.callbackQueue] in
            let result = $0
            queue.execute { completionHandler(result) }
        }
        var request: TransportRequest
        do { request = try self.request(for: url, options) } catch {
            complete(.failure(error))
            return task
        }
        if options.requestModifier == nil, options.retryStrategy == nil {
            request.priority = options.priority
            let token = merger.newToken()
            merger.load(token, request, processor, options, task, complete: complete)
            task.whenCancelled { [merger] in merger.leave(token) }
        } else {
            let work = Task.detached { [self, request] in
                do {
                    complete(.success(try await download(request, processor, options, task)))
                } catch {
                    complete(.failure(error))
                }
            }
            task.whenCancelled { work.cancel() }
        }
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
