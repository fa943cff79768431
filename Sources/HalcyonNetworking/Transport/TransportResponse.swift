import Foundation
import Synchronization

/// The status and the header fields of a response.
public struct ResponseHead: Sendable, Hashable {
    /// The URL of the request.
    public var url: URL
    /// The status code; 0 if the protocol has none.
    public var status: Int
    /// The header fields, in the order of their arrival.
    public var headers: HeaderFields
    /// Whether the response may be served to its user only, by its request, itself and the redirects before it
    /// (``Freshness/isPrivate``). Set for a `304 Not Modified`. Default: `false`.
    package var isPrivate = false

    /// Creates a head.
    public init(url: URL, status: Int, headers: HeaderFields = HeaderFields()) {
        self.url = url
        self.status = status
        self.headers = headers
    }

    /// The announced length of the body on the wire in bytes; `nil` if the server announced none, or no number.
    public var contentLength: Int64? {
        guard let text = headers["Content-Length"], let length = Int64(text), length >= 0 else { return nil }
        return length
    }

    /// The content codings of the body in lower case, in the order in which they were applied, without `identity` and `none`.
    package var contentCodings: [String] {
        headers.values("Content-Encoding").flatMap { $0.lowercased().split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !["", "identity", "none"].contains($0) }
    }

    /// Whether the body is compressed on the wire, so that its announced length is not that of the delivered body. With a coding that no
    /// transport knows it is not: such a body is delivered as it comes.
    package var isCompressed: Bool {
        let codings = contentCodings
        return !codings.isEmpty && Self.compressions.isSuperset(of: codings)
    }

    private static let compressions: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd"]
}

/// The durations and byte counts of a transfer. A phase that did not take place has the duration zero; so has one that the
/// transport does not measure (see ``TransportCapability``).
public struct TransferMetrics: Sendable, Hashable {
    /// The time in the queue of the transport.
    public var queued = Duration.zero
    /// The time of the name look-up.
    public var nameLookup = Duration.zero
    /// The time to connect.
    public var connect = Duration.zero
    /// The time of the TLS handshake.
    public var tls = Duration.zero
    /// The time from the first byte of the request to the first byte of the response.
    public var firstByte = Duration.zero
    /// The time from the first phase to the last byte, without ``queued``.
    public var total = Duration.zero
    /// The bytes received: the header lines, and the body as it was sent.
    public var bytesReceived: Int64 = 0
    /// The bytes of the request.
    public var bytesSent: Int64 = 0
    /// Whether an earlier transfer had used the connection.
    public var reusedConnection = false
    /// The HTTP version: `1.0`, `1.1`, `2`, `3`; empty if unknown.
    public var httpVersion = ""
    /// The server's IP address; empty if unknown.
    public var remoteAddress = ""

    /// Creates empty metrics.
    public init() {}
}

/// A whole response.
public struct TransportResponse: Sendable {
    /// The status and the header fields.
    public var head: ResponseHead
    /// The body, decompressed.
    public var body: Data
    /// The durations and byte counts.
    public var metrics: TransferMetrics
}

extension Transport {
    /// Returns the whole response to a request, in memory. No status is an error here.
    ///
    /// - Throws: ``NetworkError``; ``NetworkError/cancelled`` if the task is cancelled.
    public func response(to request: TransportRequest) async throws -> TransportResponse {
        try await response(
            to: request, collector: BodyCollector(), control: TransferControl(priority: request.priority))
    }

    /// Returns the whole response, with a collector and a control that the caller can use meanwhile.
    func response(
        to request: TransportRequest, collector: BodyCollector, control: TransferControl
    ) async throws -> TransportResponse {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                collector.whenFinished { continuation.resume(with: $0) }
                control.attach(start(request, receiver: collector), startedAt: request.priority)
            }
        } onCancel: {
            control.cancel()
        }
    }
}

/// A receiver that keeps the whole response in memory.
final class BodyCollector: TransferReceiver {
    private struct State {
        var head: ResponseHead?
        var body = Data()
        var completion: (@Sendable (Result<TransportResponse, NetworkError>) -> Void)?
    }

    private let state = Mutex(State())
    /// Sets the completion. To be called before the transfer starts.
    func whenFinished(_ completion: @escaping @Sendable (Result<TransportResponse, NetworkError>) -> Void) {
        state.withLock { $0.completion = completion }
    }

    func received(_ head: ResponseHead) {
        // Up to 1 MB is reserved for an announced length; beyond, memory follows what arrives.
        let expected = Int(min(head.contentLength ?? 0, 1 << 20))
        state.withLock { state in
            state.head = head
            state.body.reserveCapacity(expected)
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { $0.body.append(contentsOf: bytes) }
    }

    func finished(_ result: Result<TransferMetrics, NetworkError>) {
        let (head, body, completion) = state.withLock { state in
            defer { state.completion = nil }
            return (state.head, state.body, state.completion)
        }
        completion?(
            result.flatMap { metrics in
                guard let head else { return .failure(.invalidResponse("it has no head")) }
                return .success(TransportResponse(head: head, body: body, metrics: metrics))
            })
    }
}

/// Controls the current transfer of a load, which may need several.
package final class TransferControl: Sendable {
    private struct State {
        var transfer: (any Transfer)?
        var priority: TransferPriority
        var isCancelled = false
    }

    private let state: Mutex<State>

    init(priority: TransferPriority) { state = Mutex(State(priority: priority)) }

    /// The current priority of the load.
    var priority: TransferPriority { state.withLock { $0.priority } }

    /// Whether the load is cancelled.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Checks that the load is not cancelled, before its next step.
    ///
    /// - Throws: ``NetworkError/cancelled`` if it is.
    func check() throws { if isCancelled { throw NetworkError.cancelled } }

    /// Sets the current transfer, and applies an earlier cancellation or change of priority to it.
    func attach(_ transfer: any Transfer, startedAt priority: TransferPriority) {
        let state = state.withLock { state in
            state.transfer = transfer
            return state
        }
        if state.isCancelled { transfer.cancel() }
        if state.priority != priority { transfer.setPriority(state.priority) }
    }

    /// Cancels the current transfer, and those that follow.
    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        transfer?.cancel()
    }

    /// Changes the priority of the current transfer, and of those that follow.
    func setPriority(_ priority: TransferPriority) {
        let transfer = state.withLock { state in
            state.priority = priority
            return state.transfer
        }
        transfer?.setPriority(priority)
    }
}
