import Foundation
import HalcyonSupport

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
        do {
            let request = try request(for: url, options)
            if options.joinsAtOnce {
                let token = merger.newToken()
                merger.load(token, request, options.priority, processor, options, by: loader) {
                    [queue = options.callbackQueue] in queue.complete($0.result(), completionHandler)
                }
                task.follow(merger, token, leaves: true)
            } else {
                load(request, processor, options, task, completionHandler)
            }
        } catch {
            options.callbackQueue.complete(.failure(error), completionHandler)
        }
        return task
    }

    /// Loads in a task of its own, as what has to be waited for in between does.
    private func load<Value>(
        _ request: TransportRequest, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions,
        _ task: DownloadTask, _ complete: @escaping @Sendable (Result<DownloadResult<Value>, any Error>) -> Void
    ) {
        let work = Task.detached { [self] in
            let result: Result<DownloadResult<Value>, any Error>
            do {
                result = .success(try await download(request, processor, options, task))
            } catch {
                result = .failure(error)
            }
            options.callbackQueue.complete(result, complete)
        }
        task.whenCancelled { work.cancel() }
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

extension CallbackQueue {
    /// Calls a completion there, at once where that is anywhere.
    fileprivate func complete<Outcome: Sendable>(
        _ outcome: Outcome, _ completion: @escaping @Sendable (Outcome) -> Void
    ) {
        if case .untouch = self { completion(outcome) } else { execute { completion(outcome) } }
    }
}
