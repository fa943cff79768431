extension DownloadMerger {
    /// Joins the transfer of a request, and waits for what comes of it.
    ///
    /// - Throws: ``NetworkError``, or what the processor throws.
    func load<Value>(
        _ request: TransportRequest, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions,
        _ task: DownloadTask?
    ) async throws -> DownloadResult<Value> {
        let token = newToken()
        let answer = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                join(
                    token, request, ProcessorKey(identifier: processor.identifier, value: ObjectIdentifier(Value.self)),
                    Job(queue: options.processingQueue, process: processor.process),
                    onProgress: options.progressListener
                ) { continuation.resume(with: $0) }
                task?.attach { [self] in setPriority(token, $0) }
                if let priority = task?.priority { setPriority(token, priority) }
                // Cancelled before it joined, it has not left.
                if Task.isCancelled { leave(token) }
            }
        } onCancel: {
            leave(token)
        }
        guard let value = answer.value as? Value else { throw NetworkError.cancelled }
        let body = answer.body
        return DownloadResult(
            value: value, originalData: body.data, response: body.head, metrics: body.metrics,
            redirects: body.redirects, freshness: body.freshness)
    }
}

extension DownloadOptions {
    /// Who is told of progress, on the queue asked for.
    fileprivate var progressListener: (@Sendable (DownloadProgress) -> Void)? {
        guard let onProgress else { return nil }
        return { [callbackQueue] progress in callbackQueue.execute { onProgress(progress) } }
    }
}
