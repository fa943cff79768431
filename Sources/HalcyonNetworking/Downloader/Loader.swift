import Foundation
import HalcyonSupport

/// Loads one request: follows redirects, answers challenges, resumes what broke off, and judges the answer.
package struct Loader: Sendable {
    let transport: any Transport
    let redirectHandler: any ImageDownloadRedirectHandler
    let responder: any AuthenticationChallengeResponder
    let check: any ImageDownloadResponseCheck
    let partials: PartialBodies
    let clock: any CacheClock

    /// What one transfer of a load brought.
    private struct Answer {
        var response: TransportResponse
        var requested: Int64
        /// How many bytes of the body were there before.
        var resumed: Int
    }

    /// Loads.
    ///
    /// - Parameters:
    ///   - control: ends it, and says how urgent it is.
    ///   - onProgress: is told how much there is after each piece, on the transport's thread.
    /// - Throws: ``NetworkError``.
    func load(
        _ original: TransportRequest, control: TransferControl,
        onProgress: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws -> LoadedBody {
        var request = original
        var (redirects, failures) = (0, 0)
        while true {
            request.priority = control.priority
            let answer = try await answer(to: request, control, onProgress)
            let head = answer.response.head
            if let next = try await redirected(request, head) {
                redirects += 1
                guard redirects <= original.limits.redirects else {
                    throw NetworkError.tooManyRedirects(limit: original.limits.redirects)
                }
                request = next
            } else if let next = try await authenticated(request, head, failures) {
                failures += 1
                request = next
            } else {
                return try judged(request, answer, redirects)
            }
        }
    }

    // MARK: - One transfer

    /// The answer to one request, resumed where a broken transfer left something.
    private func answer(
        to request: TransportRequest, _ control: TransferControl,
        _ onProgress: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws -> Answer {
        guard request.isResumable else { return try await transfer(request, nil, control, onProgress) }
        let key = MergeKey(request)
        guard let partial = partials.take(key) else { return try await transfer(request, nil, control, onProgress) }
        let answer = try await transfer(request, partial, control, onProgress)
        let head = answer.response.head
        // It cannot be resumed after all, or the server's part is another than was asked for: from the start, then.
        let isMismatched = head.status == 206 && !partial.isContinued(by: head)
        return head.status == 416 || isMismatched ? try await transfer(request, nil, control, onProgress) : answer
    }

    private func transfer(
        _ request: TransportRequest, _ partial: PartialBody?, _ control: TransferControl,
        _ onProgress: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws -> Answer {
        let collector = BodyCollector { head in
            partial.flatMap { $0.isContinued(by: head) ? $0.data : nil } ?? Data()
        } onBytes: { head, count in
            guard check.isValidStatusCode(head.status, for: head) else { return }
            let total = ContentRange(head.headers["Content-Range"])?.total ?? head.contentLength
            onProgress(
                DownloadProgress(received: count, expected: head.isCompressed ? nil : total.map(Int.init(clamping:))))
        }
        let requested = clock.now / 1_000_000
        do {
            let response = try await transport.response(
                to: partial?.request(for: request) ?? request, collector: collector, control: control)
            return Answer(
                response: response, requested: requested,
                resumed: partial.map { $0.isContinued(by: response.head) ? $0.data.count : 0 } ?? 0)
        } catch {
            throw failed(error, request, partial, collector)
        }
    }

    /// Keeps what a broken transfer has brought. Returns why the load fails: by the status, if that was none to go on with.
    private func failed(
        _ error: any Error, _ request: TransportRequest, _ partial: PartialBody?, _ collector: BodyCollector
    ) -> any Error {
        let (head, body) = collector.arrived
        guard let head else {
            // Nothing has arrived: what was there before is still good.
            if let partial { partials.keep(partial, for: MergeKey(request)) }
            return error
        }
        if !check.isValidStatusCode(head.status, for: head) {
            switch error as? NetworkError {
            case .responseTooLarge, .truncatedBody: return NetworkError.invalidStatusCode(head.status, url: head.url)
            default: return error
            }
        }
        // What is too large now is so next time.
        if case .responseTooLarge = error as? NetworkError { return error }
        if request.isResumable, let kept = PartialBody(head, body) { partials.keep(kept, for: MergeKey(request)) }
        return error
    }

    // MARK: - Elsewhere, and who asks

    private func redirected(_ request: TransportRequest, _ head: ResponseHead) async throws -> TransportRequest? {
        guard let next = try Redirection.next(after: request, head) else { return nil }
        return await redirectHandler.handleHTTPRedirection(for: head, newRequest: next)
    }

    private func authenticated(
        _ request: TransportRequest, _ head: ResponseHead, _ failures: Int
    ) async throws -> TransportRequest? {
        guard head.status == 401 else { return nil }
        // A server that refuses ten is not asked an eleventh time.
        guard let challenge = AuthenticationChallenge(head, failures: failures), failures < 10,
            var credential = await responder.credential(for: challenge)
        else { throw NetworkError.authenticationRefused(url: head.url) }
        if credential.scheme == .any { credential.scheme = challenge.scheme }
        var next = request
        next.credential = credential
        return next
    }

    // MARK: - The verdict

    private func judged(_ request: TransportRequest, _ answer: Answer, _ redirects: Int) throws -> LoadedBody {
        let (head, body) = (answer.response.head, answer.response.body)
        if head.status == 304, request.isConditional { throw NetworkError.notModified(head) }
        guard check.isValidStatusCode(head.status, for: head) else {
            throw NetworkError.invalidStatusCode(head.status, url: head.url)
        }
        if answer.resumed > 0, let total = ContentRange(head.headers["Content-Range"])?.total, total != body.count {
            throw NetworkError.truncatedBody(received: Int64(body.count), expected: total)
        }
        // A transfer that was resumed has counted its own bytes only.
        guard body.count <= request.limits.responseBytes else {
            throw NetworkError.responseTooLarge(limit: request.limits.responseBytes)
        }
        if let reason = check.refusal(of: head, body: body) {
            throw NetworkError.responseRefused(url: head.url, reason: reason)
        }
        return LoadedBody(
            data: body, head: head, metrics: answer.response.metrics, redirects: redirects,
            freshness: Freshness(head, requested: answer.requested, received: clock.now / 1_000_000))
    }
}

extension TransportRequest {
    /// Whether the server may answer that nothing has changed.
    fileprivate var isConditional: Bool {
        headers["If-None-Match"] != nil || headers["If-Modified-Since"] != nil
    }

    /// Whether the rest of its answer could be asked for, if it broke off.
    fileprivate var isResumable: Bool {
        method == "GET" && body == nil && headers["Range"] == nil && !isConditional
    }
}

/// What came of a whole load, through redirects and challenges. An object, since all who waited for it hold it.
package final class LoadedBody: Sendable {
    package let data: Data
    package let head: ResponseHead
    package let metrics: TransferMetrics
    package let redirects: Int
    package let freshness: Freshness

    package init(data: Data, head: ResponseHead, metrics: TransferMetrics, redirects: Int, freshness: Freshness) {
        self.data = data
        self.head = head
        self.metrics = metrics
        self.redirects = redirects
        self.freshness = freshness
    }
}

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
