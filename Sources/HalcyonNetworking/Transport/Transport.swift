/// Sends requests to servers and delivers their responses.
///
/// Halcyon has two: `CurlTransport` (module `HalcyonCurl`) and `URLSessionTransport` (module `HalcyonURLSession`). A test, or an
/// app with its own network layer, implements another.
public protocol Transport: Sendable {
    /// What this transport can do; every ``TransportCapability`` unless it states fewer.
    ///
    /// A request whose ``TransportRequest/neededCapabilities`` are not all here ends with ``NetworkError/unsupported(_:)`` before
    /// anything is sent.
    var capabilities: Set<TransportCapability> { get }

    /// Starts an exchange and returns at once.
    ///
    /// - Parameter receiver: receives the head once, then the body in pieces, then the end, exactly once. A transfer that fails
    ///   may end without a head.
    func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer
}

extension Transport {
    public var capabilities: Set<TransportCapability> { Set(TransportCapability.allCases) }
}

/// A started transfer. Its methods do nothing once the transfer has ended.
public protocol Transfer: Sendable {
    /// Ends the transfer with ``NetworkError/cancelled``. Its connection is closed at once if no other transfer uses it.
    func cancel()
    /// Delivers nothing more until ``resume()``; a piece that is being delivered may still arrive.
    ///
    /// A transport with ``TransportCapability/pausing`` also stops reading from the server.
    ///
    /// It may be called before there is a connection. See `HostileTests.pausedTransferStopsAndResumes()` and
    /// `HostileTests.pausingBeforeConnectionIsNoFailure()`.
    func pause()
    /// Continues after ``pause()``.
    func resume()
    /// Changes the priority.
    func setPriority(_ priority: TransferPriority)
}

/// The destination of a transfer. Its methods are called on the transport's thread, which serves every transfer: each call must
/// be short.
public protocol TransferReceiver: Sendable {
    /// Receives the head.
    func received(_ head: ResponseHead)
    /// Receives a piece of the body. The bytes are valid during the call only.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// Receives the end.
    func finished(_ result: Result<TransferMetrics, NetworkError>)
}

/// The priority of a transfer. A queued transfer starts before all queued transfers of lower priority. An HTTP/2 server
/// receives the priority as the weight of the stream (``TransportCapability/streamWeights``).
public enum TransferPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// No load waits for the result, as for that of a predicted prefetch. It leaves a place to others as ``low`` does.
    case veryLow
    /// The result may be needed soon, as that of a prefetch. Such transfers leave one connection of each host to higher priorities.
    ///
    /// See `TransferQueueTests.prefetchesLeaveOnePlaceFree()`.
    case low
    /// A user waits for the result.
    case normal
    /// A user is looking at the place of the image.
    case high
    /// Before everything else.
    case veryHigh

    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// The weight among the streams of one HTTP/2 connection: 1 to 256.
    package var streamWeight: Int {
        switch self {
        case .veryLow: 1
        case .low: 8
        case .normal: 32
        case .high: 128
        case .veryHigh: 256
        }
    }
}
