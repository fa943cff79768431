import Foundation
import HalcyonSupport
import Synchronization

/// Loads from the network, with one transfer for all loads of the same request.
///
/// ```swift
/// let downloader = ImageDownloader(name: "images")
/// let result = try await downloader.download(url, processor: DownloadProcessor(identifier: "icon") { data, _ in
///     try icon(from: data)
/// })
/// show(result.value)
/// ```
///
/// Loads of the same request (see ``TransportRequest``; priorities and limits of time may differ) join one transfer. Each has
/// its own processor, queue and priority, and is cancelled by itself. The transfer is cancelled with its last load. A failure
/// reaches all loads and is not remembered. With a ``RetryStrategy`` a load joins again after each failure.
///
/// No cookies are kept: a `Set-Cookie` of an answer, also of a redirect, is not sent with any later request. To send a
/// cookie, set the header field `Cookie` in ``Configuration/request`` or in a request modifier. Loads with different
/// cookies share no transfer. See `RedirectRuleTests.receivedCookiesAreNotSent()`.
///
/// Without `await` there is ``download(_:processor:options:completionHandler:)``.
///
/// See `DownloaderTests.concurrentRequestsShareOneGET()`, `DownloaderTests.failureReachesEveryLoadAndIsForgotten()`
/// and `LoadTests.everyLoadEndsOnceAndLeaksNothing()`.
public final class ImageDownloader: Sendable {
    /// The parts of a downloader.
    public struct Configuration: Sendable {
        /// Makes the request for a URL: limits, timeouts, header fields, TLS, proxy.
        public var request: @Sendable (URL) -> TransportRequest = { TransportRequest($0) }
        /// Decides which redirects are followed, unless ``DownloadOptions/redirectHandler`` does.
        public var redirectHandler: any ImageDownloadRedirectHandler = FollowingRedirectHandler()
        /// Whether a redirect from https to http is followed, unless ``DownloadOptions/allowsInsecureRedirects`` says otherwise; `false`
        /// by default, so that it fails with ``NetworkError/insecureRedirect(_:)``.
        ///
        /// See `RedirectRuleTests.redirectToHTTPIsRefusedUnlessAllowed()`.
        public var allowsInsecureRedirects = false
        /// Provides names and passwords.
        public var authenticationResponder: any AuthenticationChallengeResponder = NoCredentials()
        /// Decides which answers are accepted.
        ///
        /// See `DownloaderOptionTests.responseCheckDecidesAcceptedResponses()`.
        public var responseCheck: any ImageDownloadResponseCheck = StatusCheck()
        /// Observes transfers, and may cancel them or change their data; `nil` by default.
        public var hooks: (any DownloadHooks)?
        /// The bytes of interrupted transfers that are kept in memory, so that the next load requests only the rest; 0 keeps none.
        ///
        /// A body is continued only if its strong tag shows that it is unchanged, so that bytes of two versions are
        /// never joined. See `ResumeTests.truncatedLoadIsResumed()`, `ResumeTests.cancelledLoadIsResumed()`,
        /// `ResumeTests.changedOrUntaggedBodyIsLoadedWhole()`, `ResumeTests.bytesOfTwoVersionsAreNeverJoined()` and
        /// `ResumeTests.wrongRangeIsRequestedWhole()`.
        public var resumableBytes = 16 << 20
        /// How long the short body of a refused answer may take to arrive, so that its connection can be used again; then the transfer
        /// is cancelled. Default: 2 seconds.
        ///
        /// See `HookTests.refusedStatusEndsAtHead()`.
        public var refusedBodyTimeout = Duration.seconds(2)
        /// How often a request is sent, each redirect and attempt included; `nil`, the default, for no limit. ``StartRate/scrolling`` suits
        /// an app whose lists scroll fast.
        ///
        /// See `StartRateTests.fastScrollSendsFewRequests()`.
        public var startRate: StartRate?
        /// Whether Low Data Mode, or something like it, is on; called before each load.
        ///
        /// Default: on Apple's platforms ``SystemConnectivityMonitor/isConstrained`` of the system's monitor (type-checked, never run),
        /// elsewhere `false`, because Linux has no such mode. A load also counts as constrained if its transport ends it with
        /// ``NetworkError/constrainedNetwork``.
        ///
        /// The monitor starts at the first call. The system may not have reported the mode by then, so that the first load of a process
        /// may take the full source. This was not observed.
        public var isNetworkConstrained: @Sendable () -> Bool = {
            #if canImport(Network)
                SystemConnectivityMonitor.shared.isConstrained
            #else
                false
            #endif
        }

        /// Creates the default configuration.
        public init() {}
    }

    /// The name of the downloader.
    public let name: String
    package let configuration: Configuration
    package let clock: any CacheClock
    let loader: Loader
    let merger = DownloadMerger()
    private let ongoing = OngoingLoads()

    /// Creates a downloader.
    ///
    /// - Parameters:
    ///   - transport: sends the requests to the servers.
    ///   - clock: the clock for retries and freshness.
    public init(
        name: String, configuration: Configuration = Configuration(), transport: any Transport,
        clock: any CacheClock = SystemClock()
    ) {
        self.name = name
        self.configuration = configuration
        self.clock = clock
        loader = Loader(
            transport: transport,
            redirects: RedirectRules(
                handler: configuration.redirectHandler, allowsInsecure: configuration.allowsInsecureRedirects),
            responder: configuration.authenticationResponder, check: configuration.responseCheck,
            hooks: configuration.hooks, partials: PartialBodies(limit: configuration.resumableBytes),
            refusedBodyTimeout: configuration.refusedBodyTimeout, clock: clock,
            starts: configuration.startRate.map { StartLimiter($0, clock: clock) })
    }

    /// Loads a URL, and makes a value of its data.
    ///
    /// - Throws: ``NetworkError``, or the error of the processor; ``NetworkError/cancelled`` if the task is cancelled.
    public func download<Value>(
        _ url: URL, processor: DownloadProcessor<Value>, options: DownloadOptions = DownloadOptions()
    ) async throws -> DownloadResult<Value> {
        guard options.joinsAtOnce else { return try await download(url, processor, options, nil) }
        return try await join(url, processor, options).answer().value()
    }

    /// Loads the data of a URL.
    ///
    /// - Throws: as ``download(_:processor:options:)``.
    public func download(_ url: URL, options: DownloadOptions = DownloadOptions()) async throws -> DownloadResult<Data>
    {
        guard options.joinsAtOnce else { return try await download(url, .data, options, nil) }
        return try await join(url, .data, options).answer().value()
    }

    /// Ends every load with ``NetworkError/cancelled``, also those that wait for a request modifier, for a responder or to retry.
    public func cancelAll() {
        ongoing.cancel { _ in true }
        merger.cancelAll { _ in true }
    }

    /// Ends every load of a URL with ``NetworkError/cancelled``. If a modifier, the configuration or Low Data Mode has changed the URL of
    /// a load, the old and the new one match.
    public func cancel(url: URL) {
        let text = url.withoutFragment
        ongoing.cancel { $0.contains(text) }
        merger.cancelAll(where: { $0.url == text }, orAlias: text)
    }

    /// The number of transfers that load, or whose data is being processed.
    public var transferCount: Int { merger.transferCount }

    /// The number of loads that wait for transfers.
    public var waiterCount: Int { merger.waiterCount }

    /// The counts of the transfers that have ended. Each attempt of a load that is retried is a transfer. A load that is
    /// cancelled before its first attempt begins has none.
    public var transferCounts: TransferCounts { loader.counter.counts }

    /// The bytes of interrupted transfers that are kept in memory.
    public var resumableBytes: Int { loader.partials.bytes }

    /// Removes the bytes of interrupted transfers from memory, as when that is short. The next loads request the whole.
    ///
    /// See `ResumeTests.removedBytesAreRequestedAgain()`.
    public func removeResumableBytes() { loader.partials.removeAll() }

    // MARK: - One load

    /// The request for a URL as the network allows it.
    package func request(for url: URL, _ options: DownloadOptions) throws -> TransportRequest {
        var url = url
        if configuration.isNetworkConstrained() {
            if let lowDataURL = options.lowDataURL {
                url = lowDataURL
            } else if !options.allowsConstrainedNetwork {
                throw NetworkError.constrainedNetwork
            }
        }
        var request = configuration.request(url)
        request.mergePartition = options.mergePartition
        return request
    }

    /// Joins the transfer of a URL. The arguments are released when this returns, so that waiting takes little memory.
    private func join<Value>(
        _ url: URL, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions
    ) throws -> LoadWaiter<MergeKey, LoadedBody> {
        merger.join(try request(for: url, options), for: url, options.priority, processor, options, nil, by: loader)
    }

    /// Loads a URL on behalf of a task.
    package func download<Value>(
        _ url: URL, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions, _ task: DownloadTask?
    ) async throws -> DownloadResult<Value> {
        try await download(request(for: url, options), for: url, processor, options, task)
    }

    /// Modifies the request, loads, and retries as the options say.
    fileprivate func download<Value>(
        _ request: TransportRequest, for url: URL, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions,
        _ task: DownloadTask?
    ) async throws -> DownloadResult<Value> {
        if options.joinsAtOnce {
            return try await merger.join(request, for: url, options.priority, processor, options, task, by: loader)
                .answer().value()
        }
        return try await ongoing.run([url.withoutFragment, request.url.withoutFragment]) { [self] id, cancellation in
            var request = request
            request.priority = options.priority
            if let modifier = options.requestModifier {
                guard let modified = await modifier.modified(for: request) else { throw NetworkError.emptyRequest }
                try cancellation.check()
                request = modified
                ongoing.add(request.url.withoutFragment, to: id)
            }
            let attempts = Attempts(strategy: options.retryStrategy, clock: clock)
            return try await attempts.of(request.url.absoluteString) { [request] in
                try cancellation.check()
                let waiter = merger.join(request, for: url, request.priority, processor, options, task, by: loader)
                cancellation.observe { [merger] in merger.leave(waiter.token) }
                return try await waiter.answer().value()
            } isFailure: {
                // A 304 is an answer, and an error of the processor is no failure of the network.
                if case .notModified? = $0 as? NetworkError { false } else { $0 is NetworkError }
            }
        }
    }
}

/// The answer of a server about something that was loaded before.
public enum Revalidation<Value: Sendable>: Sendable {
    /// It has not changed, and may be used as this says.
    case notModified(Freshness)
    /// It has changed, to this.
    case modified(DownloadResult<Value>)
}

extension ImageDownloader {
    /// Asks whether something has changed, and loads it if it has.
    ///
    /// See `RevalidationTests.notModifiedKeepsBytesAndExtendsExpiration()` and
    /// `RevalidationTests.modifiedFileIsSentAgain()`.
    ///
    /// - Parameter freshness: the freshness that came with it. Without validators it is loaded again.
    /// - Throws: as ``download(_:processor:options:)``.
    public func revalidate<Value>(
        _ url: URL, _ freshness: Freshness, processor: DownloadProcessor<Value>,
        options: DownloadOptions = DownloadOptions()
    ) async throws -> Revalidation<Value> {
        try await revalidate(url, freshness, processor: processor, options: options, nil)
    }

    /// Asks on behalf of a task.
    package func revalidate<Value>(
        _ url: URL, _ freshness: Freshness, processor: DownloadProcessor<Value>, options: DownloadOptions,
        _ task: DownloadTask?
    ) async throws -> Revalidation<Value> {
        var request = try request(for: url, options)
        freshness.validators.apply(to: &request)
        let requested = clock.now / 1_000_000
        do {
            return .modified(try await download(request, for: url, processor, options, task))
        } catch NetworkError.notModified(let head) {
            return .notModified(freshness.refreshed(by: head, requested: requested, received: clock.now / 1_000_000))
        }
    }
}

extension DownloadOptions {
    /// Whether a load joins its transfer without waiting before, and does not retry.
    var joinsAtOnce: Bool { requestModifier == nil && retryStrategy == nil }
}

extension URL {
    /// The URL as it is sent: without its fragment.
    var withoutFragment: String { MergeKey.sent(self) }
}

/// The loads that may wait outside a transfer: for a request modifier, for a retry strategy, or in a pause.
private final class OngoingLoads: Sendable {
    private struct Entry {
        var urls: Set<String>
        let cancel: @Sendable () -> Void
    }

    private struct State {
        var lastID = 0
        var entries: [Int: Entry] = [:]
    }

    private let state = Mutex(State())

    /// Runs a load that ``cancel(where:)`` reaches.
    ///
    /// - Parameter work: receives the number of the load and its cancellation.
    /// - Throws: the error of the work; ``NetworkError/cancelled`` as soon as the load or the task is cancelled, even if the work does
    ///   not end.
    func run<Value: Sendable>(
        _ urls: Set<String>, _ work: @escaping @Sendable (_ id: Int, LoadCancellation) async throws -> Value
    ) async throws -> Value {
        let load = OngoingLoad<Value>()
        let id = state.withLock { state in
            state.lastID += 1
            state.entries[state.lastID] = Entry(urls: urls) { load.cancel() }
            return state.lastID
        }
        // The entry is destroyed outside the lock.
        defer { _ = state.withLock { $0.entries.removeValue(forKey: id) } }
        return try await load.value { try await work(id, load.cancellation) }
    }

    /// Notes another URL of a load.
    func add(_ url: String, to id: Int) { state.withLock { _ = $0.entries[id]?.urls.insert(url) } }

    /// Cancels the loads whose URLs are picked.
    func cancel(where picks: (Set<String>) -> Bool) {
        let loads = state.withLock { state in state.entries.sorted { $0.key < $1.key }.map(\.value) }
        for load in loads where picks(load.urls) { load.cancel() }
    }
}

/// The cancellation of a load, which its work asks before each step: it takes effect at once, and needs no thread.
private final class LoadCancellation: Sendable {
    private struct State {
        var isCancelled = false
        var receive: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Checks that the load is not cancelled.
    ///
    /// - Throws: ``NetworkError/cancelled`` if it is.
    func check() throws { if state.withLock({ $0.isCancelled }) { throw NetworkError.cancelled } }

    /// Sets what the cancellation calls, and calls it at once if that has come before.
    func observe(_ receive: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.receive = receive
            return state.isCancelled
        }
        if isCancelled { receive() }
    }

    func cancel() {
        let receive = state.withLock { state in
            state.isCancelled = true
            return state.receive
        }
        receive?()
    }
}

/// The result of one load, or its cancellation, whichever comes first.
private final class OngoingLoad<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value, any Error>?
        var work: Task<Void, Never>?
        var isCancelled = false
    }

    let cancellation = LoadCancellation()
    private let state = Mutex(State())

    func value(of work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if !state.isCancelled { state.continuation = continuation }
                    return state.isCancelled
                }
                if isCancelled { return continuation.resume(throwing: NetworkError.cancelled) }
                let task = Task {
                    do {
                        finish(.success(try await work()))
                    } catch {
                        finish(.failure(error is CancellationError ? NetworkError.cancelled : error))
                    }
                }
                let isLate = state.withLock { state in
                    state.work = task
                    return state.isCancelled
                }
                if isLate { CallbackThreads.shared.execute { task.cancel() } }
            }
        } onCancel: {
            cancel()
        }
    }

    func cancel() {
        let (continuation, work) = state.withLock { state in
            state.isCancelled = true
            return (state.continuation.take(), state.work)
        }
        continuation?.resume(throwing: NetworkError.cancelled)
        cancellation.cancel()
        // This only informs a modifier or a strategy, whose cancellation handlers run within the call.
        if let work { CallbackThreads.shared.execute { work.cancel() } }
    }

    private func finish(_ result: Result<Value, any Error>) {
        state.withLock { $0.continuation.take() }?.resume(with: result)
    }
}
