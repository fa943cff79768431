import Foundation
import HalcyonNetworking
import HalcyonSupport
import Synchronization

/// A transport on Foundation's `URLSession`: the default one on Apple's platforms (type-checked, never run there).
///
/// ```swift
/// let transport = URLSessionTransport()
/// let response = try await transport.response(to: TransportRequest(url))
/// print(response.head.status, response.body.count)
/// ```
///
/// It keeps no cookies, no credentials and no cache, and follows no redirects: those are the downloader's. A transfer is queued
/// while as many run as are allowed. The highest priority starts first, and among equals the first that was started. Transfers of the
/// priorities `.low` and `.veryLow` leave one place of each limit free, as those of `CurlTransport` do. The limits of idle and whole
/// time and of the body's bytes are its own.
///
/// It lacks some capabilities: see ``capabilities``. The memory for header lines is not limited. On Linux, Foundation itself uses
/// libcurl, connects to proxies of the environment, and adds the field `Accept-Language`. It also reads as fast as the server
/// sends, on one queue for all sessions of the process. A fast server can therefore delay the other transfers, and send more
/// than the limit before its transfer ends: on Linux, load from servers that are not trusted by `CurlTransport`.
///
/// When the transport is released, its transfers end with `NetworkError.transportClosed`.
public final class URLSessionTransport: Transport {
    /// The limits of transfers and connections.
    public struct Configuration: Sendable {
        /// The number of running transfers over all hosts. Default: 64.
        public var maximumTransfers = 64
        /// The number of running transfers and connections per scheme, host and port. Default: 6.
        public var maximumConnectionsPerHost = 6
        /// The `User-Agent` of requests that have none. Default: `Halcyon`.
        public var userAgent = "Halcyon"

        /// Creates the defaults.
        public init() {}
    }

    /// The transport of downloaders that are given no other, where this is the default one.
    public static let shared = URLSessionTransport()

    private let transfers: SessionTransfers
    private let nextID = Atomic<UInt64>(0)

    /// Creates a transport with its session.
    public init(_ configuration: Configuration = Configuration()) { transfers = SessionTransfers(configuration) }

    deinit { transfers.close() }

    /// What `URLSession` can do on this platform. On Linux it measures nothing, cannot pause a transfer, and reports most failures
    /// by one number.
    public var capabilities: Set<TransportCapability> { Self.capabilities }

    #if canImport(FoundationNetworking)
        static let capabilities: Set<TransportCapability> = []
    #else
        static let capabilities: Set<TransportCapability> = [
            .pausing, .preciseErrors, .phaseTimings, .peerAddress, .wireByteCounts, .connectionReuse,
            .httpVersionReport,
        ]
    #endif

    public func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
        let id = nextID.wrappingAdd(1, ordering: .relaxed).newValue
        transfers.start(SessionOrder(id: id, request: request, receiver: receiver))
        return SessionTransferHandle(id: id, transfers: transfers)
    }
}

// The platforms whose default transport this is: see Package.swift.
#if !HALCYON_CURL
    extension ImageDownloader {
        /// The default downloader. By default one whose transport is ``URLSessionTransport/shared``, created when this is first read.
        ///
        /// Set it when the app starts, to configure it; those who have read it before keep the downloader that they have.
        public static var `default`: ImageDownloader {
            get { defaultDownloader.value { ImageDownloader(name: "default") } }
            set { defaultDownloader.set(newValue) }
        }

        /// Creates a downloader whose transport is ``URLSessionTransport/shared``.
        ///
        /// - Parameters:
        ///   - name: the name of the downloader.
        ///   - clock: the clock for retries and freshness.
        public convenience init(
            name: String, configuration: Configuration = Configuration(), clock: any CacheClock = SystemClock()
        ) {
            self.init(name: name, configuration: configuration, transport: URLSessionTransport.shared, clock: clock)
        }
    }

    private let defaultDownloader = SettableDefault<ImageDownloader>()
#endif

/// The transfer as the caller of `start` sees it.
private struct SessionTransferHandle: Transfer {
    let id: UInt64
    let transfers: SessionTransfers

    func cancel() { transfers.cancel(id) }
    func pause() { transfers.setPaused(id, true) }
    func resume() { transfers.setPaused(id, false) }
    func setPriority(_ priority: TransferPriority) { transfers.setPriority(id, priority) }
}
