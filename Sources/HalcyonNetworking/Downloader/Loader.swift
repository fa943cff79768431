import Foundation
import HalcyonSupport
import Synchronization

/// Loads one request: follows redirects, answers challenges, resumes interrupted bodies, and accepts or refuses the answer.
package struct Loader: Sendable {
    let transport: any Transport
    let redirects: RedirectRules
    let responder: any AuthenticationChallengeResponder
    let check: any ImageDownloadResponseCheck
    let hooks: (any DownloadHooks)?
    let partials: PartialBodies
    let refusedBodyTimeout: Duration
    let clock: any CacheClock
    /// Bounds how often a request is sent; `nil` if nothing does.
    let starts: StartLimiter?
    let counter = TransferCounter()

    /// An answer whose head has arrived.
    private struct Answer {
        let exchange: Exchange
        let head: ResponseHead
        /// The beginning of the body that the answer continues.
        let partial: PartialBody?
        /// The time of the request, in seconds since 1970.
        let requested: Int64
    }

    /// Loads a request.
    ///
    /// - Parameters:
    ///   - rules: of redirects.
    ///   - control: cancels the load and changes its priority.
    ///   - onProgress: called after each piece of the body. It must only enqueue.
    /// - Throws: ``NetworkError``.
    func load(
        _ request: TransportRequest, _ rules: RedirectRules, control: TransferControl,
        onProgress: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws -> LoadedBody {
        do {
            if let hooks {
                await hooks.willDownload(request)
                try control.check()
            }
            let body = try await loaded(request, rules, control, onProgress)
            counter.succeeded()
            await hooks?.didFinish(request, with: .success(body.head))
            return body
        } catch {
            counter.failed(error)
            await hooks?.didFinish(request, with: .failure(error))
            throw error
        }
    }

    private func loaded(
        _ original: TransportRequest, _ rules: RedirectRules, _ control: TransferControl,
        _ onProgress: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws -> LoadedBody {
        var request = original
        var (redirects, failures) = (0, 0)
        // What the answers on the way say of the image, which is kept for the original request.
        var (isPrivate, isStorable, isSelected) = (false, true, false)
        while true {
            request.priority = control.priority
            let answer = try await answer(to: request, control)
            defer { answer.exchange.refuse() }
            isSelected = isSelected || Freshness.isSelected(answer.head, by: request)
            if let next = try await rules.next(after: request, answer.head) {
                redirects += 1
                guard redirects <= original.limits.redirects else {
                    throw NetworkError.tooManyRedirects(limit: original.limits.redirects)
                }
                isPrivate = isPrivate || Freshness.isPrivate(answer.head, for: request)
                isStorable = isStorable && !CacheControl(answer.head.headers).noStore
                request = next
            } else if let next = try await authenticated(request, answer.head, failures) {
                failures += 1
                request = next
            } else {
                try await accept(answer, request, isPrivate: isPrivate)
                try control.check()
                // Loads of several users may share the transfer of a private body, and a hook or check may refuse one.
                let isOpen =
                    hooks == nil && check is StatusCheck && !isPrivate
                    && !Freshness.isPrivate(answer.head, for: request)
                return try await body(
                    of: answer, request, redirects, control, isOpen: isOpen, onProgress
                ) { freshness in
                    freshness.variant = isSelected ? original.fieldDigest : nil
                    freshness.isPrivate = freshness.isPrivate || isPrivate
                    freshness.isStorable = freshness.isStorable && isStorable
                }
            }
        }
    }

    // MARK: - The head

    /// Waits for the head of an answer. A request is resumed if an interrupted transfer has left a beginning that the server continues.
    private func answer(to request: TransportRequest, _ control: TransferControl) async throws -> Answer {
        let key = request.isResumable ? MergeKey(request) : nil
        let partial = key.flatMap(partials.take)
        let first = try await start(partial?.request(for: request) ?? request, control) {
            if let partial, let key { partials.keep(partial, for: key) }
        }
        guard let partial, let key else { return first }
        let head = first.head
        if partial.isContinued(by: head) {
            return Answer(exchange: first.exchange, head: head, partial: partial, requested: first.requested)
        }
        // Another version, another part, or none: from the first byte, then.
        if head.status == 206 || head.status == 416 {
            first.exchange.refuse()
            return try await start(request, control) {}
        }
        // The server did not come to the question whether the rest still belongs to it.
        if !(200..<300).contains(head.status) { partials.keep(partial, for: key) }
        return first
    }

    private func start(
        _ request: TransportRequest, _ control: TransferControl, onFailure: () -> Void
    ) async throws -> Answer {
        do {
            // A modifier, a handler of redirects or a responder may have waited until now.
            try control.check()
            if let starts {
                try await starts.turn(control)
                try control.check()
            }
            let requested = clock.now / 1_000_000
            let exchange = Exchange(request, over: transport, control, refusedBodyTimeout)
            return Answer(exchange: exchange, head: try await exchange.head(), partial: nil, requested: requested)
        } catch {
            onFailure()
            throw error
        }
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

    /// Decides by the head whether the body is downloaded.
    ///
    /// - Parameter isPrivate: whether a redirect before it was private.
    private func accept(_ answer: Answer, _ request: TransportRequest, isPrivate: Bool) async throws {
        let head = answer.head
        if head.status == 304, request.isConditional {
            var unchanged = head
            unchanged.isPrivate = isPrivate || Freshness.isPrivate(head, for: request)
            throw NetworkError.notModified(unchanged)
        }
        guard check.isValidStatusCode(head.status, for: head) else { throw NetworkError.invalidStatusCode(head) }
        if head.status == 206, answer.partial == nil, request.headers["Range"] == nil,
            ContentRange(head.headers["Content-Range"])?.isWhole != true
        {
            throw NetworkError.invalidResponse("it is a part that was not requested")
        }
        if let hooks, await hooks.didReceive(head, for: request) == .cancel {
            throw NetworkError.responseRefused(url: head.url, reason: "a hook cancelled it")
        }
    }

    // MARK: - The body

    private func body(
        of answer: Answer, _ request: TransportRequest, _ redirects: Int, _ control: TransferControl, isOpen: Bool,
        _ onProgress: @escaping @Sendable (DownloadProgress) -> Void, restrict: (inout Freshness) -> Void
    ) async throws -> LoadedBody {
        let (head, range) = (answer.head, ContentRange(answer.head.headers["Content-Range"]))
        let total = head.isCompressed ? nil : (range?.total ?? answer.partial?.total ?? head.contentLength)
        let expected = total.map { Int(clamping: $0) }
        var arrived = ArrivedBytes()
        if isOpen {
            // Who keeps a progress does not keep the body.
            arrived.read = { [weak exchange = answer.exchange] in exchange?.arrived ?? Data() }
        }
        answer.exchange.accept(after: answer.partial?.data) { [arrived] in
            var progress = DownloadProgress(received: $0, expected: expected)
            progress.arrived = arrived
            onProgress(progress)
        }
        let (data, metrics): (Data, TransferMetrics)
        do {
            defer { counter.received(answer.exchange.arrived.count - (answer.partial?.data.count ?? 0)) }
            (data, metrics) = try await answer.exchange.body()
            try verify(data, answer, range, request)
        } catch {
            keepBeginning(answer, request, error)
            throw error
        }
        try control.check()
        if let reason = check.refusal(of: head, body: data) {
            throw NetworkError.responseRefused(url: head.url, reason: reason)
        }
        var freshness = Freshness(head, requested: answer.requested, received: clock.now / 1_000_000)
        freshness.isPrivate = Freshness.isPrivate(head, for: request)
        restrict(&freshness)
        return LoadedBody(
            data: try await changed(data, head, request), head: head, metrics: metrics, redirects: redirects,
            freshness: freshness)
    }

    /// Verifies that a body is as long as its head says, where the transport has not.
    private func verify(
        _ data: Data, _ answer: Answer, _ range: ContentRange?, _ request: TransportRequest
    ) throws {
        // A resumed transfer has counted its own bytes only.
        guard data.count <= request.limits.responseBytes else {
            throw NetworkError.responseTooLarge(limit: request.limits.responseBytes)
        }
        guard answer.head.status == 206, request.headers["Range"] == nil, let range else { return }
        let (received, end) = (Int64(data.count), range.last + 1)
        guard received <= end else { throw NetworkError.invalidResponse("it is longer than its Content-Range") }
        let total = range.total ?? answer.partial?.total ?? end
        guard received == total else { throw NetworkError.truncatedBody(received: received, expected: total) }
    }

    /// Keeps the beginning of a body that ended early.
    private func keepBeginning(_ answer: Answer, _ request: TransportRequest, _ error: any Error) {
        switch error as? NetworkError {
        // The same would happen the next time.
        case .responseTooLarge, .invalidResponse: return
        default: break
        }
        guard request.isResumable,
            let kept = PartialBody(answer.head, answer.exchange.arrived, continuing: answer.partial)
        else { return }
        partials.keep(kept, for: MergeKey(request))
    }

    private func changed(_ data: Data, _ head: ResponseHead, _ request: TransportRequest) async throws -> Data {
        guard let hooks else { return data }
        guard let changed = await hooks.didDownload(data, from: head, for: request) else {
            throw NetworkError.responseRefused(url: head.url, reason: "a hook gave no data")
        }
        return changed
    }
}

extension TransportRequest {
    /// Whether the server may answer that nothing has changed.
    fileprivate var isConditional: Bool {
        headers["If-None-Match"] != nil || headers["If-Modified-Since"] != nil
    }

    /// Whether the rest of its answer could be requested, if that is interrupted.
    fileprivate var isResumable: Bool {
        method == "GET" && body == nil && headers["Range"] == nil && !isConditional
    }
}

/// The result of a whole load, through redirects and challenges. An object, since all waiters of the load hold it.
package final class LoadedBody: Sendable {
    package let data: Data
    package let head: ResponseHead
    package let metrics: TransferMetrics
    package let redirects: Int
    package let freshness: Freshness
    /// What its waiters have in common.
    package let shared = SharedResponse()

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
    /// Joins the transfer of a request. The waiter gets a ``DownloadResult`` of the processor's type of value.
    ///
    /// - Parameter url: the URL that was asked for, which ``ImageDownloader/cancel(url:)`` matches besides the request's.
    package func join<Value>(
        _ request: TransportRequest, for url: URL, _ priority: TransferPriority,
        _ processor: DownloadProcessor<Value>, _ options: DownloadOptions, _ task: DownloadTask?, by loader: Loader
    ) -> LoadWaiter<MergeKey, LoadedBody> {
        let waiter = LoadWaiter(self)
        let callbacks =
            options.onProgress.map {
                Callbacks(waiter, CallbackLane(options.callbackQueue, isOrdered: true), onProgress: $0)
            } ?? Callbacks(waiter)
        load(waiter.token, request, for: url, priority, processor, options, callbacks, by: loader)
        task?.follow(self, waiter.token, leaves: false)
        return waiter
    }

    /// Joins the transfer of a request.
    package func load<Value>(
        _ token: State.Token, _ request: TransportRequest, for url: URL, _ priority: TransferPriority,
        _ processor: DownloadProcessor<Value>, _ options: DownloadOptions, _ callbacks: Callbacks, by loader: Loader
    ) {
        var request = request
        options.restriction?.apply(to: &request)
        join(
            token, MergeKey(request, RedirectRules.Identity(options)), priority,
            ProcessorKey(processor.identifier, Value.self),
            alias: request.url == url ? nil : url.withoutFragment, callbacks,
            load: {
                let rules = loader.redirects.with(options)
                return { [request] in try await loader.load(request, rules, control: $0, onProgress: $1) }
            },
            job: {
                Job(queue: options.processingQueue, turns: options.processingTurns) { body in
                    LoadOutcome { DownloadResult(try processor.process(body.data, body.head), body) }
                }
            })
    }
}

extension DownloadResult {
    fileprivate init(_ value: Value, _ body: LoadedBody) {
        self.init(
            value: value, originalData: body.data, response: body.head, metrics: body.metrics,
            redirects: body.redirects, freshness: body.freshness)
        shared = body.shared
    }
}

/// What the loads that share a transfer have in common: whose response it is, and what a user of the downloader attaches to it.
package final class SharedResponse: Sendable {
    private let user = Mutex<ByteName??>(nil)
    private let attachment = Mutex<(any Sendable)?>(nil)

    /// Returns whether the response, if it is private, belongs to a user: to that of the first load that asks.
    package func belongs(to user: String?) -> Bool {
        let user = user.map(ByteName.init)
        return self.user.withLock { owner in
            if let owner { return owner == user }
            owner = .some(user)
            return true
        }
    }

    /// Returns what is attached, which the first load that asks makes.
    package func attached<Value: Sendable>(_ make: @autoclosure () -> Value) -> Value {
        attachment.withLock { attachment in
            if let known = attachment as? Value { return known }
            let value = make()
            attachment = value
            return value
        }
    }
}
