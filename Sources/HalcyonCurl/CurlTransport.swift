import CCurl
import Foundation
import HalcyonNetworking
import Synchronization

/// A transport on libcurl. All transfers run on one thread of its own.
///
/// ```swift
/// let transport = CurlTransport()
/// let response = try await transport.response(to: TransportRequest(url))
/// print(response.head.status, response.body.count, response.metrics.total)
/// ```
///
/// Connections are kept and reused; over HTTP/2, transfers share one. A transfer is queued while as many run as are allowed. The
/// highest priority starts first, and among equals the first that was started. Transfers of the priorities `.low` and `.veryLow`, as
/// prefetches are, leave one place of each limit free. A load that a user waits for starts at once beside them: see
/// `TransferQueueTests.visibleLoadStartsBesidePrefetches()`. They are not suspended: further such loads wait for a place. Memory is
/// bounded by the running transfers and by what their receivers keep, whatever a server sends.
///
/// Bodies are decompressed as their `Content-Encoding` says, also those that were requested without compression. Wrongly uploaded files
/// may state a coding that libcurl does not know, such as `UTF-8` or `aws-chunked`. A GET of them is sent a second time without
/// compression, and the body is delivered as it comes, as browsers show it. See
/// `ContentCodingTests.unknownCodingOfPlainBodyIsIgnored()`.
///
/// When the transport is released, its transfers end with `NetworkError.transportClosed`. It has every `TransportCapability`.
///
/// A transfer that times out gives its place to the next at once. See `TransportTests.connectionIsReused()`,
/// `TransportTests.concurrentTransfersShareOneConnection()` and `HostileTests.timedOutTransferFreesItsConnection()`.
public final class CurlTransport: Transport {
    /// The limits of transfers and connections.
    public struct Configuration: Sendable {
        /// The number of running transfers over all hosts. Default: 64.
        public var maximumTransfers = 64
        /// The number of running transfers and connections per scheme, host and port. Default: 6.
        public var maximumConnectionsPerHost = 6
        /// The number of running transfers per host that responded over HTTP/2. Default: 32.
        public var maximumStreamsPerHost = 32
        /// The number of connections that are kept open for later transfers. Default: 32.
        public var keptConnections = 32
        /// The highest rate of all transfers together, in bytes per second. Default: 0, which is no limit.
        public var bytesPerSecond = 0
        /// The `User-Agent` of requests that have none. Default: `Halcyon`.
        public var userAgent = "Halcyon"

        /// Adds a handle to libcurl. Tests replace it to see a failure.
        var addHandle: @Sendable (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> CURLMcode = {
            curl_multi_add_handle($0, $1)
        }

        /// Creates the defaults.
        public init() {}
    }

    /// The transport of downloaders that are given no other.
    public static let shared = CurlTransport()

    private let inbox = CurlInbox()
    private let nextID = Atomic<UInt64>(0)

    /// Creates a transport with its thread.
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

/// The transfer as the caller of `start` sees it.
private struct CurlTransferHandle: Transfer {
    let id: UInt64
    let inbox: CurlInbox

    func cancel() { inbox.post(.cancel(id)) }
    func pause() { inbox.post(.pause(id, true)) }
    func resume() { inbox.post(.pause(id, false)) }
    func setPriority(_ priority: TransferPriority) { inbox.post(.priority(id, priority)) }
}

/// A request with its receiver, as the transport queues it.
struct TransferOrder: Sendable {
    let id: UInt64
    var request: TransportRequest
    let receiver: any TransferReceiver
    let posted = ContinuousClock.now
    /// When its first attempt began, if this is its second one: the server states a content coding that libcurl does not know. The body
    /// is then requested again without compression, and delivered as it comes.
    var beganUndecoded: ContinuousClock.Instant?

    /// The order with another priority.
    func with(_ priority: TransferPriority) -> TransferOrder {
        var order = self
        order.request.priority = priority
        return order
    }
}

/// A command to the thread of transfers.
enum CurlCommand: Sendable {
    case start(TransferOrder)
    case cancel(UInt64)
    case pause(UInt64, Bool)
    case priority(UInt64, TransferPriority)
}

/// The commands that the thread of transfers has not taken yet, in their order. Posting wakes the thread.
final class CurlInbox: Sendable {
    private struct State {
        var commands: [CurlCommand] = []
        var isClosed = false
        var waker: CurlWaker?
    }

    private let state = Mutex(State())

    /// Appends a command. Returns `false` if the inbox is closed.
    @discardableResult
    func post(_ command: CurlCommand) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.commands.append(command)
            // The first command has woken the thread.
            if state.commands.count == 1 { state.waker?.wake() }
            return true
        }
    }

    /// Removes and returns all commands. `isOpen` is false if none will follow.
    func take() -> (commands: [CurlCommand], isOpen: Bool) {
        state.withLock { state in
            defer { state.commands = [] }
            return (state.commands, !state.isClosed)
        }
    }

    /// Refuses further commands, and ends the thread.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.waker?.wake()
        }
    }

    /// Sets the waker of the thread; `nil` before its handle is released.
    func setWaker(_ waker: CurlWaker?) { state.withLock { $0.waker = waker } }
}

/// Wakes a thread that waits in `curl_multi_poll`.
///
/// Sendable without the compiler's proof. `curl_multi_wakeup` may be called with a multi handle from any thread, as its manual
/// says, and nothing else is done with the handle here. The inbox releases the waker under its lock before the handle is cleaned
/// up.
struct CurlWaker: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer

    init(_ multi: UnsafeMutableRawPointer) { self.multi = multi }

    /// Wakes the thread. The only failure is a full pipe, whose bytes wake the thread as well.
    func wake() { curl_multi_wakeup(multi) }
}
