import Foundation
import HalcyonSupport

/// The options of one load by an ``ImageDownloader``.
public struct DownloadOptions: Sendable {
    /// The priority. A load that joins a transfer raises that of the transfer.
    ///
    /// See `DownloaderTests.higherPriorityRaisesTransfer()`.
    public var priority = TransferPriority.normal
    /// Changes the request before it is sent.
    ///
    /// See `DownloaderOptionTests.requestModifierChangesOrRefusesRequest()`.
    public var requestModifier: (any AsyncImageDownloadRequestModifier)?
    /// Decides whether to retry after a failure; `nil`, the default, does not.
    ///
    /// A cancelled load is not retried. See `DownloaderOptionTests.retriesWaitAndStopAsStrategySays()` and
    /// `DownloaderOptionTests.cancelledLoadIsNotRetried()`.
    public var retryStrategy: (any RetryStrategy)?
    /// Decides which redirects are followed; `nil`, the default, leaves it to the downloader. Loads share a transfer if their handlers
    /// are the same object. A handler that is a value cannot be compared: its load shares no transfer.
    public var redirectHandler: (any ImageDownloadRedirectHandler)?
    /// Whether a redirect from https to http is followed; `nil`, the default, leaves it to the downloader.
    public var allowsInsecureRedirects: Bool?
    /// The queue of the processor. Of loads that share a processor, that of the load whose priority was
    /// the highest when it joined is used.
    public var processingQueue = Self.processing
    /// The queue of ``onProgress``, and of the completion of ``ImageDownloader/download(_:processor:options:completionHandler:)``.
    public var callbackQueue = CallbackQueue.mainCurrentOrAsync
    /// Called after each piece of the body with the number of bytes so far.
    public var onProgress: (@Sendable (DownloadProgress) -> Void)?
    /// The URL that is loaded instead in Low Data Mode (``ImageDownloader/Configuration/isNetworkConstrained``).
    ///
    /// See `DownloaderOptionTests.lowDataModeLoadsLowDataURL()`.
    public var lowDataURL: URL?
    /// Whether to load in Low Data Mode, if there is no ``lowDataURL``.
    public var allowsConstrainedNetwork = true

    /// What each request of the load keeps to, also after a redirect; `nil`, the default, leaves it to the request.
    package var restriction: RequestRestriction?
    /// Loads with different values share no transfer, though their requests are equal.
    package var mergePartition: String?
    /// Where the processor waits for a turn before its queue; `nil`, the default, if it needs none. As ``processingQueue``, it is that
    /// of the load whose priority was the highest when it joined.
    package var processingTurns: (any WorkTurns)?

    private static let processing = CallbackQueue.dispatch(DispatchQueue.global(qos: .userInitiated))

    /// Creates the default options.
    public init() {}
}

/// The number of bytes of a body that have arrived.
public struct DownloadProgress: Sendable, Hashable {
    /// The bytes so far, decompressed.
    public var received: Int
    /// The bytes of the whole; `nil` if the server does not state them, or compresses.
    public var expected: Int?
    /// The bytes themselves.
    package var arrived = ArrivedBytes()

    /// Creates a progress.
    public init(received: Int, expected: Int? = nil) {
        self.received = received
        self.expected = expected
    }
}

/// The bytes of a body so far. All are equal, so that a progress is compared by its numbers.
package struct ArrivedBytes: Sendable, Hashable {
    /// Returns them; `nil` where a load may not look at them.
    package var read: (@Sendable () -> Data)?

    package static func == (one: Self, other: Self) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

/// Makes a value of the data of a load. Loads that share a transfer and whose processors have the same identifier and type of value
/// share its work.
///
/// See `DownloaderTests.equalProcessorsRunOncePerTransfer()`.
public struct DownloadProcessor<Value: Sendable>: Sendable {
    /// The identifier, which distinguishes it from others.
    public let identifier: String
    package let process: @Sendable (Data, ResponseHead) throws -> Value

    /// Creates a processor.
    ///
    /// - Parameter process: makes the value. If it throws, the load fails with its error.
    public init(identifier: String, process: @escaping @Sendable (Data, ResponseHead) throws -> Value) {
        self.identifier = identifier
        self.process = process
    }
}

extension DownloadProcessor where Value == Data {
    /// A processor that returns the data unchanged.
    public static var data: Self { Self(identifier: "") { data, _ in data } }
}

/// The result of a load.
public struct DownloadResult<Value: Sendable>: Sendable {
    /// The value that the processor made.
    public var value: Value
    /// The data that was loaded.
    public var originalData: Data
    /// The head of the answer: its URL after all redirects, its status and its header fields.
    public var response: ResponseHead
    /// The metrics of the last transfer.
    ///
    /// See `TransportTests.metricsReportPhasesAndBytes()`.
    public var metrics: TransferMetrics
    /// The number of redirects.
    public var redirects: Int
    /// The freshness of the data, as the server stated it.
    ///
    /// See `RevalidationTests.freshnessFollowsServersCacheControl()`.
    public var freshness: Freshness
    /// What all loads that share the transfer have in common.
    package var shared = SharedResponse()
}

/// Changes requests before they are sent, as to add a header field. Loads share a transfer if the changed requests are the same.
public protocol AsyncImageDownloadRequestModifier: Sendable {
    /// The request to send; `nil` sends none, and the load fails with ``NetworkError/emptyRequest``.
    func modified(for request: TransportRequest) async -> TransportRequest?
}

/// A modifier that does not wait.
public protocol ImageDownloadRequestModifier: AsyncImageDownloadRequestModifier {
    /// The request to send; `nil` sends none, and the load fails with ``NetworkError/emptyRequest``.
    func modified(for request: TransportRequest) -> TransportRequest?
}

extension ImageDownloadRequestModifier {
    public func modified(for request: TransportRequest) async -> TransportRequest? {
        let modify: (TransportRequest) -> TransportRequest? = modified(for:)
        return modify(request)
    }
}

/// A modifier that calls a closure.
public struct AnyModifier: ImageDownloadRequestModifier {
    private let modify: @Sendable (TransportRequest) -> TransportRequest?

    /// Creates a modifier of the closure.
    public init(modify: @escaping @Sendable (TransportRequest) -> TransportRequest?) { self.modify = modify }

    public func modified(for request: TransportRequest) -> TransportRequest? { modify(request) }
}
