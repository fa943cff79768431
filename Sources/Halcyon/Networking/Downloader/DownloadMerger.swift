/// Merges loads from servers.
typealias DownloadMerger = LoadMerger<MergeKey, LoadedBody>

extension DownloadMerger {
    /// Joins the transfer of a request, and waits for what comes of it.
    ///
    /// - Throws: ``NetworkError``, or what the processor throws.
    func load<Value>(
        _ request: TransportRequest, _ priority: TransferPriority, _ processor: DownloadProcessor<Value>,
        _ options: DownloadOptions, _ task: DownloadTask?, by loader: Loader
    ) async throws -> DownloadResult<Value> {
        // What is waited for is one object: the result itself is large.
        let answer = await wait { token, complete in
            load(token, request, priority, processor, options, by: loader, complete: complete)
            task?.follow(self, token, leaves: false)
        }
        return try answer.result().get()
    }

    /// Joins the transfer of a request; `complete` is called once, wherever the work ended.
    func load<Value>(
        _ token: State.Token, _ request: TransportRequest, _ priority: TransferPriority,
        _ processor: DownloadProcessor<Value>, _ options: DownloadOptions, by loader: Loader,
        complete: @escaping @Sendable (LoadAnswer) -> Void
    ) {
        join(
            token, MergeKey(request), priority, ProcessorKey(processor.identifier, Value.self),
            onProgress: options.progressListener,
            load: { { try await loader.load(request, control: $0, onProgress: $1) } },
            job: {
                Job(queue: options.processingQueue) { body in
                    LoadOutcome { DownloadResult(try processor.process(body.data, body.head), body) }
                }
            }, complete: complete)
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
