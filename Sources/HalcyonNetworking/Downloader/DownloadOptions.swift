import Foundation
import HalcyonSupport

/// What can be said about one load by an ``ImageDownloader``.
public struct DownloadOptions: Sendable {
    /// How urgent it is. A load that joins a transfer raises it.
    public var priority = TransferPriority.normal
    /// Changes the request before it is sent.
    public var requestModifier: (any AsyncImageDownloadRequestModifier)?
    /// Decides whether it is tried again after a failure; `nil` does not.
    public var retryStrategy: (any RetryStrategy)?
    /// Where the processor works. Of loads that share a processor, the first one's counts.
    public var processingQueue = Self.processing
    /// Where progress is told, and the completion of ``ImageDownloader/download(_:processor:options:completionHandler:)``
    /// is called.
    public var callbackQueue = CallbackQueue.mainCurrentOrAsync
    /// Is told how much has arrived, after each piece.
    public var onProgress: (@Sendable (DownloadProgress) -> Void)?
    /// What is loaded in place of the URL where the network is to be spared.
    public var lowDataURL: URL?
    /// Whether it may be loaded where the network is to be spared; a ``lowDataURL`` may in any case.
    public var allowsConstrainedNetwork = true

    private static let processing = CallbackQueue.dispatch(DispatchQueue.global(qos: .userInitiated))

    /// The defaults.
    public init() {}
}

/// How much of a body has arrived.
public struct DownloadProgress: Sendable, Hashable {
    /// The bytes so far, decompressed.
    public var received: Int
    /// The bytes of the whole; `nil` if the server did not say, or compresses.
    public var expected: Int?
}

/// What turns what was loaded into what was wanted. Loads that share a transfer and whose processors have the same identifier
/// and value share its work.
public struct DownloadProcessor<Value: Sendable>: Sendable {
    /// Tells it from others.
    public let identifier: String
    package let process: @Sendable (Data, ResponseHead) throws -> Value

    /// A processor.
    ///
    /// - Parameter process: makes the value; what it throws is why the load fails.
    public init(identifier: String, process: @escaping @Sendable (Data, ResponseHead) throws -> Value) {
        self.identifier = identifier
        self.process = process
    }
}

extension DownloadProcessor where Value == Data {
    /// Leaves what was loaded as it is.
    public static var data: Self { Self(identifier: "") { data, _ in data } }
}

/// What a load has brought.
public struct DownloadResult<Value: Sendable>: Sendable {
    /// What the processor made.
    public var value: Value
    /// What was loaded.
    public var originalData: Data
    /// The server's answer: its address after all redirects, status and header fields.
    public var response: ResponseHead
    /// What the last transfer took.
    public var metrics: TransferMetrics
    /// How often the load was sent elsewhere.
    public var redirects: Int
    /// Until when it may be used, as the server said.
    public var freshness: Freshness
}

/// Changes requests before they are sent, as to add a header. What comes out decides what is merged with what.
public protocol AsyncImageDownloadRequestModifier: Sendable {
    /// The request to send; `nil` sends none, and the load fails with ``NetworkError/emptyRequest``.
    func modified(for request: TransportRequest) async -> TransportRequest?
}

/// A modifier that need not wait.
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

/// A modifier from a closure.
public struct AnyModifier: ImageDownloadRequestModifier {
    private let modify: @Sendable (TransportRequest) -> TransportRequest?

    /// A modifier that asks the closure.
    public init(modify: @escaping @Sendable (TransportRequest) -> TransportRequest?) { self.modify = modify }

    public func modified(for request: TransportRequest) -> TransportRequest? { modify(request) }
}
