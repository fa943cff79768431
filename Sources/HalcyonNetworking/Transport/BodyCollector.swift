import Foundation
import Synchronization

/// Keeps what arrives until all of it has.
final class BodyCollector: TransferReceiver {
    private struct State {
        var head: ResponseHead?
        var body = Data()
        var completion: (@Sendable (Result<TransportResponse, NetworkError>) -> Void)?
    }

    private let state = Mutex(State())
    private let start: (@Sendable (ResponseHead) -> Data)?
    private let onBytes: (@Sendable (ResponseHead, Int) -> Void)?

    /// - Parameters:
    ///   - start: gives what the body begins with before anything of it has arrived, as where a load is resumed.
    ///   - onBytes: is told how long the body is after each piece of it.
    init(
        startingWith start: (@Sendable (ResponseHead) -> Data)? = nil,
        onBytes: (@Sendable (ResponseHead, Int) -> Void)? = nil
    ) {
        self.start = start
        self.onBytes = onBytes
    }

    /// What has arrived so far.
    var arrived: (head: ResponseHead?, body: Data) { state.withLock { ($0.head, $0.body) } }

    /// Sets who is told of the end; to be called before the transfer starts.
    func whenFinished(_ completion: @escaping @Sendable (Result<TransportResponse, NetworkError>) -> Void) {
        state.withLock { $0.completion = completion }
    }

    func received(_ head: ResponseHead) {
        let first = start?(head) ?? Data()
        // What is announced is believed up to a megabyte; beyond, memory follows what arrives.
        let expected = Int(min(head.contentLength ?? 0, 1 << 20))
        state.withLock { state in
            state.head = head
            state.body = first
            state.body.reserveCapacity(first.count + expected)
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        let (head, count) = state.withLock { state in
            state.body.append(contentsOf: bytes)
            return (state.head, state.body.count)
        }
        if let onBytes, let head { onBytes(head, count) }
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
