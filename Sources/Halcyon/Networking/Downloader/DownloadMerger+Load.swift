extension DownloadMerger {
    /// Joins the transfer of a request, and waits for what comes of it.
    ///
    /// - Throws: ``NetworkError``, or what the processor throws.
    func load<Value>(
        _ request: TransportRequest, _ priority: TransferPriority, _ processor: DownloadProcessor<Value>,
        _ options: DownloadOptions, _ task: DownloadTask?
    ) async throws -> DownloadResult<Value> {
        let token = newToken()
        // What is waited for is one object: the result itself is large.
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                load(token, request, priority, processor, options) { continuation.resume(returning: $0) }
                task?.follow(self, token, leaves: false)
                // Cancelled before it joined, it has not left.
                if Task.isCancelled { leave(token) }
            }
        } onCancel: {
            leave(token)
        }
        return try answer.result(of: processor).get()
    }

    /// Joins the transfer of a request; `complete` is called once, wherever the work ended.
    func load<Value>(
        _ token: State.Token, _ request: TransportRequest, _ priority: TransferPriority,
        _ processor: DownloadProcessor<Value>, _ options: DownloadOptions,
        complete: @escaping @Sendable (Answer) -> Void
    ) {
        join(
            token, request, priority,
            ProcessorKey(identifier: processor.identifier, value: ObjectIdentifier(Value.self)),
            onProgress: options.progressListener,
            job: { Job(queue: options.processingQueue) { DownloadOutcome($0, processor) } }, complete: complete)
    }
}

extension DownloadMerger.Answer {
    /// What came of it for whoever waited with a processor, whose kind of value is part of its key.
    func result<Value>(of processor: DownloadProcessor<Value>) -> Result<DownloadResult<Value>, any Error> {
        switch self {
        case .failure(let error): .failure(error)
        case .outcome(let outcome):
            (outcome as? DownloadOutcome<Value>)?.result ?? .failure(NetworkError.cancelled)
        }
    }
}

extension DownloadOptions {
    /// Who is told of progress, on the queue asked for.
    fileprivate var progressListener: (@Sendable (DownloadProgress) -> Void)? {
        guard let onProgress else { return nil }
        return { [callbackQueue] progress in callbackQueue.execute { onProgress(progress) } }
    }
}
