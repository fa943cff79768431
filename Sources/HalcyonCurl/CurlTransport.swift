import Foundation
import HalcyonNetworking
import Synchronization

/// Transfers by libcurl, all on one thread of their own.
///
/// ```swift
/// let transport = CurlTransport()
/// let response = try await transport.response(to: TransportRequest(url))
/// print(response.head.status, response.body.count, response.metrics.total)
/// ```
///
/// Connections are kept and used again; over HTTP/2 transfers share one. A transfer waits for its turn where as many as are
/// allowed are under way; the most urgent goes first, and among equals the one that came first. Memory is bounded by the
/// transfers under way and what their receivers keep, whatever a server sends.
///
/// When the transport goes, what is under way ends with `NetworkError.transportClosed`.
public final class CurlTransport: Transport {
    /// How many transfers and connections there are at once.
    public struct Configuration: Sendable {
        /// Transfers under way, over all hosts.
        public var maximumTransfers = 64
        /// Transfers, and connections, to one scheme, host and port.
        public var maximumConnectionsPerHost = 6
        /// Transfers under way to one that answered over HTTP/2, where they share a connection.
        public var maximumStreamsPerHost = 32
        /// Connections that are kept open for later transfers.
        public var keptConnections = 32
        /// Bytes a second over all transfers, shared evenly; 0 is no limit.
        public var bytesPerSecond = 0
        /// What is sent as `User-Agent`, unless a request says otherwise.
        public var userAgent = "Halcyon"

        /// The defaults.
        public init() {}
    }

    /// The transport that downloaders share unless they are given another.
    public static let shared = CurlTransport()

    private let inbox = CurlInbox()
    private let nextID = Atomic<UInt64>(0)

    /// A transport with its thread.
    public init(_ configuration: Configuration = Configuration()) {
        let thread = Thread { [inbox] in CurlLoop.serve(inbox, configuration) }
        thread.name = "halcyon.network"
        thread.start()
    }

    deinit { inbox.close() }

    public func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
        let id = nextID.wrappingAdd(1, ordering: .relaxed).newValue
        let order = TransferOrder(id: id, request: request, receiver: receiver)
        if !inbox.post(.start(order)) { receiver.finished(.failure(.transportClosed)) }
        return CurlTransferHandle(id: id, inbox: inbox)
    }
}

/// A transfer as those who started it know it.
private struct CurlTransferHandle: Transfer {
    let id: UInt64
    let inbox: CurlInbox

    func cancel() { inbox.post(.cancel(id)) }
    func pause() { inbox.post(.pause(id, true)) }
    func resume() { inbox.post(.pause(id, false)) }
    func setPriority(_ priority: TransferPriority) { inbox.post(.priority(id, priority)) }
}
