extension DownloadMerger {
    /// Joins the transfer of a request, and waits for what comes of it.
    ///
    /// - Throws: ``NetworkError``, or what the processor throws.
    func load<Value>(
        _ request: TransportRequest, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions,
        _ task: DownloadTask?
    ) async throws -> DownloadResult<Value> {
        let token = newToken()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                load(token, request, processor, options, task) { continuation.resume(with: $0) }
                // Cancelled before it joined, it has not left.
                if Task.isCancelled { leave(token) }
            }
        } onCancel: {
            leave(token)
        }
    }

    /// Joins the transfer of a request; `complete` is called once, wherever the work ended.
    func load<Value>(
        _ token: State.Token, _ request: TransportRequest, _ processor: DownloadProcessor<Value>,
        _ options: DownloadOptions, _ task: DownloadTask?,
        complete: @escaping @Sendable (Result<DownloadResult<Value>, any Error>) -> Void
    ) {
        let key = ProcessorKey(identifier: processor.identifier, value: ObjectIdentifier(Value.self))
        let job = Job(queue: options.processingQueue, process: processor.process)
        join(token, request, key, job, onProgress: options.progressListener) { answer in
            complete(
                answer.flatMap { answer in
                    // The value's kind is part of the processor's key.
                    guard let value = answer.value as? Value else { return .failure(NetworkError.cancelled) }
                    return .success(DownloadResult(value, answer.body))
                })
        }
        guard let task else { return }
        task.attach { [self] in setPriority(token, $0) }
        if let priority = task.priority { setPriority(token, priority) }
    }
}

extension DownloadResult {
    fileprivate init(_ value: Value, _ body: LoadedBody) {
        self.init(
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
