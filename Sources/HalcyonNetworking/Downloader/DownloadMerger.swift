/// Merges loads from servers.
package typealias DownloadMerger = LoadMerger<MergeKey, LoadedBody>

extension DownloadMerger {
    /// Joins the transfer of a request; who has joined gets a ``DownloadResult`` of the processor's kind of value.
    package func join<Value>(
        _ request: TransportRequest, _ priority: TransferPriority, _ processor: DownloadProcessor<Value>,
        _ options: DownloadOptions, _ task: DownloadTask?, by loader: Loader
    ) -> LoadWaiter<MergeKey, LoadedBody> {
        let waiter = LoadWaiter(self)
        load(waiter.token, request, priority, processor, options, by: loader, complete: waiter.complete)
        task?.follow(self, waiter.token, leaves: false)
        return waiter
    }

    /// Joins the transfer of a request; `complete` is called once, wherever the work ended.
    package func load<Value>(
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
