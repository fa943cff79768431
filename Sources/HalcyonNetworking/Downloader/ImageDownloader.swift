import Foundation
import HalcyonSupport
import Synchronization

/// Loads from the network, each thing once however many want it.
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
/// its own processor, queue and priority, and is cancelled for itself; the transfer stops when the last one is, at once. A
/// failure reaches all and is not remembered. With a ``RetryStrategy`` a load joins anew after each failure.
///
/// Without `await` there is ``download(_:processor:options:completionHandler:)``.
public final class ImageDownloader: Sendable {
    /// What a downloader is made of.
    public struct Configuration: Sendable {
        /// What every request begins as, with the URL to load in it: limits, limits of time, header fields, TLS, proxy.
        public var request: @Sendable (URL) -> TransportRequest = { TransportRequest($0) }
        /// Decides where to go when sent elsewhere.
        public var redirectHandler: any ImageDownloadRedirectHandler = FollowingRedirectHandler()
        /// Knows names and passwords.
        public var authenticationResponder: any AuthenticationChallengeResponder = NoCredentials()
        /// Decides which answers are taken.
        public var responseCheck: any ImageDownloadResponseCheck = StatusCheck()
        /// The bytes of broken transfers that are kept in memory, to load only the rest next time; 0 keeps none.
        public var resumableBytes = 16 << 20
        /// Whether the network is to be spared now; asked before each load.
        public var isNetworkConstrained: @Sendable () -> Bool = { false }

        /// The defaults.
        public init() {}
    }

    /// What it is called.
    public let name: String
    package let configuration: Configuration
    package let clock: any CacheClock
    let loader: Loader
    let merger = DownloadMerger()

    /// A downloader.
    ///
    /// - Parameters:
    ///   - transport: takes the requests to the servers.
    ///   - clock: is what retries wait by, and freshness is counted from.
    public init(
        name: String, configuration: Configuration = Configuration(), transport: any Transport,
        clock: any CacheClock = SystemClock()
    ) {
        self.name = name
        self.configuration = configuration
        self.clock = clock
        loader = Loader(
            transport: transport, redirectHandler: configuration.redirectHandler,
            responder: configuration.authenticationResponder, check: configuration.responseCheck,
            partials: PartialBodies(limit: configuration.resumableBytes), clock: clock)
    }

    /// Loads, and turns what came into a value.
    ///
    /// - Throws: ``NetworkError``, or what the processor throws; ``NetworkError/cancelled`` if the task is cancelled.
    public func download<Value>(
        _ url: URL, processor: DownloadProcessor<Value>, options: DownloadOptions = DownloadOptions()
    ) async throws -> DownloadResult<Value> {
        guard options.joinsAtOnce else {
            return try await download(request(for: url, options), processor, options, nil)
        }
        return try await join(url, processor, options).answer().value()
    }

    /// Loads the bytes.
    ///
    /// - Throws: as ``download(_:processor:options:)``.
    public func download(_ url: URL, options: DownloadOptions = DownloadOptions()) async throws -> DownloadResult<Data>
    {
        guard options.joinsAtOnce else { return try await download(request(for: url, options), .data, options, nil) }
        return try await join(url, .data, options).answer().value()
    }

    /// Ends every load with ``NetworkError/cancelled``.
    public func cancelAll() { merger.cancelAll { _ in true } }

    /// Ends every load of a URL with ``NetworkError/cancelled``.
    public func cancel(url: URL) {
        let text = MergeKey(TransportRequest(url)).url
        merger.cancelAll { $0.url == text }
    }

    /// How many transfers there are: loading, or with something that processes what was loaded.
    public var transferCount: Int { merger.transferCount }

    /// How many loads wait for them.
    public var waiterCount: Int { merger.waiterCount }

    /// How many bytes of broken transfers are kept in memory.
    public var resumableBytes: Int { loader.partials.bytes }

    // MARK: - One load

    /// The request for a URL as this network allows it.
    package func request(for url: URL, _ options: DownloadOptions) throws -> TransportRequest {
        guard configuration.isNetworkConstrained() else { return configuration.request(url) }
        if let lowDataURL = options.lowDataURL { return configuration.request(lowDataURL) }
        guard options.allowsConstrainedNetwork else { throw NetworkError.constrainedNetwork }
        return configuration.request(url)
    }

    /// Joins the transfer of a URL. What it joins with is gone when this returns: whoever waits then takes little memory for that.
    private func join<Value>(
        _ url: URL, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions
    ) throws -> LoadWaiter<MergeKey, LoadedBody> {
        merger.join(try request(for: url, options), options.priority, processor, options, nil, by: loader)
    }

    /// Modifies the request, loads, and tries again where that is wanted.
    package func download<Value>(
        _ request: TransportRequest, _ processor: DownloadProcessor<Value>, _ options: DownloadOptions,
        _ task: DownloadTask?
    ) async throws -> DownloadResult<Value> {
        if options.joinsAtOnce {
            return try await merger.join(request, options.priority, processor, options, task, by: loader).answer()
                .value()
        }
        var request = request
        request.priority = options.priority
        if let modifier = options.requestModifier {
            guard let modified = await modifier.modified(for: request) else { throw NetworkError.emptyRequest }
            request = modified
        }
        do {
            return try await Attempts(strategy: options.retryStrategy, clock: clock).of(request.url.absoluteString) {
                try await merger.join(request, request.priority, processor, options, task, by: loader).answer().value()
            } isFailure: {
                // That nothing has changed is an answer, and what a processor throws is no fault of the network.
                if case .notModified? = $0 as? NetworkError { false } else { $0 is NetworkError }
            }
        } catch is CancellationError {
            throw NetworkError.cancelled
        }
    }
}

extension DownloadOptions {
    /// Whether nothing has to be waited for before a load joins its transfer, nor after a failure.
    var joinsAtOnce: Bool { requestModifier == nil && retryStrategy == nil }
}

extension Duration {
    /// Whole microseconds, at most those of a century.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(max(seconds, 0), 3_155_760_000) * 1_000_000 + max(attoseconds, 0) / 1_000_000_000_000
    }
}

/// What a server says of something that was loaded before.
public enum Revalidation<Value: Sendable>: Sendable {
    /// It has not changed: what is there may be used as this says.
    case notModified(Freshness)
    /// It has changed, to this.
    case modified(DownloadResult<Value>)
}

extension ImageDownloader {
    /// Asks whether something has changed, and loads it if it has.
    ///
    /// - Parameter freshness: what was known of it. Without validators it is loaded anew.
    /// - Throws: as ``download(_:processor:options:)``.
    public func revalidate<Value>(
        _ url: URL, _ freshness: Freshness, processor: DownloadProcessor<Value>,
        options: DownloadOptions = DownloadOptions()
    ) async throws -> Revalidation<Value> {
        var request = try request(for: url, options)
        freshness.validators.apply(to: &request)
        let requested = clock.now / 1_000_000
        do {
            return .modified(try await download(request, processor, options, nil))
        } catch NetworkError.notModified(let head) {
            return .notModified(freshness.refreshed(by: head, requested: requested, received: clock.now / 1_000_000))
        }
    }
}
